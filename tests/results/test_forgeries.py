"""Forged files with a fitting digest: what can be told from the file alone, `discreet check` tells, with the reason."""

import inspect
import json
import math

import numpy as np
import pytest
from described import assert_described
from every_file import bodies
from small_table import DOMAIN, people

from discreet import (
    AdaOPS,
    AdaSSP,
    Domain,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegression,
    NoisySGD,
    OutputPerturbation,
    ReleasedModel,
    ReuseCov,
    formula,
)
from discreet.core.files import digest
from discreet.mechanisms.registry import METHODS
from discreet.privacy.events.kinds import event_from_dict
from discreet.recipes.methods import METHODS as KNOWN
from discreet.recipes.methods import readers
from discreet.results.saved import check_saved, load_saved

pytestmark = pytest.mark.filterwarnings("ignore::discreet.DiscreetWarning")


def arrays():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (60, 2))
    return X, X @ [0.4, -0.3] + rng.normal(0, 0.2, 60)


def array_model(estimator, **options):
    """A method with the outcome that it is for: a class, a count or a number."""
    X, y = arrays()
    given = {"epsilon": 1.0, "delta": 1e-5, "bounds_X": (-1, 1), "rows": 64, "n_jobs": 1} | options
    names = set(inspect.signature(estimator).parameters)
    if "classes" in names and "loss" not in names:
        y = np.digitize(y, [-0.2, 0.2]) if "classes" in options else (y > 0).astype(int)
        return estimator(**{"classes": [0, 1]} | given).fit(X, y)
    if "Poisson" in estimator.__name__:
        return estimator(**given, bounds_y=(0, 4)).fit(X, np.clip(np.rint(2 + 2 * y), 0, 4))
    return estimator(**given, bounds_y=(-1, 1)).fit(X, y)


# -------------------------------------------------------------------- honest files

OPTIONS = {
    "DPLinearRegression": [{}, {"narrow": False}],
    "OPS": [{}, {"calibration": "pure", "delta": None}],
    "AdaOPS": [{}, {"variant": "kappa"}],
    "OutputPerturbation": [{}, {"shape": "fisher"}, {"shape": "democratic"}],
    "ReuseCov": [
        {"neighbors": "replace-one", "published": "neel2023"},
        {"neighbors": "replace-one", "association": "projection"},
        {"neighbors": "replace-one", "association": "projection", "published": "neel2023"},
        {"subsample": 0.3},
        {"neighbors": "replace-one", "association": "projection", "subsample": 0.3},
    ],
    "ObjectivePerturbation": [{}, {"adaptive": True}, {"penalty": "l1"}, {"radius": 2.0}],
    "DPPoissonRegression": [{}, {"adaptive": True}],
    "DPLinearSVC": [{}, {"adaptive": True}],
    "DPLogisticRegression": [
        {},
        {"adaptive": True},
        {"noise": "laplace", "delta": None},
        {"classes": [0, 1, 2]},
        {"classes": [0, 1, 2], "adaptive": True},
    ],
}
PUBLISHED = {
    "AdaOPS": [
        {"published": "wang2018"},
        {"published": "wang2018-code"},
        {"published": "wang2017", "variant": "kappa"},
    ],
    "NAPP": [{"published": "li2021", "alpha": 1.0}],
    "ReuseCov": [],
}


def cases():
    for method in METHODS:
        printed = [{"published": paper} for paper in method.estimator.papers]
        for options in [*OPTIONS.get(method.name, [{}]), *PUBLISHED.get(method.name, printed)]:
            yield pytest.param(method.estimator, options, id=f"{method.name} {options}")


@pytest.mark.parametrize(("estimator", "options"), cases())
def test_every_honest_file_passes(estimator, options, tmp_path):
    """Constants of papers may cost more than these promise: that alone may be found."""
    model = array_model(estimator, **options)
    model.release_.save(tmp_path / "release.json")
    files = ["release.json"]
    if not isinstance(model.release_, ReleasedModel):
        model.results_.save(tmp_path / "results.json")
        files.append("results.json")
    for name in files:
        assert_described(tmp_path / name)
        wrong = {finding.what for finding in check_saved(load_saved(tmp_path / name)) if not finding.ok}
        assert wrong <= ({"epsilon of all events"} if "published" in options else set())


