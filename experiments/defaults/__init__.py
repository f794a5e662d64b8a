"""What parts of our own methods are worth, and how defaults were chosen."""
