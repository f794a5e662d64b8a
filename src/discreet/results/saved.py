"""Files of every kind that carry a certificate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.core.files import read_json
from discreet.privacy.certificate import Certificate
from discreet.results.glm_results import GLMResults
from discreet.results.many_results import ManyResults
from discreet.results.private_moments import PrivateMoments
from discreet.results.results import Results


def load_certificate(path: str | Path) -> Certificate:
    """The certificate of a release of moments or of a model, by the kind that the file says it is."""
    body = read_json(path)
    kinds: dict[Any, Any] = {"model": GLMResults, "results": Results, "many results": ManyResults}
    kind = body.get("kind") if isinstance(body, Mapping) else None
    found: Certificate = kinds.get(kind, PrivateMoments).load(path).certificate
    return found
