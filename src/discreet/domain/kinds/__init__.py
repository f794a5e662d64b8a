"""The kinds of columns, one file each: what is publicly known of a column, and all that follows from it."""
