"""NAPP-ERM, the method of li2021: as published, and the parts of it that are sound."""
