"""The kinds of columns, one file each: the public facts of a column, and everything derived from them."""
