"""Y. Li and F. Liu, 2021: the figures of NAPP-ERM, and NAPP-ERM beside other methods."""
