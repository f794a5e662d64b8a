"""The study of least squares as a table and as ``docs/results/least_squares.md``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet import __version__
from experiments.record import environment

Key = tuple[str, str, float]
Line = dict[str, Any]
COLUMNS = ("part", "data", "epsilon", "error", "d", "given", "se", "holds", "declared_se", "declared_holds", "lowest")

PAGE = """# Does it become least squares?

With enough rows for its epsilon the default is least squares of the declared table, in its predictions, its
coefficients and its standard errors. This page says how far it is from that.

Made by `python -m experiments.least_squares --page docs/results/least_squares.md --data DIR`
({date}, discreet {version}, {cpu}, {cores} cores); figures in
`experiments/results/least_squares.json`. Noise is seeded.

## Real tables

UCI sets with 900 rows or more and at most 60 columns, bounds 5 % beyond the range, {splits} splits of 90/10,
{draws} fits each. *Error* is the test error over that of least squares, both clipped to the declared range; *d* the
mean squared difference of fitted values to those of least squares of the same rows, over sigma^2 p/n, the variance that
least squares has itself: geometric means over the sets. *Given* is the share of coefficients that have an interval.
*Standard errors* are about the bounded fit and about least squares, over robust ones (HC1) without privacy: medians of
those that are given. *Holds* is how often intervals hold the coefficients of least squares of the very same rows; 100 %
would be right if noise were all.

{uci}

Set by set, the error:

{sets}

The largest step up from one epsilon to the next is {step}.

*elevators* does not come nearer at any epsilon, and its d grows from 99 to 221. One combination of its columns varies
by a millionth of half their bounds only, far below any noise here, and 2 % of the outcome's variance goes along with
it: least squares without that direction is 10 % off as well.

## Tables that others published figures on

{published}

## Made-up people

Samples from populations of 100,000, {samples} each; n is 10,000, and 30,000 for *cubic*. *normal* flatters every
method; *spending* has 30 % zeros and log-normal outcomes whose spread grows with illness; *far* has three rows in a
thousand far out and two columns that nearly say the same; *uneven* has heavy-tailed errors whose spread grows; *groups*
has levels of 1 % and of 0.1 % of the rows, and one without any; *cubic* is the log-wage equation of Barrientos et al.
2024. *Lowest* and *highest* are over the coefficients, of those with an interval in a fifth of the samples or more; a
share has a standard error of {error} points. *Without privacy* is the coefficient that robust intervals (HC1) of the
same samples hold least often: far rows and skewed outcomes make it low. Intervals about least squares hold more often
than 95 % where much is cut: they allow for a bias that these populations mostly do not have
([mathematics](../mathematics/06-inference.md), 6.7).

{made_up}

The summary's intervals for the residual sd, R^2 and the mean outcome of the very table, at 95 %, hold it in this share
of the samples:

{tables}

*Overlap* for *cubic*: the mean share of our interval about the bounded fit, and of that of least squares, that lies in
both, by coefficient: {overlap}.

