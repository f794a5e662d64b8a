"""Recipes: the algorithms of releases as pure generators of public facts, run, replayed and simulated by `drivers`."""
