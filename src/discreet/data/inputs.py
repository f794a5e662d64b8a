"""What models ask of X, y and their domain, beyond reading them: names, weights, designs; errors quote no data."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.core.arrays import Floats
from discreet.data.sources.arrays import as_matrix
from discreet.data.sources.base import check_lengths
from discreet.data.tables import Outcomes, Table, as_table, check_finite
from discreet.domain import Domain
from discreet.domain.encoding import Encoder
from discreet.domain.formula import formula as read_formula
from discreet.errors import DataError, DomainError, ParameterError


def as_weights(sample_weight: Any, rows: int) -> Floats | None:
    """Weights of the rows of a score, which is a matter of whoever computes it: no release depends on them."""
    if sample_weight is None:
        return None
    weights = as_matrix("sample_weight", sample_weight, column=True).astype(float)
    check_finite("sample_weight", weights)
    if weights.shape != (rows, 1):
        raise DataError("sample_weight must be one column of weights, one for each row of X.")
    if not weights.sum() > 0:
        raise DataError("The weights in sample_weight must have a sum above 0.")
    return weights[:, 0]


def refuse_weights(sample_weight: Any) -> None:
    """Refuse weights of rows."""
    if sample_weight is not None:
        raise ParameterError(
            "sample_weight is not supported, whether its weights are zero, one or more: a weight would let one "
            "person move the result by more than the noise hides."
        )


def check_pair(X: Table, y: Outcomes) -> None:
    """Refuse rows that no model could use, whatever its domain; what the columns of a table hold is not looked at."""
    if check_lengths([X.rows or 0, *map(len, y.columns())]) == 0:
        raise DataError("There is no row in X and y.")
    if not X.named:
        check_finite("X", X.matrix)
        check_finite("y", y.matrix())


# ---------------------------------------------------------------- which columns are what


def with_intercept(domain: Domain, intercept: bool) -> Domain:
    """The domain for models with or without an intercept."""
    if domain.intercept == intercept:
        return domain
    return Domain.from_dict(domain.to_dict() | {"intercept": bool(intercept)})


def described(domain: Domain, X: Table, names: Sequence[str | None]) -> tuple[list[str], list[str]]:
    """Features and outcomes of an X whose columns a domain declares; outcomes may have no names."""
    targets = [str(name) for name in names] if None not in names else _unnamed(domain, X, len(names))
    if not X.named:
        own = set(targets)
        return [name for name in domain.columns if name not in own], targets
    return domain.features_from(X.names, set(targets)), targets


def _unnamed(domain: Domain, X: Table, count: int) -> list[str]:
    """The declared columns that outcomes without names stand for: all but the features, or the last beside a matrix."""
    if not X.named:
        return list(domain.columns)[-count:]
    features = set(X.names)
    left = [name for name in domain.inputs if name not in features]
    if len(left) != count:
        raise DataError(
            f"y has no name, so it is unclear which declared column it is: beside the features there are "
            f"{', '.join(left) or 'none'}. Give y as a pandas Series or DataFrame with its name, use fit_source(table, "
            "name), or declare the features and the outcome only, as domain.select([...]) does."
        )
    return left


def declared_table(source: Any, domain: Any, method: str) -> tuple[Table, Domain]:
    """A source whose columns have names, and the declared domain."""
    if not isinstance(domain, Domain):
        raise DomainError(f"{method} needs domain=, the public bounds of the columns.")
    table = as_table(source)
    if not table.named:
        raise DataError(f"{method} goes by the names of columns, which arrays do not have: use fit(X, y).")
    return table, domain


def described_by(formula: str, domain: Domain) -> tuple[Domain, str, list[str]]:
    """The domain with a formula's columns, the outcome and the features."""
    found, target, features = read_formula(formula, domain)
    if target is None:
        raise ParameterError(f"{formula}: name the outcome left of '~'.")
    return found, target, features


def feature_names(domain: Domain, outcomes: Sequence[str], features: Sequence[str] | None) -> list[str]:
    """The features: those named, or all columns that can explain the outcomes, which are columns too."""
    if isinstance(features, str):
        raise ParameterError(f"features must be a list of column names, for example [{features!r}].")
    own = set(outcomes)
    if features is None:
        return domain.features_for(own)
    domain.refuse_outcomes(own, features)
    return list(features)


def design_names(domain: Domain, features: Sequence[str]) -> tuple[str, ...]:
    """Names of the regressors' coordinates; at least one."""
    design = tuple(domain.entries[i].name for i in domain.design(features))
    if not design:
        raise ParameterError("A model needs at least one feature, or an intercept.")
    return design


def design_matrix(X: Any, domain: Domain) -> Floats:
    """Features in the user's units, categories one-hot without the first level."""
    encoder, source = Encoder(domain, clip=False), as_table(X).open(domain)
    places = [i for i in domain.design(list(domain.columns)) if i > 0]
    pieces = [np.empty((0, len(places)))]
    with contextlib.closing(source):
        for batch in itertools.chain.from_iterable(source.parts(8192)):
            A = encoder.empty(source.size(batch), columnar=source.columnar)
            pieces.append(A[: source.fill(batch, A, encoder), places] / encoder.unit[places] + encoder.centre[places])
    matrix = np.concatenate(pieces)
    check_finite("X", matrix)
    return matrix
