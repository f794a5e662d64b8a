"""From released tables of products to the noisy normal equations of one outcome.

Where a release holds every level of a category, it holds some sums twice: with the constant, and as the total over the
levels. All of them are used: the released coordinates are z = L x, x the regressors, so X'X and X'y are fitted to Z'Z
and Z'y by least squares, after products of different levels of one category, which are 0, were set to 0. See
``docs/mathematics.md``, 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.domain import contrasts, derived
from discreet.errors import NotReleasedError, ParameterError
from discreet.released.grid import Table
from discreet.released.solve.equations import NormalEquations, fitted

if TYPE_CHECKING:
    from discreet.released.moments import ReleasedMoments

Floats = NDArray[np.float64]


def normal_equations(released: ReleasedMoments, target: str, features: Sequence[str] | None = None) -> NormalEquations:
    """The noisy normal equations of one outcome on some features."""
    if isinstance(features, str):
        raise ParameterError(f"features must be a list of column names, for example [{features!r}].")
    domain = released.domain
    y = domain.entries[domain.target(target)]
    names = released.features(y.column) if features is None else list(features)
    derived.refuse_outcome(domain, y.column, names, NotReleasedError)
    places = domain.design(names)
    if not places:
        raise ParameterError("A model needs at least one feature, or an intercept.")
    design = [domain.entries[i].name for i in places]
    gram, cross = released.find("gram", design), released.find("cross", design, [y.name])
    z, L = coordinates(released, names, design, [gram, cross])
    yy, known = released.find_square(y.name), domain.exclusive(domain.indices(z))
    diagonal, upper = gram.sds
    S = fitted(L, fitted(L, np.where(known, 0.0, gram.pick(z, z))).T)
    return NormalEquations(
        names=tuple(design),
        target=y.name,
        S=(S + S.T) / 2,
        v=fitted(L, cross.pick(z, [y.name]))[:, 0],
        yy=None if yy is None else float(yy.pick([y.name], [y.name])[0, 0]),
        s_xx=diagonal,
        s_xy=cross.sds[-1],
        s_yy=None if yy is None else yy.sds[0],
        n=released.rows(),
        variances=np.where(known, 0.0, np.where(np.eye(len(z)), diagonal**2, upper**2)),
        L=L,
    )


def coordinates(
    released: ReleasedMoments, features: Sequence[str], design: Sequence[str], tables: Sequence[Table]
) -> tuple[list[str], Floats | None]:
    """The coordinates z that tell of the regressors x and that all tables hold, and L with z = L x; None if z is x."""
    full = contrasts.every_level(released.domain, features, design)
    more = [name for name in full if name not in set(design) and all(table.holds([name]) for table in tables)]
    z = [*design, *more]
    return z, contrasts.lift(released.domain, z, design) if more else None
