"""Adult, complete cases: misclassified rows of private logistic regression: ``python -m experiments.defaults.adult``.

The census sample of 30,162 training and 15,060 test rows without missing values, delta = 1e-6. The bounds are those
of the codebook: its levels, and the ranges of its codes (hours are coded up to 99, capital gains up to 99,999). The
sampling weight is left out. In one stage, and so with a pilot or with l1, penalties come from the public rule, which
knows epsilon, delta, the bounds and the number of coefficients. Each figure is the mean of repeated fits with seeded
noise, which is that of the verified release. The folder of the data is DISCREET_DATA/adult.
"""

from __future__ import annotations

import gzip
import os
import warnings
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv
from sklearn.linear_model import LogisticRegression

from discreet import DiscreetWarning, Domain, DPLogisticRegression
from discreet.data.tables import design_matrix
from experiments import study
from experiments.record import report

LEVELS = {
    "workclass": (
        "Private, Self-emp-not-inc, Self-emp-inc, Federal-gov, Local-gov, State-gov, Without-pay, Never-worked"
    ),
    "education": (
        "Bachelors, Some-college, 11th, HS-grad, Prof-school, Assoc-acdm, Assoc-voc, 9th, 7th-8th, 12th, "
        "Masters, 1st-4th, 10th, Doctorate, 5th-6th, Preschool"
    ),
    "marital_status": (
        "Married-civ-spouse, Divorced, Never-married, Separated, Widowed, Married-spouse-absent, Married-AF-spouse"
    ),
    "occupation": (
        "Tech-support, Craft-repair, Other-service, Sales, Exec-managerial, Prof-specialty, "
        "Handlers-cleaners, Machine-op-inspct, Adm-clerical, Farming-fishing, Transport-moving, "
        "Priv-house-serv, Protective-serv, Armed-Forces"
    ),
    "relationship": ("Wife, Own-child, Husband, Not-in-family, Other-relative, Unmarried"),
    "race": ("White, Asian-Pac-Islander, Amer-Indian-Eskimo, Other, Black"),
    "sex": ("Female, Male"),
    "native_country": (
        "United-States, Cambodia, England, Puerto-Rico, Canada, Germany, Outlying-US(Guam-USVI-etc), India, "
        "Japan, Greece, South, China, Cuba, Iran, Honduras, Philippines, Italy, Poland, Jamaica, Vietnam, "
        "Mexico, Portugal, Ireland, France, Dominican-Republic, Laos, Ecuador, Taiwan, Haiti, Columbia, "
        "Hungary, Guatemala, Nicaragua, Scotland, Thailand, Yugoslavia, El-Salvador, Trinadad&Tobago, Peru, "
        "Hong, Holand-Netherlands"
    ),
}
NUMBERS = {
    "age": (16, 100),
    "education_num": (1, 16),
    "capital_gain": (0, 99_999),
    "capital_loss": (0, 5_000),
    "hours_per_week": (1, 99),
}
NAMES = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
]
TARGET, POSITIVE = "income", ">50K"
DOMAIN = Domain(NUMBERS | {name: text.split(", ") for name, text in LEVELS.items()} | {TARGET: ["<=50K", POSITIVE]})
FEATURES = [*NUMBERS, *LEVELS]
DELTA, ROWS = 1e-6, 30_000
EPSILONS = (0.1, 0.3, 1.0, 3.0)
METHODS: dict[str, tuple[type, dict[str, Any]]] = {
    "logistic": (DPLogisticRegression, {}),
    "logistic, one stage": (DPLogisticRegression, {"stages": 1}),
    "logistic, adaptive": (DPLogisticRegression, {"adaptive": True}),
    "logistic, l1": (DPLogisticRegression, {"penalty": "l1"}),
}


@cache
def table(part: str) -> pa.Table:
    """Complete cases of one part, ``"train"`` or ``"test"``."""
    folder = Path(os.environ.get("DISCREET_DATA", "data")) / "adult"
    with gzip.open(folder / f"adult-{part}.csv.gz", "rt", encoding="utf-8") as file:
        lines = [line.strip().rstrip(".").replace(", ", ",") for line in file if line.count(",") == len(NAMES) - 1]
    complete = "\n".join(line for line in lines if "?" not in line)
    options = csv.ReadOptions(column_names=NAMES)
    return csv.read_csv(pa.py_buffer(complete.encode()), read_options=options).select([*FEATURES, TARGET])


def misclassified(model: Any) -> float:
    """The share of test rows whose class is predicted wrongly."""
    test = table("test")
    truth = np.array(test[TARGET].to_pylist())
    return float(np.mean(model.predict(test.select(FEATURES)) != truth))


def fit(cls: type, options: dict[str, Any], **promise: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        return cls(domain=DOMAIN, delta=DELTA, rows=ROWS, n_jobs=1, **promise, **options).fit_source(
            table("train"), TARGET, FEATURES
        )


def work(cell: study.Cell) -> study.Rows:
    """One row a fit."""
    cls, options = METHODS[cell["method"]]
    found = []
    for repeat in range(cell["repeats"]):
        seed = np.random.default_rng([cell["chunk"], repeat, round(1000 * cell["epsilon"])])
        found.append({"error": misclassified(fit(cls, options, epsilon=cell["epsilon"], random_state=seed))})
    return found


def baselines() -> list[dict[str, Any]]:
    """Scikit-learn's logistic regression, and the more frequent class for everyone."""
    train, test = (design_matrix(table(part).select(FEATURES), DOMAIN.select(FEATURES)) for part in ("train", "test"))
    y, truth = (np.array(table(part)[TARGET].to_pylist()) for part in ("train", "test"))
    scale = np.abs(train).max(axis=0).clip(1)
    free = np.mean(LogisticRegression(max_iter=5000).fit(train / scale, y).predict(test / scale) != truth)
    share = np.mean(truth == POSITIVE)
    return [{"method": name, "error": round(float(e), 4)} for name, e in (("non-private", free), ("trivial", share))]


def main() -> None:
    parser = study.parser("defaults.adult", "adult", __doc__)
    parser.add_argument("--repeats", type=int, default=20)
    given = parser.parse_args()
    cells = [
        {"method": method, "epsilon": epsilon, "chunk": chunk, "repeats": given.repeats // 4}
        for method in METHODS
        for epsilon in EPSILONS
        for chunk in range(4)
    ]
    groups = defaultdict(list)
    for row in study.run("adult", cells, work, given.log, given.jobs):
        groups[row["method"], row["epsilon"]].append(row["error"])
    lines = [
        {"method": method, "epsilon": epsilon, "repeats": len(errors), "error": round(float(np.mean(errors)), 4)}
        | {"sd": round(float(np.std(errors, ddof=1)), 4), "largest": round(max(errors), 4)}
        for (method, epsilon), errors in groups.items()
    ]
    columns = ("method", "epsilon", "repeats", "error", "sd", "largest")
    report("Adult, complete cases: misclassified share of the test rows", columns, lines + baselines(), given.out)


if __name__ == "__main__":
    main()
