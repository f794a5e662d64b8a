"""Names of papers: one table, old names that still work and say so, and releases that are the same by either name."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from discreet import DiscreetWarning
from discreet.core.citations import PAPERS, is_known, key_of, method_and_paper
from discreet.mechanisms.napp.estimator import NAPP
from discreet.mechanisms.posterior_sampling.adaptive_estimator import AdaOPS
from discreet.mechanisms.registry import METHODS

ROOT = Path(__file__).parents[2]
X = np.random.default_rng(0).uniform(-0.5, 0.5, (300, 2))
Y = X.sum(axis=1)
OWN = {"ReuseCov": {"neighbors": "replace-one"}, "NAPP": {"alpha": 1.0}}
MARKS = {paper.key: paper.mark for paper in PAPERS}
CASES = [(m.estimator, paper) for m in METHODS for paper in m.estimator.papers]


def fitted_here(cls, **options):
    """A seeded model."""
    facts = {"epsilon": 1, "delta": 1e-6, "bounds_X": (-1, 1), "bounds_y": (-1, 1), "rows": 300, "random_state": 3}
    return cls(**facts | OWN.get(cls.__name__, {}) | options).fit(X, Y)


def fitted(cls, **options):
    """A seeded model, and what it warned of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = fitted_here(cls, **options)
    return model, [str(one.message) for one in told if issubclass(one.category, DiscreetWarning)]


@pytest.mark.parametrize(("cls", "paper"), CASES, ids=lambda case: getattr(case, "__name__", case))
def test_a_paper_by_its_old_name_gives_the_same_release_and_one_warning(cls, paper, tmp_path):
    options = {"variant": "kappa"} if paper == "wang2017" else {}
    (new, silent), (old, told) = (fitted(cls, published=name, **options) for name in (paper, MARKS[paper]))
    assert silent == []
    assert told == [f'published="{MARKS[paper]}" is the old name of published="{paper}": use the new one.']
    assert (new.published, old.published) == (paper, MARKS[paper])
    assert json.dumps(new.certificate_.to_dict()) == json.dumps(old.certificate_.to_dict())
    assert new.certificate_.method.endswith(f"as published in {paper}")
    for model, name in ((new, "new"), (old, "old")):
        model.release_.save(tmp_path / name, simulation=True)
    assert (tmp_path / "new").read_bytes() == (tmp_path / "old").read_bytes()


@pytest.mark.parametrize(("cls", "paper"), CASES, ids=lambda case: getattr(case, "__name__", case))
def test_an_old_name_is_told_of_at_the_line_that_asks_for_the_fit(cls, paper):
    options = {"variant": "kappa"} if paper == "wang2017" else {}
    with pytest.warns(DiscreetWarning, match="is the old name of") as told:
        fitted_here(cls, published=MARKS[paper], **options)
    assert [one.filename for one in told if "old name" in str(one.message)] == [__file__]


def test_the_variant_of_ada_ops_has_an_old_name_too():
    (new, silent), (old, told) = (fitted(AdaOPS, variant=name) for name in ("wang2018", "000"))
    assert silent == []
    assert told == ['variant="000" is the old name of variant="wang2018": use the new one.']
    assert new.coef_.tolist() == old.coef_.tolist()


def test_methods_of_files_are_read_by_either_name():
    for paper in PAPERS:
        for name in (paper.key, paper.mark):
            assert is_known(name)
            assert key_of(name) == paper.key
            assert method_and_paper(f"SSP as published in {name}") == ("SSP", paper.key)
    assert method_and_paper("SSP") == ("SSP", None)
    assert not is_known("wang2019")


def test_a_moments_fit_of_one_outcome_warns_once():
    from discreet import Domain, Moments, ReuseCov

    domain = Domain.from_bounds(["a", "b"], ["y"], bounds_X=(-1, 1), bounds_y=(-1, 1))
    moments = Moments.from_source((X, Y), domain)
    model = ReuseCov(epsilon=1, delta=1e-6, neighbors="replace-one", published="004", random_state=3)
    with pytest.warns(DiscreetWarning, match="neel2023") as told:
        model.fit_moments(moments, "y")
    assert len(told) == 1


def test_tags_of_a_classifier_follow_the_old_name_as_well():
    tags = [NAPP(epsilon=1, loss="logistic", published=name).__sklearn_tags__() for name in ("li2021", "002")]
    assert [one.classifier_tags.multi_class for one in tags] == [False, False]


def test_keys_and_marks_are_unique_and_all_papers_of_methods_are_listed():
    keys, marks = [paper.key for paper in PAPERS], [paper.mark for paper in PAPERS]
    assert len({*keys, *marks}) == 2 * len(PAPERS)
    assert {paper for _, paper in CASES} == set(keys)


@pytest.mark.parametrize("page", ["docs/reference/methods.md", "docs/research/errata.md"])
@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.key)
def test_pages_cite_every_paper_by_its_key(page, paper):
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert paper.key in text
    assert paper.authors.removeprefix("Code of ") in text
    assert str(paper.year) in text
    if page == "docs/research/errata.md":
        assert paper.title.split(" (")[0] in text
