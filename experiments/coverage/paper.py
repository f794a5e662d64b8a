"""Coverage of what an applied paper prints beside coefficients: ``python -m experiments.coverage.paper``.

Two made-up populations, samples of 20,000 rows, each with noise of its own: *even* has normal columns and errors of one
variance, which flatters; *uneven* skewed columns and heavy-tailed errors whose variance grows. Of each: a turning point
and a ratio of coefficients (`combinations`), effects and the predicted outcome at the means of the release, a column in
`y ~ x | person`, and how often the test of a model within another one rejects what is true (`compare_f_test`, 5 %).
Panels have 4,000 persons of four rows, or of one to six of which four count; their errors go together, and columns with
the persons' own levels. Effects at the means are compared with those at the means of the sample.
"""

from __future__ import annotations

import warnings
import zlib
from typing import Any

import numpy as np
import pandas as pd

from discreet import DiscreetWarning, Domain, DPLinearRegression
from discreet.core.placeholders import Unavailable
from experiments import study
from experiments.record import report

POPULATIONS, EPSILONS, DELTA = ("even", "uneven"), (1.0, 3.0), 1e-6
ROWS, PERSONS, TIMES = 20_000, 4_000, 4
COLUMNS = {"a": (0, 10), "b": (0, 60), "s": ["u", "v", "w"], "p": (0, 1), "q": (0, 1), "y": (-50, 150)}
TEXT, WITHIN = "y ~ a + a^2 + b + a:b + C(s) + p + q", "y ~ a + a^2 + b + a:b + C(s)"
LINE = {"a": 3.0, "a^2": -0.3, "b": 0.5, "a:b": 0.02}
LEVELS = np.array([0.0, 1.0, -1.0])
PANEL = Domain({"x": (0, 20), "z": (0, 1), "y": (-60, 60)}, person="id", rows_per_person=TIMES)
SLOPES = {"x": 0.8, "z": 2.0}


def people(population: str, rng: np.random.Generator) -> pd.DataFrame:
    """A sample of rows."""
    s, nothing = rng.choice(3, ROWS, p=[0.5, 0.3, 0.2]), rng.uniform(0, 1, (ROWS, 2))
    if population == "even":
        a, b, e = rng.uniform(0, 10, ROWS), rng.normal(30, 8, ROWS), rng.normal(0, 5, ROWS)
    else:
        a, b = 10 * rng.beta(2, 4, ROWS), rng.lognormal(3, 0.4, ROWS)
        e = (2 + 0.6 * a) * rng.laplace(0, 1, ROWS)
    b = b.clip(0, 60)
    y = LINE["a"] * a + LINE["a^2"] * a**2 + LINE["b"] * b + LINE["a:b"] * a * b + LEVELS[s] + e
    table = pd.DataFrame({"a": a, "b": b, "s": np.array(["u", "v", "w"])[s], "y": y.clip(-50, 150)})
    return table.assign(p=nothing[:, 0], q=nothing[:, 1])


def panel(population: str, rng: np.random.Generator) -> pd.DataFrame:
    """A sample of persons with their rows."""
    even = population == "even"
    times = np.full(PERSONS, TIMES) if even else rng.integers(1, 7, PERSONS)
    who = np.repeat(np.arange(PERSONS), times)
    n, own = len(who), rng.normal(0, 3, PERSONS)[who]
    x = own + (rng.normal(8, 2, n) if even else rng.gamma(2, 3, n))
    x, z = x.clip(0, 20), rng.uniform(0, 1, n)
    shared = rng.normal(0, 1, PERSONS)[who] * z  # errors of a person go together
    e = rng.normal(0, 2, n) if even else (1 + 0.1 * x) * rng.laplace(0, 1, n)
    y = 2 * own + SLOPES["x"] * x + SLOPES["z"] * z + shared + e
    return pd.DataFrame({"x": x, "z": z, "y": y.clip(-60, 60), "id": who})


