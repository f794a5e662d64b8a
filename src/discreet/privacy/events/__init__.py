"""What was released: frozen facts, apart from what they cost.

An event is a frozen dataclass with ``to_dict`` and ``from_dict``, a Gaussian cost ``mu`` (0 where there is none), a
``law`` of the rest of its privacy loss (None for Gaussian noise, see `privacy.laws`) and, by its place in
`kinds`, a name for its mechanism. `privacy.accounting` does the rest.
"""
