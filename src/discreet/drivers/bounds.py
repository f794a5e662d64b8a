"""The bounds of columns that nobody knows, found privately and released alone: for a schema to keep."""

from __future__ import annotations

from typing import Any

from discreet.core.checks import Neighbors
from discreet.data.reading import Progress, Table
from discreet.data.stages import Readings
from discreet.domain import Domain
from discreet.drivers.run import release_moments
from discreet.drivers.sources import StagedSource
from discreet.errors import ParameterError
from discreet.gate.session import Session, promised
from discreet.recipes.search import BoundsAlone
from discreet.results.private_moments import PrivateMoments


def bounds(
    table: Any,
    *,
    domain: Domain,
    epsilon: float | None = None,
    delta: float | None = None,
    rows: int | None = None,
    neighbors: Neighbors = "add-remove",
    n_jobs: int | None = None,
    progress: bool | Progress = False,
    random_state: Any = None,
) -> PrivateMoments:
    """Search for the bounds of columns that are declared without any, privately, and release nothing else.

    The ``domain`` of the release has them, and may be used for any number of releases to come. They are public, as
    what was declared is.

    Parameters
    ----------
    table : path, frame, array, pair (X, y), `Postgres` or another source of rows
        The private table, which can be read more than once.
    domain : Domain
        The columns; those declared as "number", as "date" or with one bound are searched.
    epsilon, delta : float
        The promise. `delta` is 1/rows^2 when it is None and `rows` is given.
    rows, neighbors, n_jobs, progress, random_state
        As for the estimators: the public number of rows, the relation, threads, a progress bar, random seeds.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"year": [1990.0, 1995.0, 2003.0, 2011.0] * 2000})
    >>> bounds(frame, domain=Domain({"year": "number"}), epsilon=1, delta=1e-6, random_state=0).domain
    Domain({'year': (1912, 2080)})
    """
    session = Session(promised(epsilon, delta, rows, neighbors), BoundsAlone.name, rows, random_state)
    if not isinstance(domain, Domain) or not domain.searched:
        raise ParameterError(
            "domain must be a Domain with a column whose bounds nobody knows: Domain({'income': 'number'}), for "
            "example. Columns with declared bounds are not searched."
        )
    opened = Table.of(table, domain, n_jobs, progress)
    if opened.reader.once:
        raise ParameterError("A stream can be read only once, and a search reads it again. Give a table or a file.")
    return release_moments(BoundsAlone(session.facts(domain)), StagedSource(Readings.of(opened)), session)
