"""A recipe is replayed with the values of a file: honest ones come back, and what does not follow is found."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from replayed import by_rules

from discreet import (
    OPS,
    Domain,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegression,
    ObjectivePerturbation,
    PrivateMoments,
    ReuseCov,
    release,
)
from discreet.families.coordinates import ModelCoordinates
from discreet.privacy import sensitivity
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import GaussianEvent
from discreet.recipes.budget import SCORING_STEPS
from discreet.recipes.methods import recipe_of
from discreet.recipes.rules import NEWEST, NEWEST_OF_MODELS, RULES

pytestmark = pytest.mark.filterwarnings("ignore::discreet.DiscreetWarning")

N = 3000
PROMISE = {"epsilon": 1.0, "delta": 1e-6, "n_jobs": 1}


def table(n=N):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(18, 90, n), "sex": rng.choice(["F", "M"], n), "who": np.arange(n) // 2})
    frame["weight"] = rng.uniform(0.5, 2, n)
    frame["pay"] = np.clip(20 + frame["age"] / 4 + 3 * (frame["sex"] == "M") + rng.normal(0, 4, n), 0, 100)
    frame["debt"] = np.clip(rng.normal(30, 5, n), 0, 100)
    frame["visits"] = np.clip(rng.poisson(np.exp(frame["age"] / 60)), 0, 20)
    frame["age_group"] = np.array(["young", "middle", "old"])[np.digitize(frame["age"], [40, 65])]
    frame["ill"] = np.where(frame["pay"] + rng.normal(0, 5, n) > 35, "yes", "no")
    return frame


FRAME = table()
NUMBERS = {"age": (0, 120), "sex": ["F", "M"], "pay": (0, 200), "debt": (0, 200)}


def linear(targets="pay", domain=None, **options):
    domain = Domain(NUMBERS) if domain is None else domain
    columns = ["age", "sex"]
    return DPLinearRegression(**PROMISE, domain=domain, **options).fit_source(FRAME, targets, columns).release_


def of_model(estimator, target, declared, **options):
    domain = Domain({"age": (0, 120), "sex": ["F", "M"], target: declared})
    return estimator(**PROMISE, domain=domain, **options).fit_source(FRAME, target).results_.released


RELEASES = {
    "auto": lambda: linear(),
    "rows": lambda: linear(rows=N),
    "two stages": lambda: linear(stages=2),
    "four stages": lambda: linear(stages=4),
    "replace-one": lambda: linear(neighbors="replace-one"),
    "classical": lambda: linear(covariance="classical"),
    "robust, two outcomes": lambda: linear(["pay", "debt"], covariance="robust"),
    "no intercept": lambda: linear(fit_intercept=False, domain=Domain(NUMBERS, intercept=False)),
    "a derived outcome": lambda: by_formula("log1p(pay) ~ age + sex"),
    "a level": lambda: by_formula("age_group[old] ~ pay + sex"),
    "a derived outcome and a level": lambda: release(
        FRAME, domain=Domain(MADE), models=["sqrt(pay) ~ age + sex", "age_group[old] ~ sex"], epsilon=1, delta=1e-6
    ),
    "a level, replace-one": lambda: by_formula("age_group[old] ~ pay + sex", neighbors="replace-one"),
    "mean alone": lambda: few(),
    "persons": lambda: linear(domain=Domain(NUMBERS, person="who", rows_per_person=2)),
    "weights": lambda: linear(domain=Domain(NUMBERS, weights="weight", largest_weight=2.0)),
    "counts, then moments": lambda: linear(stages=1),
    "bounds as declared": lambda: linear(stages=1, narrow=False),
    "several in one stage": lambda: linear(["pay", "debt"], stages=1),
    "all products": lambda: release(FRAME, domain=Domain(NUMBERS), epsilon=1, delta=1e-6),
    "outcomes named": lambda: release(FRAME, domain=Domain(NUMBERS), epsilon=1, delta=1e-6, targets=["pay"]),
    "own shares": lambda: release(
        FRAME, domain=Domain(NUMBERS), epsilon=1, delta=1e-6, targets=["pay"], shares={"gram": 0.3}
    ),
    "a sample": lambda: sampled(),
    "public outcomes": lambda: sampled(association="projection", neighbors="replace-one", subsample=None),
}
AGES = ["old", "young", "middle"]
MODELS = {
    "classes": lambda: of_model(DPLogisticRegression, "ill", ["no", "yes"]),
    "classes, two stages": lambda: of_model(DPLogisticRegression, "ill", ["no", "yes"], stages=2),
    "classes, classical": lambda: of_model(DPLogisticRegression, "ill", ["no", "yes"], covariance="classical"),
    "classes, rows": lambda: of_model(DPLogisticRegression, "ill", ["no", "yes"], rows=N),
    "three classes": lambda: of_model(DPLogisticRegression, "age_group", AGES),
    "three classes, with errors": lambda: of_model(DPLogisticRegression, "age_group", AGES, covariance="classical"),
    "hinge": lambda: of_model(DPLinearSVC, "ill", ["no", "yes"]),
    "hinge, two stages": lambda: of_model(DPLinearSVC, "ill", ["no", "yes"], stages=2),
    "counts": lambda: of_model(DPPoissonRegression, "visits", (0, 50)),
    "counts with exposure": lambda: exposed(),
}
"""Models of classes and counts, which version 0.2.0 fitted in another way."""

RELEASES |= MODELS


MADE = NUMBERS | {"age_group": AGES}


def by_formula(text, **options):
    return DPLinearRegression(**PROMISE, domain=Domain(MADE), **options).fit_formula(text, FRAME).release_


def few():
    return (
        DPLinearRegression(epsilon=0.003, delta=1e-6, domain=Domain(NUMBERS))
        .fit_source(FRAME, "pay", ["age", "sex"])
        .release_
    )


def sampled(**options):
    given = {"subsample": 0.3} | options
    return ReuseCov(**PROMISE, domain=Domain(NUMBERS), **given).fit_source(FRAME, ["pay", "debt"], ["age"]).release_


def exposed():
    domain = Domain({"age": (0, 120), "weight": (0.1, 3), "visits": (0, 50)})
    model = DPPoissonRegression(**PROMISE, domain=domain, exposure="weight")
    return model.fit_source(FRAME, "visits", ["age"]).results_.released


@pytest.fixture(scope="module")
def made():
    """Each release, made once by each version of the rules of stages."""
    held = {}

    def find(name, rules=NEWEST):
        if (name, rules) not in held:
            with by_rules(rules):
                held[name, rules] = RELEASES[name]()
        return held[name, rules]

    return find


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("rules", RULES)
def test_an_honest_release_follows_from_its_recipe(name, rules, made):
    released = made(name, rules)
    certificate = released.certificate
    assert certificate.recipe is not None
    assert certificate.mismatch(released.values) is None
    assert certificate.mismatch() is None


@pytest.mark.parametrize("name", [name for name in RELEASES if name not in MODELS])
def test_the_options_of_an_older_file_are_found(name, made):
    """Files of version 0.2.0 do not name their recipe, and follow the first rules."""
    released = made(name, rules=1)
    older = replace(released.certificate, recipe=None, software="discreet 0.2.0")
    assert older.mismatch(released.values) is None
    assert older.mismatch() is None


def test_a_certificate_names_its_recipe(made):
    released = made("auto")
    unnamed = replace(released.certificate, recipe=None)
    assert unnamed.mismatch(released.values).subject == unnamed.mismatch().subject == "recipe"


def rescaled(released, factors):
    """The release with the noise of some events changed, and each cost as it should be for its noise."""
    events = list(released.certificate.events)
    for place, factor in factors.items():
        event = events[place]
        blocks = tuple(replace(block, sd=block.sd * factor) for block in event.blocks)
        space = event.coordinates if isinstance(event, StageEvent) else released.domain
        mu = sensitivity.mu(blocks, space, released.certificate.guarantee.neighbors)
        events[place] = replace(event, mu=mu, blocks=blocks)
    return replace(released.certificate, events=tuple(events))


@pytest.mark.parametrize("name", ["auto", "two stages", "persons", "rows", "counts, then moments", "classes", "counts"])
def test_every_mu_follows_from_the_recipe(name, made):
    """A file may list less noise in one step and more in another, at the same cost of all of them: it is found."""
    released = made(name)
    gaussian = [i for i, e in enumerate(released.certificate.events) if isinstance(e, GaussianEvent | StageEvent)]
    for place in gaussian:
        forged = rescaled(released, {place: 1.001})
        found = forged.mismatch(released.values)
        assert found is not None
        assert found.subject in ("noise", "stages", "bounds that were narrowed")


def test_the_number_of_stages_follows_from_the_recipe(made):
    released = made("two stages")
    options = {"name": "stages", "covariance": "auto", "rules": NEWEST}
    said = replace(released.certificate, recipe=options | {"stages": 3})
    assert said.mismatch(released.values) is not None
    assert said.mismatch() is not None
    auto = replace(released.certificate, recipe=options | {"stages": "auto"})
    assert auto.mismatch(released.values) is not None  # so many rows have three


@pytest.mark.parametrize(
    "recipe",
    [
        {"name": "moments", "shares": {"gram": 1.0}},
        {"name": "stages", "stages": 10**9},
        {"name": "stages", "stages": True},
        {"name": "stages", "covariance": "none"},
        {"name": "stages", "stages": [2]},
        {"name": "stages", "rules": 0},
        {"name": "stages", "rules": NEWEST + 1},
        {"name": "stages", "rules": True},
        {"name": "stages", "rules": "2"},
        {"name": ""},
    ],
)
def test_another_recipe_is_found(recipe, made):
    released = made("auto")
    said = replace(released.certificate, recipe=recipe)
    assert said.mismatch(released.values).subject == "list of events"
    assert said.mismatch().subject == "list of events"


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "stages"},
        {"name": "perturbed objectives in stages"},
        {"name": "perturbed objectives"},
        {"stages": 2},
        {"stages": 4},
        {"stages": True},
        {"stages": [3]},
        {"covariance": "classical"},
        {"covariance": "none"},
        {"rules": 0},
        {"rules": NEWEST_OF_MODELS + 1},
        {"rules": "3"},
    ],
    ids=str,
)
def test_another_recipe_of_a_model_is_found(changed, made):
    released = made("classes")
    said = replace(released.certificate, recipe=released.certificate.recipe | changed)
    assert said.mismatch(released.values) is not None
    assert said.mismatch() is not None


@pytest.mark.parametrize("shares", [{}, {"gram": -1.0}, {"gram": "x"}, 3, {"gram": float("nan")}, {"cross": 1.0}])
def test_shares_that_are_none_are_found(shares, made):
    released = made("all products")
    said = replace(released.certificate, recipe={"name": "moments", "shares": shares})
    assert said.mismatch(released.values).subject == "list of events"


@pytest.mark.parametrize("name", ["a sample", "public outcomes"])
def test_shares_of_no_statistic_are_found(name, made):
    released = made(name)
    own = released.certificate.recipe
    assert set(own["shares"]) == {"gram", "cross", "squares"}
    for shares in (own["shares"] | {"more": 0.0}, {"gram": 0.5, "cross": 0.5}):
        said = replace(released.certificate, recipe=own | {"shares": shares})
        assert said.mismatch(released.values).subject == said.mismatch().subject == "list of events"


@pytest.mark.parametrize("name", ["draws", "perturbed objectives"])
def test_a_recipe_that_certificates_do_not_name_is_found(name):
    estimator = OPS if name == "draws" else ObjectivePerturbation
    domain = Domain({"age": (0, 120), "pay": (0, 200)})
    certificate = estimator(**PROMISE, domain=domain, rows=N).fit_source(FRAME, "pay", ["age"]).certificate_
    assert certificate.recipe is None
    assert certificate.mismatch() is None
    assert replace(certificate, recipe={"name": name}).mismatch().subject == "list of events"


@pytest.mark.parametrize(
    "name", ["counts, then moments", "bounds as declared", "several in one stage", "own shares", "a sample"]
)
def test_noise_that_no_value_decides_follows_from_the_recipe_without_values(name, made):
    """A file of results holds none; its older versions are not compared, for they do not tell their shares."""
    released = made(name)
    gaussian = [i for i, e in enumerate(released.certificate.events) if isinstance(e, GaussianEvent)]
    for place in gaussian:
        forged = rescaled(released, {place: 1.001})
        assert forged.mismatch().subject == "noise"
        assert replace(forged, recipe=None, software="discreet 0.2.0").mismatch() is None


def with_coordinates(certificate, place, change):
    """The certificate with the coordinates of one event changed."""
    events = list(certificate.events)
    own = events[place].coordinates
    events[place] = replace(events[place], coordinates=replace(own, **change(own)))
    return replace(certificate, events=tuple(events))


def turned(own):
    """The same coordinates up to the sign of an axis."""
    integers = own.P.integers
    return {"P": replace(own.P, integers=(*integers[:-1], tuple(-q for q in integers[-1])))}


def rounded(own):
    """The same coordinates up to a rounding error."""
    return {"radius": own.radius * (1 + 1e-8)}


def other_radius(own):
    return {"radius": own.radius * (1 + 1e-4)}


def models_of(certificate):
    """The places of the events at a model."""
    stages = [(i, event) for i, event in enumerate(certificate.events) if isinstance(event, StageEvent)]
    return [i for i, event in stages if isinstance(event.coordinates, ModelCoordinates)]


@pytest.mark.parametrize("name", ["classes", "classes, classical", "three classes, with errors", "hinge", "counts"])
def test_steps_stand_in_the_coordinates_that_the_first_releases_call_for(name, made):
    """An axis that points the other way leads to another model; a rounding error of another processor does not."""
    released = made(name)
    certificate = released.certificate
    places = models_of(certificate)
    assert len(places) >= SCORING_STEPS
    for place in places:
        assert with_coordinates(certificate, place, rounded).mismatch(released.values) is None
        for change in (other_radius,) if place == places[-1] else (turned, other_radius):
            found = with_coordinates(certificate, place, change).mismatch(released.values)
            assert "the coordinates of the model do not follow" in found.why


@pytest.mark.parametrize("name", ["hinge", "hinge, two stages", "classes, two stages", "classes", "counts"])
def test_the_noise_of_a_model_uses_up_the_promise(name, made):
    """More noise than the promise calls for is in no release."""
    released = made(name)
    places = models_of(released.certificate)
    for factor, ok in ((1.0, True), (1.1, False)):
        found = rescaled(released, dict.fromkeys(places, factor)).check_costs()
        assert [one.what for one in found if not one.ok] == ([] if ok else ["cost of all stages"])


@pytest.mark.parametrize("name", ["classes", "hinge", "counts"])
def test_each_step_is_at_the_posterior_of_those_before_it(name, made):
    """A step at the model of the step before, or of the one after it, is found."""
    released = made(name)
    certificate = released.certificate
    places = models_of(certificate)
    for before, place in itertools.pairwise(places):
        for one, other in ((place, before), (before, place)):
            theta = certificate.events[other].coordinates.theta
            found = with_coordinates(certificate, one, lambda own, theta=theta: {"theta": theta})
            assert "the coordinates of the model do not follow" in found.mismatch(released.values).why


def test_bounds_that_do_not_follow_from_counts_are_found(made):
    released = made("counts, then moments")
    certificate = released.certificate
    assert certificate.declared is not None
    column = certificate.domain.columns["pay"]
    other = certificate.domain.with_column("pay", replace(column, high=column.high - 1))
    assert replace(certificate, domain=other).mismatch(released.values) is not None


def test_stages_never_narrow_bounds(made):
    """Their counts would pay for it, but no recipe does it."""
    released = made("auto")
    wider = released.domain.with_column("pay", replace(released.domain.columns["pay"], high=300.0))
    said = replace(released.certificate, declared=wider)
    assert said.mismatch(released.values).subject in ("bounds that were narrowed", "stages", "noise")


@pytest.mark.parametrize("name", ["auto", "classes", "counts", "moments"])
def test_every_lost_event_is_found(name, made):
    """Of a file with values, and of one without."""
    released = made("outcomes named" if name == "moments" else name)
    certificate = released.certificate
    for place in range(len(certificate.events)):
        left = certificate.events[:place] + certificate.events[place + 1 :]
        assert not all(finding.ok for finding in replace(certificate, events=left).check())
        kept = PrivateMoments(certificate, released.values)
        values = [own for event, own in kept.parts if event is not certificate.events[place]]
        flat = [block for own in values for block in own]
        assert replace(certificate, events=left).mismatch(flat) is not None


def test_a_recipe_never_sees_rows():
    """Recipes are functions of public facts: their modules import nothing of the private side."""
    certificate = linear(stages=2).certificate
    recipe = recipe_of(certificate.method, certificate.facts, certificate.events, certificate.recipe)
    assert recipe.options == {"stages": 2, "covariance": "auto", "rules": NEWEST}
    assert type(recipe).__module__.startswith("discreet.recipes.")
