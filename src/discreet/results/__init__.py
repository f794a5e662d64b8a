"""Fitted models as people read them; nothing here can reach private data."""
