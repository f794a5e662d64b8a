"""All methods and their peers at equal privacy."""
