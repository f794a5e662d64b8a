"""S. Neel, 2023: figure and claims of "Private regression in multiple outcomes"."""