OUTCOMES = {"DPLogisticRegression": "rich", "DPLinearSVC": "rich", "DPPoissonRegression": "hours"}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("intercept", [True, False])
def test_honest_files_with_categories_and_products_pass(method, intercept, tmp_path):
    target = OUTCOMES.get(method.name, "income")
    features = [name for name in ("age", "region", "hours") if name != target]
    asked = formula(f"{target} ~ {' + '.join(features)} + age:{features[-1]}", Domain(DOMAIN.columns | {"rich": bool}))
    given = {"epsilon": 5.0, "delta": 1e-6, "rows": 500, "n_jobs": 1, "fit_intercept": intercept}
    frame = people(500)
    frame["hours"], frame["rich"] = frame["hours"].round(), frame["income"] > 70_000
    domain = Domain(asked.domain.columns, intercept=intercept)
    model = method.estimator(**given, domain=domain).fit_source(frame, target, asked.features)
    model.release_.save(tmp_path / "release.json")
    assert all(finding.ok for finding in check_saved(load_saved(tmp_path / "release.json")))
    if not isinstance(model.release_, ReleasedModel):
        model.results_.save(tmp_path / "results.json")
        assert all(finding.ok for finding in check_saved(load_saved(tmp_path / "results.json")))


def test_the_table_knows_every_method():
    for method in METHODS:
        names = [key for key in KNOWN if key == method.name or key.startswith(f"{method.name} ")]
        assert names
        assert not method.estimator.papers or f"{method.name} as published" in KNOWN
    assert readers("AdaSSP as published in piazza2021")
    assert readers("AMethodOfOurOwn") == ()


def test_a_subclass_passes_as_the_method_that_it_is_made_from():
    class Ours(AdaSSP):
        pass

    model = array_model(Ours)
    assert model.certificate_.method == "AdaSSP"
    assert all(finding.ok for finding in model.certificate_.check())


# -------------------------------------------------------------------- forgeries


def people_model(**options):
    return DPLinearRegression(epsilon=1, delta=1e-6, domain=DOMAIN, **options).fit_source(people(4000), "income")


MAKERS = {
    "narrowed": lambda: people_model(stages=1),
    "staged": lambda: people_model(),
    "AdaSSP": lambda: array_model(AdaSSP),
    "AdaOPS": lambda: array_model(AdaOPS),
    "output": lambda: array_model(OutputPerturbation, shape="fisher"),
    "batches": lambda: array_model(NoisySGD, steps=3),
    "adaptive": lambda: array_model(DPLogisticRegression, adaptive=True),
    "classes": lambda: array_model(DPLogisticRegression, classes=[0, 1, 2], stages=1),
    "scored": lambda: array_model(DPLogisticRegression),
    "hinge": lambda: array_model(DPLinearSVC),
    "rates": lambda: array_model(DPPoissonRegression),
    "Poisson": lambda: array_model(DPPoissonRegression, stages=1),
    "public": lambda: array_model(ReuseCov, association="projection", neighbors="replace-one"),
}


def no_events(body):
    body["certificate"]["events"] = []


def as_if_trivial(body):
    """Nothing is promised, for nothing was read, it says."""
    body["certificate"] |= {"events": [], "method": "TrivialRegressor"}
    body["certificate"]["guarantee"] |= {"epsilon": 0.0, "delta": 0.0}


def empty_blocks(body):
    body["certificate"]["events"][-1]["blocks"] = []
    body["values"] = body.get("values", [])[:1]


def no_counts(body):
    """The bounds were narrowed by the data, it says, at no cost."""
    del body["certificate"]["events"][0]


def no_counts_of_stages(body):
    """Where the outcome lies, it says, was known for nothing."""
    body["certificate"]["events"] = [e for e in body["certificate"]["events"] if "coordinates" in e]


def turn_an_axis(body):
    """The axes are those of the stage before, which are written once."""
    *_, norms, last = body["certificate"]["events"]
    assert "P" not in last["coordinates"]
    own = last["coordinates"]["P"] = json.loads(json.dumps(norms["coordinates"]["P"]))
    own["integers"][1] = [q + 1_000_000 for q in own["integers"][1]]


