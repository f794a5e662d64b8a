"""Pure functions on released moments: nothing here can reach private data."""
