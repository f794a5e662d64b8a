"""The papers' methods, one a file."""
