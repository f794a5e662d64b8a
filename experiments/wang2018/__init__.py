"""Y.-X. Wang, 2018: tables and figures of "Revisiting differentially private linear regression"."""
