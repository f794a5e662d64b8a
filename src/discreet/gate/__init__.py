"""The gate: the only place that sees exact statistics and noise together."""
