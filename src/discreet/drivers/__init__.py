"""Drivers of recipes: `run` reads rows and draws noise, `replay` reads a file, `simulate` makes people up."""
