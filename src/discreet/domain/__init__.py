"""Public facts about a table: bounds and levels of its columns, and the encoding of rows as bounded vectors."""

from discreet.domain.domain import CONSTANT, LATTICE_BITS, Domain
from discreet.domain.file_format import FileFormat
from discreet.domain.kinds.categorical import Categorical
from discreet.domain.kinds.numeric import Numeric

__all__ = ["CONSTANT", "LATTICE_BITS", "Categorical", "Domain", "FileFormat", "Numeric"]
