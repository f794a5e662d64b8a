"""Output perturbation: ridge coefficients with Gaussian noise of a public shape (wang2017)."""
