"""ReuseCov: one X'X for many outcomes, of a sample of the rows, or for public outcomes (neel2023)."""
