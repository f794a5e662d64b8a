"""Whether the default becomes least squares, and what its intervals are worth."""
