"""Public facts: what each column may hold, and how rows become bounded vectors."""

from discreet.domain.domain import CONSTANT, LATTICE_BITS, Categorical, Domain, Numeric

__all__ = ["CONSTANT", "LATTICE_BITS", "Categorical", "Domain", "Numeric"]
