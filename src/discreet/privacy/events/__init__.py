"""Events: immutable records of what was released and what it cost.

An event is a frozen dataclass that derives from `base.Event`, with ``to_dict`` and ``from_dict``, a Gaussian cost
``mu`` (0 where there is none), a ``law`` of the rest of its privacy loss (None for Gaussian noise, see `privacy.laws`)
and a name for its mechanism. `kinds` lists all of them. Gaussian noise on sums is here; the events of the papers'
mechanisms are in the folders below `discreet.mechanisms`.
"""
