"""Maintenance of the repository: tests with old and new versions of dependencies, and the soak test."""
