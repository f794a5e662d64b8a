"""What keeps the repository in order: tests with old and new versions, and the soak."""
