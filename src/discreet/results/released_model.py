"""A release of the coefficients of a model."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.core.arrays import Floats
from discreet.core.files import Source, load_document
from discreet.core.old_keywords import tell_renamed
from discreet.core.placeholders import Later, Unavailable
from discreet.domain import Domain
from discreet.families.base import Link
from discreet.privacy.values import GridValues
from discreet.released.certificate import Certificate
from discreet.released.moments import ReleasedMoments
from discreet.results.documents import FORMAT_VERSIONS, document, facts_of, released_facts
from discreet.results.glm_inference import WITHOUT_ERRORS, infer_model
from discreet.results.results import Results
from discreet.results.uncertainty import Inference

_NONE = object()


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedModel:
    """Released coefficients with their certificate. **Public**: save them and publish them; `results` reads them.

    Parameters
    ----------
    certificate : Certificate
        The guarantee, and all that was released.
    target : str
        The outcome.
    names : tuple of str
        The regressors, without the intercept.
    coef : array
        Their coefficients in the user's units; of classes a row for each linear predictor.
    intercept : float or array
        The intercept, or one for each linear predictor.
    link : {"identity", "logit", "log", "sign"}
        The link function.
    classes : tuple, optional
        The classes of the outcome, in order.
    weights : array, optional
        For the adaptive method: how much more than others each regressor was penalised, a row for each predictor.
    values : tuple of tuples of GridValues
        The noisy values of the Gaussian events of the certificate, of a model that was released in private coordinates.
    inference : Inference or Unavailable, optional
        Standard errors, or why there are none; by default what the values tell of them.
    """

    certificate: Certificate
    target: str
    names: tuple[str, ...]
    coef: Floats
    intercept: Any
    link: Link = "identity"
    classes: tuple[Any, ...] | None = None
    weights: Floats | None = None
    values: tuple[tuple[GridValues, ...], ...] = ()
    inference: Inference | Unavailable | None = None

    @property
    def domain(self) -> Domain:
        """The public facts about the columns."""
        return self.certificate.domain

    @property
    def released(self) -> ReleasedMoments:
        """The noisy values, with the certificate."""
        return ReleasedMoments(self.certificate, self.values)

    @cached_property
    def _inference(self) -> Inference | Unavailable:
        if self.inference is not None:
            return self.inference
        return infer_model(self.released) if self.values else WITHOUT_ERRORS

    def results(self) -> Results:
        """The fitted model: coefficients with their standard errors, tables, predictions and files."""
        facts = {"link": self.link, "classes": self.classes, "weights": self.weights}
        return Results(
            (self.target,),
            self.names,
            self.coef,
            self.intercept,
            self.certificate.method,
            self.certificate,
            Later.of(self._inference),
            **facts | released_facts(self.certificate, self.values),
        )

    if not TYPE_CHECKING:  # editors should not offer it

        def __getattr__(self, name: str) -> Any:
            """Return an attribute of the results, which `release_` was in 0.2.0, with a warning."""
            found = None if name.startswith("_") else getattr(self.results(), name, _NONE)
            if name.startswith("_") or found is _NONE:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            tell_renamed({f"release_.{name}": f"results_.{name}"})
            return found

    # ---------------------------------------------------------------- files

    @property
    def digest(self) -> str:
        """The SHA-256 that a saved release carries: one name for one release, to cite it by."""
        return self.results().release

    def save(self, path: str | Path, *, simulation: bool = False, overwrite: bool = False) -> None:
        """Save it as JSON with a SHA-256 digest, which finds damage, not forgery: the file that `Results.save` writes.

        Parameters
        ----------
        path : path
            The file.
        simulation : bool
            Must be True to save a model whose noise came from a seed.
        overwrite : bool
            Must be True to replace a file: another model may be all that is left of its budget.
        """
        self.results().save(path, simulation=simulation, overwrite=overwrite)

    def _document(self) -> dict[str, Any]:
        return document(self.results())

    @classmethod
    def load(cls, path: Source) -> ReleasedModel:
        """Load what `save` wrote, by this version or an older one."""
        return load_document(path, "model", FORMAT_VERSIONS["model"], lambda body: cls.of(Results(**facts_of(body))))

    @classmethod
    def of(cls, fitted: Results) -> ReleasedModel:
        """The release that a model of released coefficients holds."""
        facts = {own.name: getattr(fitted, own.name) for own in fields(cls)}
        return cls(**facts | {"inference": fitted.inference_later()})

    def __repr__(self) -> str:
        g = self.certificate.guarantee
        promise = f"epsilon={g.epsilon:g}, delta={g.delta:g}, {g.status}"
        return f"{type(self).__name__}({len(self.names)} regressors, {promise})"
