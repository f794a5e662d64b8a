"""Reading of private tables, and exact sums over their rows."""
