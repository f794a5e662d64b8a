"""Studies: the papers' tables and figures, and our own comparisons."""
