"""The types of a fitted estimator's attributes, as an editor or mypy sees them."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SNIPPET = """
import discreet
from discreet import NAPP, DPLasso, DPLinearRegression, DPLogisticRegression

linear = DPLinearRegression(epsilon=1.0).fit([[0.0]], [0.0])
reveal_type(linear.results_)
reveal_type(linear.coef_)
reveal_type(linear.release_)
reveal_type(linear.certificate_)
reveal_type(linear.results_.summary())
reveal_type(linear.release_.fit_many())
logistic = DPLogisticRegression(epsilon=1.0).fit([[0.0]], [0.0])
reveal_type(logistic.results_)
reveal_type(logistic.release_)
reveal_type(NAPP(epsilon=1.0).release_)
lasso = DPLasso(epsilon=1.0).fit([[0.0]], [0.0])
reveal_type(lasso.results_)
reveal_type(lasso.alpha_)
reveal_type(discreet.load("model.json"))
reveal_type(discreet.check("model.json"))
discreet.DPLinearRegresion
"""

REVEALED = [
    "discreet.results.results.Results",
    "ndarray",
    "discreet.results.private_moments.PrivateMoments",
    "discreet.released.certificate.Certificate",
    "discreet.results.summary.Summary",
    "discreet.results.results.Results",
    "discreet.results.results.Results",
    "discreet.results.released_model.ReleasedModel",
    "discreet.results.released_model.ReleasedModel",
    "discreet.results.models.PenalisedResults",
    "float",
    "discreet.results.private_moments.PrivateMoments | discreet.results.results.Results | dict[str, Any]",
    "discreet.results.checking.CheckReport",
]


def test_a_fitted_model_has_types_that_an_editor_sees(tmp_path):
    api = pytest.importorskip("mypy.api")
    (tmp_path / "snippet.py").write_text(SNIPPET)
    shared = [f"--config-file={ROOT / 'pyproject.toml'}", f"--cache-dir={ROOT / '.mypy_cache'}"]
    said, errors, _ = api.run([*shared, str(tmp_path / "snippet.py")])
    assert not errors
    notes = [line.partition("Revealed type is ")[2] for line in said.splitlines() if "Revealed type" in line]
    assert len(notes) == len(REVEALED), said
    for note, wanted in zip(notes, REVEALED, strict=True):
        assert wanted in note
    assert [line for line in said.splitlines() if "error:" in line and "has no attribute" in line], said
    assert "DPLinearRegresion" in said
