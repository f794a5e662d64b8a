"""Whether intervals and tests keep their levels."""
