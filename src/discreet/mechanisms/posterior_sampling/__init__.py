"""Posterior sampling: OPS, in a ball too, and AdaOPS (wang2018, wang2017)."""
