"""Series and frames of numbers by name; pandas is imported here only, when it is needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import printable

if TYPE_CHECKING:
    from pandas import DataFrame as DataFrame
    from pandas import Series as Series


def labels(names: Iterable[str]) -> list[str]:
    """Return names as labels, with invisible characters escaped, for pandas prints labels as they are."""
    return [printable(name) for name in names]


def series(name: str, index: Iterable[str], values: Iterable[float]) -> Series:
    """Numbers by name."""
    import pandas as pd

    return pd.Series(list(values), index=labels(index), name=name, dtype=float)


def ends(index: Iterable[str], pairs: Sequence[tuple[float, float]]) -> DataFrame:
    """Ends of intervals by name, in columns 0 and 1."""
    import pandas as pd

    return pd.DataFrame(list(pairs), index=labels(index), columns=[0, 1], dtype=float)


def square(index: Iterable[str], values: Any) -> DataFrame:
    """A matrix whose rows and columns have the same names."""
    import pandas as pd

    names = labels(index)
    return pd.DataFrame(values, index=names, columns=names)


def like(X: Any, values: Any, name: str) -> Any:
    """Values, a row of X each: a Series with the index of X where X is a frame of pandas, else as they are."""
    if not (type(X).__module__.partition(".")[0] == "pandas" and hasattr(X, "index")):
        return values
    import pandas as pd

    return pd.Series(values, index=X.index, name=printable(name))