Standard errors of the level of 1 % in *groups*, over HC1: {rare}. The coefficient of the level without rows has a
standard deviation of {nobody} over the samples (effects of levels are at most 3).
"""


def line(key: Key, rows: Sequence[Line]) -> Line:
    """The figures of one table at one epsilon."""
    part, data, epsilon = key
    found: Line = {"part": part, "data": data, "epsilon": epsilon, "fits": len(rows)}
    return found | (_of_samples(rows) if part == "made up" else _of_real(rows))


def _of_real(rows: Sequence[Line]) -> Line:
    found: Line = {"splits": len({row["split"] for row in rows})}
    found |= {name: _geometric(row[name] for row in rows) for name in ("error", "d")}
    found |= {
        name: float(np.mean([row[name] for row in rows])) for name in ("r2", "r2_least", "relative", "relative_least")
    }
    for about, prefix in (("bounded", ""), ("declared", "declared_")):
        own = [row[about] for row in rows]
        ratios = [ratio for one in own for ratio in one["ratios"]]
        held = [one["holds"] for one in own if one["holds"] is not None]
        found |= {
            f"{prefix}given": float(np.mean([one["given"] for one in own])),
            f"{prefix}se": float(np.median(ratios)) if ratios else None,
            f"{prefix}se_most": float(np.mean([max(one["ratios"]) for one in own if one["ratios"]]))
            if ratios
            else None,
            f"{prefix}holds": float(np.mean(held)) if held else None,
        }
    return found


def _of_samples(rows: Sequence[Line]) -> Line:
    found: Line = {}
    for about, prefix in (("bounded", ""), ("declared", "declared_")):
        holds = np.array([row[about]["holds"] for row in rows], dtype=float)
        ratios = np.array([row[about]["ratios"] for row in rows], dtype=float)
        overlap = np.array([row[about]["overlap"] for row in rows], dtype=float)
        given = np.isfinite(holds).mean(axis=0)
        often = given >= 0.2
        by_coefficient = np.nanmean(holds[:, often], axis=0)
        found |= {
            f"{prefix}given": float(given.mean()),
            f"{prefix}holds": float(by_coefficient.mean()),
            f"{prefix}lowest": float(by_coefficient.min()),
            f"{prefix}highest": float(by_coefficient.max()),
            f"{prefix}se": float(np.median(np.nanmedian(ratios[:, often], axis=0))),
            f"{prefix}ratios": np.nanmedian(np.where(often, ratios, 0.0), axis=0).round(3).tolist(),
            f"{prefix}overlap": np.nanmean(np.where(often, overlap, 0.0), axis=0).round(3).tolist(),
        }
    coef_sd = np.std([row["coef"] for row in rows], axis=0).round(4).tolist()
    table = np.nanmean(np.array([row["table"] for row in rows], dtype=float), axis=0).round(4).tolist()
    lowest = float(np.mean([row["hc1"] for row in rows], axis=0).min())
    return found | {"coef_sd": coef_sd, "hc1_lowest": lowest, "table": table}


def _geometric(values: Any) -> float:
    return math.exp(float(np.mean([math.log(value) for value in values])))


# ---------------------------------------------------------------- the page


def write(lines: Sequence[Line], path: Path) -> None:
    """Write the page."""
    parts = {part: [one for one in lines if one["part"] == part] for part in ("uci", "published", "made up")}
    uci, made, where = parts["uci"], parts["made up"], environment()
    groups = [one for one in made if one["data"] == "groups"]
    cubic = [one for one in made if one["data"] == "cubic"]
    samples = made[0]["fits"]
    path.write_text(
        PAGE.format(
            date=where["date"][:10],
            version=__version__,
            cpu=where["cpu"],
            cores=where["cpu_count"],
            splits=uci[0]["splits"] if uci else 0,
            draws=uci[0]["fits"] // uci[0]["splits"] if uci else 0,
            uci=_uci(uci),
            sets=_sets(uci),
            step=_step(uci),
            published=_published(parts["published"]),
            samples=samples,
            error=f"{100 * math.sqrt(0.95 * 0.05 / samples):.1f}",
            made_up=_made_up(made),
            tables=_tables(made),
            overlap="; ".join(f"epsilon {one['epsilon']:g}: {_list(one['overlap'])}" for one in cubic),
            rare="; ".join(f"epsilon {one['epsilon']:g}: {one['ratios'][4]:.2f}" for one in groups),
            nobody=", ".join(f"{one['coef_sd'][-1]:.2f} at epsilon {one['epsilon']:g}" for one in groups),
        ),
        encoding="utf-8",
    )


def _list(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _text(value: float | None, digits: int = 3) -> str:
    return "" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def _percent(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else f"{100 * value:.1f}"


def _by(lines: Sequence[Line], name: str) -> dict[Any, list[Line]]:
    found: dict[Any, list[Line]] = {}
    for one in lines:
        found.setdefault(one[name], []).append(one)
    return found


def _uci(lines: Sequence[Line]) -> str:
    head = (
        "epsilon",
        "error",
        "d",
        "given, %",
        "standard errors, bounded",
        "least squares",
        "holds, bounded, %",
        "least squares, %",
    )
    rows = []
    for epsilon, own in _by(lines, "epsilon").items():
        means = [
            np.mean([one[name] for one in own if one[name] is not None])
            for name in ("given", "holds", "declared_holds")
        ]
        medians = [np.median([one[name] for one in own if one[name] is not None]) for name in ("se", "declared_se")]
        error, d = (_geometric(one[name] for one in own) for name in ("error", "d"))
        rows.append(
            [
                f"{epsilon:g}",
                _text(error),
                _text(d, 2),
                _percent(means[0]),
                *map(_text, medians),
                *map(_percent, means[1:]),
            ]
        )
    return _table(head, rows)


def _sets(lines: Sequence[Line]) -> str:
    epsilons = list(_by(lines, "epsilon"))
    rows = [[name, *(_text(one["error"]) for one in own)] for name, own in _by(lines, "data").items()]
    return _table(["set", *(f"epsilon {epsilon:g}" for epsilon in epsilons)], rows)


def _step(lines: Sequence[Line]) -> str:
    steps = [
        (after["error"] / before["error"] - 1, name, after["epsilon"])
        for name, own in _by(lines, "data").items()
        for before, after in itertools.pairwise(own)
    ]
    size, name, epsilon = max(steps, default=(0.0, "", 0.0))
    return f"{100 * size:.1f} % ({name}, to epsilon {epsilon:g})"


_BESIDE = {
    "diamonds": ("R^2", "r2", "R^2 0.828 (tuned DP-SGD), 0.307 (TukeyEM) at epsilon ln 3: Amin et al. 2023"),
    "air": ("relative MSE", "relative", "0.450 to 0.463 (BinAgg, Lin et al. 2026), 0.682 (AdaSSP) at mu = 1"),
    "cps": ("R^2", "r2", "standard errors 300 times those of least squares at epsilon 10 (dp-statsmodels)"),
}


def _published(lines: Sequence[Line]) -> str:
    head = (
        "table",
        "epsilon",
        "figure",
        "ours",
        "least squares",
        "error",
        "standard errors, bounded",
        "least squares",
        "published",
    )
    rows = []
    for one in lines:
        words, name, others = _BESIDE[one["data"]]
        figures = _text(one[name]), _text(one[f"{name}_least"]), _text(one["error"])
        rows.append(
            [
                one["data"],
                f"{one['epsilon']:.4g}",
                words,
                *figures,
                _text(one["se"], 2),
                _text(one["declared_se"], 2),
                others,
            ]
        )
    return _table(head, rows)


def _tables(lines: Sequence[Line]) -> str:
    head = ("population", "epsilon", "residual sd, %", "R^2, %", "mean outcome, %")
    return _table(head, [[one["data"], f"{one['epsilon']:g}", *map(_percent, one["table"])] for one in lines])


def _made_up(lines: Sequence[Line]) -> str:
    head = ("population", "epsilon", "given, %", "bounded: holds, %", "lowest", "highest", "standard errors")
    head = (*head, "least squares: holds, %", "lowest", "highest", "standard errors", "without privacy: lowest")
    rows = []
    for one in lines:
        row = [one["data"], f"{one['epsilon']:g}", _percent(one["given"])]
        for prefix in ("", "declared_"):
            row += [_percent(one[f"{prefix}{name}"]) for name in ("holds", "lowest", "highest")] + [
                _text(one[f"{prefix}se"], 2)
            ]
        rows.append([*row, _percent(one["hc1_lowest"])])
    return _table(head, rows)
