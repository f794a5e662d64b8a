"""The refusal of columns without bounds, where these are not searched for."""

from __future__ import annotations

from discreet.domain.domain import Domain
from discreet.errors import ParameterError


def require_bounds(domain: Domain, what: str = "This way to release") -> None:
    """Refuse columns without declared bounds.

    Examples
    --------
    >>> require_bounds(Domain({"age": (18, 90)}))
    """
    if names := domain.searched:
        shown = f"{', '.join(map(repr, names[:8]))}{', ...' * (len(names) > 8)}"
        raise ParameterError(
            f"{what} needs bounds of all columns, and {shown} {'have' if len(names) > 1 else 'has'} none. Nothing was "
            "spent. Remedy: declare them, search for them first (discreet.bounds), or let DPLinearRegression do so, in "
            "stages and in a table that can be read again."
        )
