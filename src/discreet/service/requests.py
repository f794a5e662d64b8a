"""Requests of analysts. Unlisted fields are refused: bounds, levels and seeds are not theirs to set."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from discreet.mechanisms.registry import DEFAULT, METHODS, find
from discreet.service.settings import Name

Formula = Annotated[str, Field(min_length=1, max_length=2000)]
Epsilon = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]
Guess = Annotated[str, Field(max_length=2000)]  # as age.sd=18
Purpose = Annotated[str, Field(max_length=300)]
Id = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]

OFFERED = tuple(method.name for method in METHODS if method.source.startswith("ours"))
"""The methods on offer: those of the project itself."""

SOLVES = {
    "DPLinearRegression": "noise-aware",
    "DPRidge": "ridge",
    "DPLasso": "lasso",
    "DPElasticNet": "elastic-net",
}
"""The model of a release that corresponds to each method."""


class ServiceRequest(BaseModel):
    """The base of all requests; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    table: Name
    kind: str

    def text(self) -> str:
        """The request as canonical text."""
        return json.dumps(self.model_dump(), sort_keys=True)


class _MethodRequest(ServiceRequest):
    formula: Formula
    method: Literal[OFFERED] = DEFAULT  # type: ignore[valid-type]
    epsilon: Epsilon


class FitRequest(_MethodRequest):
    """A private model of the table; free if `reuse` is true and an existing release serves it as well."""

    kind: Literal["fit"] = "fit"
    purpose: Purpose = ""
    reuse: bool = True


class ReleaseRequest(ServiceRequest):
    """Release the statistics that the models of some formulas need, once."""

    kind: Literal["release"] = "release"
    formulas: Annotated[list[Formula], Field(min_length=1, max_length=20)]
    epsilon: Epsilon
    purpose: Purpose = ""


class ModelRequest(ServiceRequest):
    """A model of an existing release: free."""

    kind: Literal["model"] = "model"
    release: Id
    formula: Formula
    model: Literal["noise-aware", "ridge", "lasso", "elastic-net", "ols"] = "noise-aware"


class PlanRequest(_MethodRequest):
    """The expected accuracy of a model, from public facts and guesses: free."""

    kind: Literal["plan"] = "plan"
    r_squared: Annotated[float, Field(ge=0, lt=1)] | None = None
    about: Annotated[list[Guess], Field(max_length=500)] = []


class TrialRequest(_MethodRequest):
    """The same model of a made-up table: free, and independent of the data."""

    kind: Literal["try"] = "try"


class CheckRequest(ServiceRequest):
    """Whether the table still fits its schema; custodians ask for it."""

    kind: Literal["check"] = "check"


Request = FitRequest | ReleaseRequest | ModelRequest | PlanRequest | TrialRequest
AnyRequest = Annotated[Request, Field(discriminator="kind")]

PAID = ("fit", "release")
"""The kinds of requests that cost budget."""

_READER: TypeAdapter[Any] = TypeAdapter(Annotated[Request | CheckRequest, Field(discriminator="kind")])


def read(body: str) -> Any:
    """Read a request from its text."""
    return _READER.validate_json(body)


def is_gaussian(asked: Request | CheckRequest) -> bool:
    """Whether a request is charged to the Gaussian part of the budget."""
    from discreet.models.linear import MomentsEstimator
    from discreet.models.private_coordinates import PrivateCoordinatesModel

    gaussian = (MomentsEstimator, PrivateCoordinatesModel)
    return isinstance(asked, ReleaseRequest) or (
        isinstance(asked, _MethodRequest) and issubclass(find(asked.method).estimator, gaussian)
    )


def takes_classes(asked: Request | CheckRequest) -> bool:
    """Whether a request is about a model of classes, whose outcome may be a category of three or more levels."""
    family = getattr(find(asked.method).estimator, "family", None) if isinstance(asked, _MethodRequest) else None
    return family is not None and bool(family.classes)


def estimator_of(asked: _MethodRequest) -> Any:
    """Return the estimator that a request names."""
    return find(asked.method).estimator
