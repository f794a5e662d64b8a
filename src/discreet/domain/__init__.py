"""Public facts: what each column may hold, and how rows become bounded vectors."""

from discreet.domain.columns import Categorical, Numeric
from discreet.domain.domain import CONSTANT, LATTICE_BITS, Domain
from discreet.domain.file_format import FileFormat

__all__ = ["CONSTANT", "LATTICE_BITS", "Categorical", "Domain", "FileFormat", "Numeric"]
