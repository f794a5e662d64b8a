"""Persons with many rows, and weights: the arguments of `fit`, and the methods that refuse them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.data.tables import InputTable, as_row_weights
from discreet.domain import Domain
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.models.base import PrivateEstimator


def counted(
    model: PrivateEstimator, table: InputTable, domain: Domain, sample_weight: Any, person: Any
) -> tuple[InputTable, Domain]:
    """Return the table with the persons and weights that `fit` was given.

    Where the model has a bound on weights, rows without one weigh 1, so that weights and repeated rows have the same
    noise.
    """
    unit, columns = domain.unit, dict[str, Any]()
    if sample_weight is not None or (model.largest_weight is not None and unit.weights is None):
        refuse_counting(model, "weights, zero or more (sample_weight)")
        name = unit.weights or "sample_weight"
        weights = np.ones(table.rows or 0) if sample_weight is None else sample_weight
        columns[name] = as_row_weights(weights, table.rows)
        if unit.weights is None:
            if model.largest_weight is None:
                raise ParameterError(
                    "sample_weight needs largest_weight=, a bound on the weights that is known without looking at the "
                    "data: otherwise a weight, unless it is zero, would let one person move the result by more than "
                    "the noise hides."
                )
            domain = domain.with_unit(weights=name, largest_weight=model.largest_weight)
    if person is not None or (model.rows_per_person is not None and unit.person is None):
        refuse_counting(model, "persons with many rows")
        if person is None:
            raise ParameterError("rows_per_person= needs person=, whose each row is: fit(X, y, person=...).")
        name = unit.person or "person"
        columns[name] = person
        if unit.person is None:
            domain = domain.with_unit(person=name, rows_per_person=model.rows_per_person)
    return (table.counted(domain, columns) if columns else table), domain


def refuse_unit(model: PrivateEstimator, domain: Domain) -> None:
    """Refuse persons and weights of a domain if the method is not proven for them, or ignores them."""
    unit = domain.unit
    if not unit.plain:
        refuse_counting(model, "weights" if unit.person is None else "persons with many rows")
    for name, own, of in (("largest_weight", unit.weights, "weights"), ("rows_per_person", unit.person, "person")):
        if own is None and getattr(model, name) is not None:
            raise ParameterError(f"{name}= is for fit(X, y). Here declare {of}= and {name}= in the domain.")


def refuse_counting(model: PrivateEstimator, what: str) -> None:
    """Refuse weights, and several rows per person, unless the method is proven for them."""
    why = model._one_row_each
    if model._paper is not None:
        why = "its printed constants are about rows that count alike, one a person"
    if why:
        raise ParameterError(
            f"{type(model).__name__} does not go with {what}: {why}. DPLinearRegression, DPRidge, DPLasso, "
            "DPElasticNet, SSP, ConstSSP, AdaSSP and ReuseCov do; DPLogisticRegression, DPLinearSVC and "
            "DPPoissonRegression do in stages."
        )
