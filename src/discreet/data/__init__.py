"""The private side: a table becomes exact sums."""