def another_model_so_far(body):
    own = body["certificate"]["events"][-1]["coordinates"]["theta"]["integers"]
    own[0] = [q // 2 for q in own[0]]


def another_radius(body):
    body["certificate"]["events"][-1]["coordinates"]["radius"] *= 1.01


def another_half_width(body):
    body["certificate"]["events"][-1]["chosen"][0] -= 1


def the_first_rules(body):
    del body["certificate"]["recipe"]["rules"]
    body["format_version"] = 3


def rules_to_come(body):
    body["certificate"]["recipe"]["rules"] += 1


def as_an_older_file(body):
    the_first_rules(body)
    del body["certificate"]["recipe"]
    body["certificate"]["software"] = "discreet 0.2.0"


def other_row_norms(body):
    """All rows are in the last part."""
    (own,) = body["values"][-len(body["certificate"]["events"][-1]["blocks"]) - 1]
    own["integers"] = ["0"] * (len(own["integers"]) - 1) + [str(sum(map(int, own["integers"])))]


def less_noise_of_row_norms(body):
    norms = body["certificate"]["events"][-2]
    norms["blocks"][0]["sd"] *= 0.99


def without_row_norms(body):
    *before, _, last = body["certificate"]["events"]
    body["certificate"]["events"] = [*before, last]
    del body["values"][-len(last["blocks"]) - 1]


def another_number_of_rows(body):
    own = body["values"][0][0]["integers"]
    own[0] = str(2 * int(own[0]))


def release_without_the_last_stage(body):
    lost = body["certificate"]["events"].pop()
    body["values"] = body["values"][: -len(lost["blocks"])]


def release_without_score_products(body):
    body["certificate"]["events"][-1]["blocks"].pop()
    body["values"].pop()


def declare_wider(body):
    body["certificate"]["declared"]["columns"]["age"]["high"] = 120.0


def declare_narrower(body):
    body["certificate"]["declared"]["columns"]["income"] |= {"low": 1.0, "high": 2.0}


def declare_other_rows(body):
    body["certificate"]["declared"]["missing"] = "drop"


def lose(statistic):
    def forge(body):
        (event,) = body["certificate"]["events"]
        event["blocks"] = [block for block in event["blocks"] if block["statistic"] != statistic]

    forge.__name__ = f"lose the {statistic}"
    return forge


def lose_a_stage(body):
    body["certificate"]["events"].pop()


def lose_the_second_stage(body):
    lose_a_stage(body)
    body["weights"] = None


def lose_the_noise_of_the_norm(body):
    body["certificate"]["events"][0]["norm_sd"] = None


def lose_the_gram(body):
    body["certificate"]["events"][0]["gram_sd"] = None


def lose_the_norm(body):
    body["certificate"]["events"][0] |= {"norm_sd": None, "log_norm": None}


def careful(event):
    """An event whose figures that follow from others are what they should be."""
    event |= event_from_dict(event).to_dict()


def lower_the_norm(body):
    body["certificate"]["events"][0]["norm"] *= 0.9
    careful(body["certificate"]["events"][0])


def raise_the_norm(body):
    body["certificate"]["events"][0]["norm"] *= 1.1


def raise_the_public_norm(body):
    body["certificate"]["events"][0]["norm"] = 5.0


def another_method(body):
    body["certificate"]["method"] = "SecretSauce"


def verified_constants(body):
    body["certificate"]["method"] += " as published in wang2018"


def wider_counts(body):
    """The loss is for counts up to 4."""
    body["certificate"]["domain"]["columns"]["y"]["high"] = 40.0


def another_loss(body):
    body["certificate"]["events"][0]["loss"] = {"name": "logistic"}
    careful(body["certificate"]["events"][0])


def another_regressor(body):
    body["certificate"]["events"][0]["design"] = ["(intercept)", "x0"]


def fewer_steps(body):
    body["certificate"]["events"][0]["steps"] = 2


def lose_a_column(body):
    for block in body["certificate"]["events"][-1]["blocks"]:
        block["rows"] = [name for name in block["rows"] if name != "hours"]


def lose_the_constant(body):
    for block in body["certificate"]["events"][-1]["blocks"]:
        block["rows"] = [name for name in block["rows"] if name != "(intercept)"]


def other_classes(body):
    body["classes"] = [*body["classes"], "more"]
    for name in ("coef", "intercept"):
        body[name] = [*body[name], body[name][-1]]
    body["certificate"]["events"].append(body["certificate"]["events"][-1])


def a_wider_label(body):
    body["certificate"]["domain"]["columns"]["y"]["levels"] += [3]


# -------------------------------------------------------------------- forged steps


def steps(body):
    """The places of the events at a model."""
    events = body["certificate"]["events"]
    return [place for place, event in enumerate(events) if "link" in event.get("coordinates", ())]


def named(name):
    def rename(forge):
        forge.__name__ = name
        return forge

    return rename


def another_theta(k):
    @named(f"another theta of step {k}")
    def forge(body):
        own = body["certificate"]["events"][steps(body)[k]]["coordinates"]["theta"]["integers"]
        own[0] = [q + abs(q) // 1000 + 1000 for q in own[0]]

    return forge


def another_score(k):
    @named(f"another score of step {k}")
    def forge(body):
        before = body["certificate"]["events"][: steps(body)[k]]
        own = body["values"][sum(len(event["blocks"]) for event in before)][0]["integers"]
        own[-1] = str(int(own[-1]) + max(abs(int(q)) for q in own))

    return forge


def less(sd):
    """Less noise, of about the same size: that of the grid of values follows from the power of two."""
    return max(0.99 * sd, 2.0 ** math.floor(math.log2(sd)) + 1e-4 * sd)


def another_sd(k):
    """The sd of one step, with the mu that follows from it."""

    @named(f"another sd of step {k}")
    def forge(body):
        event = body["certificate"]["events"][steps(body)[k]]
        sd, event["blocks"][0]["sd"] = event["blocks"][0]["sd"], less(event["blocks"][0]["sd"])
        event["mu"] *= sd / event["blocks"][0]["sd"]

    return forge


def less_noise(k):
    @named(f"less noise of step {k}")
    def forge(body):
        block = body["certificate"]["events"][steps(body)[k]]["blocks"][0]
        block["sd"] = less(block["sd"])

    return forge


def lose_a_step(k):
    @named(f"lose step {k}")
    def forge(body):
        events, place = body["certificate"]["events"], steps(body)[k]
        first = sum(len(event["blocks"]) for event in events[:place])
        del body["values"][first : first + len(events[place]["blocks"])]
        del events[place]

    return forge


def another_corner(body):
    for place in steps(body):
        body["certificate"]["events"][place]["coordinates"]["width"] *= 1.1


def other_coefficients(body):
    body["coef"] = [[1.1 * value for value in own] for own in body["coef"]]


def narrower_residuals(body):
    """Residuals were clipped to less, so the noise was smaller in their unit, it says."""
    own = body["certificate"]["events"][steps(body)[0]]["coordinates"]
    own["widths"] = [[0.9 * width for width in widths] for widths in own["widths"]]


FOLLOWS = "the coordinates of the model do not follow from what was released before it"
SCORED = ("scored", "hinge", "rates")
STEPS = [
    *((name, another_theta(k), FOLLOWS) for name in SCORED for k in (0, 4, -1)),
    *((name, another_score(k), FOLLOWS) for name in SCORED for k in (0, 3, 6)),
    ("hinge", another_score(-1), "the coefficients do not follow from the released values"),
    *((name, another_sd(k), "does not follow from the shares") for name in SCORED for k in (0, 6)),
    *((name, less_noise(k), "noise on U'e of a stage") for name in SCORED for k in (0, 7)),
    *((name, lose_a_step(k), "stages use all that is promised") for name in SCORED for k in (0, 5)),
    *((name, lose_a_step(-1), "stages use all that is promised") for name in SCORED),
    *((name, other_coefficients, "the coefficients do not follow") for name in SCORED),
    *((name, narrower_residuals, FOLLOWS) for name in SCORED),
    ("hinge", another_corner, FOLLOWS),
]

FORGERIES = [
    *((name, "release", forge, why) for name, forge, why in STEPS),
    ("narrowed", "results", another_method, "does not know the method 'SecretSauce'"),
    ("narrowed", "release", empty_blocks, "an event lists no statistic"),
    ("narrowed", "results", no_events, "lists nothing that was computed from data"),
    ("narrowed", "results", as_if_trivial, "lists nothing that was computed from data"),
    ("narrowed", "results", no_counts, "'income': no noisy counts are listed"),
    ("narrowed", "results", declare_wider, "'age': no noisy counts are listed"),
    ("narrowed", "results", declare_narrower, "not inside those that were declared"),
    ("narrowed", "results", declare_other_rows, "not inside those that were declared"),
    ("narrowed", "results", lose_a_stage, "the certificate lists counts"),
    ("narrowed", "results", lose_a_column, "whose products are not listed"),
    ("narrowed", "results", lose_the_constant, "whose products are not listed"),
    ("staged", "results", another_method, "does not know the method 'SecretSauce'"),
    ("staged", "results", no_counts, "those that are listed do not"),
    ("staged", "results", no_counts_of_stages, "the certificate lists counts of residuals"),
    ("staged", "results", no_events, "lists nothing that was computed from data"),
    ("staged", "results", lose_a_stage, "the certificate lists"),
    ("staged", "release", release_without_the_last_stage, "of a stage is missing"),
    (
        "staged",
        "release",
        release_without_score_products,
        "noise on counts of residuals, inner U'U, U'e, e'e of a stage",
    ),
    ("staged", "release", turn_an_axis, "the coordinates of stage 3 do not follow"),
    ("staged", "release", another_model_so_far, "the coordinates of stage 3 do not follow"),
    ("staged", "release", another_radius, "the coordinates of stage 3 do not follow"),
    ("staged", "release", another_half_width, "the half widths of stage 3 do not follow"),
    ("staged", "release", the_first_rules, "the coordinates of stage 1 do not follow"),
    ("staged", "release", rules_to_come, "no recipe of DPLinearRegression is whole"),
    ("staged", "release", as_an_older_file, "the coordinates of stage 1 do not follow"),
    ("staged", "release", other_row_norms, "the coordinates of stage 3 do not follow"),
    ("staged", "release", less_noise_of_row_norms, "noise on counts of row norms of a stage"),
    ("staged", "release", without_row_norms, "the recipe asks for counts of row norms of a stage"),
    ("staged", "results", the_first_rules, "the certificate lists counts of residuals, U'U, U'e, e'e of a stage"),
    ("staged", "release", another_number_of_rows, "range that was counted does not follow"),
    ("classes", "release", other_classes, "other classes than the outcome has"),
    ("classes", "release", a_wider_label, "other classes than the outcome has"),
    ("AdaSSP", "results", lose("eigenvalue"), "the certificate lists X'X, X'y"),
    ("AdaSSP", "results", lose("cross"), "the certificate lists least eigenvalue of X'X, X'X"),
    ("AdaSSP", "results", verified_constants, "never verified"),
    ("AdaOPS", "release", no_events, "adaptive posterior sampling is missing"),
    ("AdaOPS", "release", as_if_trivial, "lists nothing that was computed from data"),
    ("AdaOPS", "release", lose_the_noise_of_the_norm, "noise on least eigenvalue"),
    ("AdaOPS", "release", lower_the_norm, "norm of a row 1.73205, listed 1.55885"),
    ("AdaOPS", "release", another_regressor, "other regressors than the certificate lists"),
    ("output", "release", lose_the_gram, "noise on least eigenvalue"),
    ("output", "release", lose_the_norm, "noise on least eigenvalue"),
    ("batches", "release", fewer_steps, "noise on gradients of sampled batches"),
    ("batches", "release", raise_the_norm, "norm of a row 1.73205, listed 1.90526"),
    ("adaptive", "release", lose_a_stage, "other linear predictors, or stages"),
    ("adaptive", "release", lower_the_norm, "listed 1.55885"),
    ("classes", "release", lose_a_stage, "other linear predictors, or stages"),
    ("Poisson", "release", wider_counts, "smaller counts than the outcome's bounds allow"),
    ("Poisson", "release", another_loss, "no Poisson regression has the loss"),
    ("public", "release", raise_the_public_norm, "no outcomes within the bounds have a norm of 5"),
]


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """Files of each maker, made once."""
    folder, made = tmp_path_factory.mktemp("honest"), {}

    def find(name, what):
        if name not in made:
            model = made[name] = MAKERS[name]()
            model.release_.save(folder / f"{name}.release.json")
            if not isinstance(model.release_, ReleasedModel):
                model.results_.save(folder / f"{name}.results.json")
        return json.loads((folder / f"{name}.{what}.json").read_text())

    return find


@pytest.mark.parametrize(
    ("name", "what", "forge", "why"), FORGERIES, ids=[f"{name}: {forge.__name__}" for name, _, forge, _ in FORGERIES]
)
def test_a_forgery_is_found(name, what, forge, why, honest, run, tmp_path):
    body = honest(name, what)
    (tmp_path / "honest.json").write_text(json.dumps(body))
    assert run("check", "honest.json").code == 0
    forge(body)
    (tmp_path / "forged.json").write_text(json.dumps(body | {"sha256": digest(body)}))
    ran = run("check", "forged.json", "--json")
    found = json.loads(ran.out)
    assert (ran.code, found["ok"]) == (1, False)
    assert any(why in finding["what"] + " " + finding["detail"] for finding in found["findings"] if not finding["ok"])
    assert run("check", "forged.json").code == 1


def set_in(*path, to):
    def forge(body):
        *before, last = path
        for step in before:
            body = body[step]
        assert last in body
        body[last] = to

    return forge


@pytest.mark.parametrize(
    ("name", "forge"),
    [
        ("staged", set_in("unit", to="ten rows are one person")),
        ("narrowed", set_in("unit", to="ten rows are one person")),
        ("narrowed", set_in("events", -1, "blocks", 0, "exact", to=False)),
        ("Poisson", set_in("events", 0, "gradient", to=0.01)),
        ("Poisson", set_in("events", 0, "smoothness", to=0.01)),
        ("Poisson", set_in("events", 0, "one_signed", to=True)),
        ("Poisson", set_in("events", 0, "exact", to=True)),
    ],
)
def test_figures_that_follow_from_others_do(name, forge, honest, run, tmp_path):
    """Nothing is computed from them, but whoever reads the file sees them."""
    body = honest(name, "release")
    forge(body["certificate"])
    (tmp_path / "forged.json").write_text(json.dumps(body | {"sha256": digest(body)}))
    ran = run("check", "forged.json")
    assert ran.code == 2
    assert "contradicts itself" in ran.err


@pytest.mark.parametrize("name", ["two classes", "support vectors", "counts", "logistic", "Poisson"])
def test_coefficients_follow_from_the_scores_with_or_without_standard_errors(name, run, tmp_path):
    body = bodies(name)["release"]
    for times in (1.0, 2.0):
        written = body | {"coef": [[times * value for value in own] for own in body["coef"]]}
        (tmp_path / "forged.json").write_text(json.dumps(written | {"sha256": digest(written)}))
        found = json.loads(run("check", "forged.json", "--json").out)
        wrong = " ".join(finding["detail"] for finding in found["findings"] if not finding["ok"])
        assert found["ok"] == (times == 1.0)
        assert ("the coefficients do not follow from the released values" in wrong) == (times == 2.0)


def test_a_huge_cost_is_told_and_not_an_error(honest, run, tmp_path):
    body = honest("Poisson", "release")
    body["certificate"]["events"][0]["tolerance"] = 2.0**63
    (tmp_path / "forged.json").write_text(json.dumps(body | {"sha256": digest(body)}))
    ran = run("check", "forged.json", "--json")
    assert ran.code == 1
    assert json.loads(ran.out)["epsilon"] is None


# -------------------------------------------------------------------- coefficients of small units


def flip_the_slope(body):
    body["coef"][0][0] *= -1


def move_a_theta(body):
    body["inference"]["theta"][0] *= 1.01


def narrow_the_noise(body):
    body["inference"]["W"] = [[0.5 * value for value in row] for row in body["inference"]["W"]]


def narrow_one_error(body):
    """The variance of one coefficient, by a factor of 4, and nothing else."""
    T = np.array(body["inference"]["T"])
    smaller = np.linalg.solve(T, np.diag([1.0, 0.5, 1.0]) @ T)
    body["inference"]["sampling"] = (smaller @ np.array(body["inference"]["sampling"]) @ smaller.T).tolist()


@pytest.fixture(scope="module")
def in_dollars(tmp_path_factory):
    """A model whose first column is counted in small units, so that its slope is about 1e-5 of the intercept."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 200_000, 20_000), rng.uniform(-3, 3, 20_000)])
    y = rng.random(20_000) < 1 / (1 + np.exp(2 - 2e-5 * X[:, 0] - X[:, 1]))
    bounds = ([0, -3], [200_000, 3])
    model = DPLogisticRegression(
        epsilon=1, delta=1e-6, bounds_X=bounds, classes=[False, True], random_state=0, n_jobs=1
    )
    path = tmp_path_factory.mktemp("dollars") / "model.json"
    model.fit(X, y).release_.save(path, simulation=True)
    return path.read_text()


@pytest.mark.parametrize(
    ("forge", "why"),
    [
        (flip_the_slope, "the coefficients do not follow"),
        (move_a_theta, "the standard errors do not follow"),
        (narrow_the_noise, "the standard errors do not follow"),
        (narrow_one_error, "the standard errors do not follow"),
    ],
)
def test_a_small_unit_hides_no_forgery(in_dollars, forge, why, tmp_path):
    body, path = json.loads(in_dollars), tmp_path / "model.json"
    path.write_text(in_dollars)
    honest = {finding.what for finding in check_saved(load_saved(path)) if not finding.ok}
    assert "numbers of the model" not in honest
    forge(body)
    path.write_text(json.dumps(body | {"sha256": digest(body)}))
    found = [finding.detail for finding in check_saved(load_saved(path)) if finding.what == "numbers of the model"]
    assert len(found) == 1
    assert why in found[0]