def effects_of(table: pd.DataFrame) -> dict[str, float]:
    """The true effects and the expected outcome at the means of a sample."""
    a, b = table["a"].mean(), table["b"].mean()
    shares = np.array([(table["s"] == level).mean() for level in "uvw"])
    line = LINE["a"] * a + LINE["a^2"] * a**2 + LINE["b"] * b + LINE["a:b"] * a * b + LEVELS @ shares
    slope = LINE["a"] + 2 * LINE["a^2"] * a + LINE["a:b"] * b
    return {"effect of a at the means": slope, "effect of b at the means": LINE["b"] + LINE["a:b"] * a, "outcome": line}


def work(cell: study.Cell) -> study.Rows:
    """For each draw and number: whether its interval is given, whether it holds the truth, and how long it is."""
    found: study.Rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        for draw in range(*cell["draws"]):
            rng = np.random.default_rng([zlib.crc32(cell["population"].encode()), draw])
            promise = {"epsilon": cell["epsilon"], "delta": DELTA, "n_jobs": 1}
            found += _of_rows(people(cell["population"], rng), promise, rng)
            table = panel(cell["population"], rng)
            model = DPLinearRegression(**promise, domain=PANEL, random_state=rng).fit_formula("y ~ x + z | id", table)
            ends = model.results_.about("bounded").conf_int()
            found += [_row(f"{name}, within persons", ends.loc[name], true) for name, true in SLOPES.items()]
    return found


def _of_rows(table: pd.DataFrame, promise: dict[str, Any], rng: np.random.Generator) -> study.Rows:
    model = DPLinearRegression(**promise, domain=Domain(COLUMNS), random_state=rng).fit_formula(TEXT, table)
    results = model.results_.about("bounded")
    said = {"turning point": "-a / (2 * a^2)", "ratio": "b / a"}
    combined, true = results.combinations(said), {"turning point": 5.0, "ratio": LINE["b"] / LINE["a"]}
    found = [_row(name, combined.conf_int().loc[name], true[name]) for name in said]
    at_means, told = results.marginal_effects("means"), effects_of(table)
    found += [_row(name, at_means.conf_int().loc[name[10]], told[name]) for name in list(told)[:2]]
    found.append(_row("outcome at the means", results.prediction_at_means().conf_int().loc["y"], told["outcome"]))
    test = results.compare_f_test(model.release_.fit(WITHIN).about("bounded"))
    known = not isinstance(test, Unavailable)
    found.append(
        {"number": "nested test", "given": known, "holds": bool(known and test.p_value >= 0.05), "length": None}
    )
    return found


def _row(name: str, ends: Any, true: float) -> dict[str, Any]:
    low, high = ends
    given = bool(np.isfinite(low) and np.isfinite(high))
    length = round(float(high - low), 6) if given else None
    return {"number": name, "given": given, "holds": bool(given and low <= true <= high), "length": length}


def table(rows: study.Rows) -> list[dict[str, Any]]:
    """One line for each number, population and epsilon."""
    lines = []
    for key in dict.fromkeys((row["number"], row["population"], row["epsilon"]) for row in rows):
        own = [row for row in rows if (row["number"], row["population"], row["epsilon"]) == key]
        given = [row for row in own if row["given"]]
        share = sum(row["holds"] for row in given) / max(len(given), 1)
        line = dict(zip(("number", "population", "epsilon"), key, strict=True)) | {"draws": len(own)}
        line |= {"given": len(given) / len(own), "coverage": share}
        line |= {"se": (share * (1 - share) / max(len(given), 1)) ** 0.5}
        lengths = [row["length"] for row in given if row["length"] is not None]
        lines.append(line | {"length": float(np.median(lengths)) if lengths else None})
    return lines


def main() -> None:
    parser = study.parser("coverage.paper", "coverage_paper", __doc__)
    parser.add_argument("--draws", type=int, default=500)
    given = parser.parse_args()
    cells = [
        {"population": population, "epsilon": epsilon, "draws": [start, min(start + 25, given.draws)]}
        for population in POPULATIONS
        for epsilon in EPSILONS
        for start in range(0, given.draws, 25)
    ]
    lines = table(study.run("coverage of a paper's numbers", cells, work, given.log, given.jobs))
    title = f"Coverage of 95 % intervals, {given.draws} draws; of the nested test, the share that it does not reject"
    report(title, list(lines[0]), lines, given.out)


if __name__ == "__main__":
    main()
