"""Packaging: the wheel, the source archive, the bill of materials, and the manual page."""
