"""What the arguments of the command line stand for."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.domain import Domain
from discreet.errors import ParameterError
from discreet.formula import Model, formula
from discreet.released import PrivateMoments


def split(names: str | None) -> list[str]:
    """Names that are separated by commas.

    Examples
    --------
    >>> split("age, sex")
    ['age', 'sex']
    """
    return [name.strip() for name in names.split(",") if name.strip()] if names else []


def stem(data: Path) -> str:
    """The name of a file or folder without its ending.

    Examples
    --------
    >>> stem(Path("folder/people.csv.gz"))
    'people'
    """
    return data.stem.removesuffix(".csv")


def chosen(domain: Domain, target: str | None, features: list[str], text: str | None) -> Model:
    """The columns, the outcome and the features that options or a formula name."""
    if text is None:
        return Model(domain, target, features)
    if target is not None or features:
        raise ParameterError("Give either --formula, or --target and --features.")
    return formula(text, domain)


def outcome_of(model: Model) -> str:
    """The outcome, which must be named."""
    if model.target is None:
        raise ParameterError("Name the outcome, with --target or left of '~' in --formula.")
    return model.target


def all_outcomes(released: PrivateMoments, target: str | None, formula: str | None, model: str) -> bool:
    """Whether a release names several outcomes and none is asked for."""
    named = [name for block in released.blocks if block.statistic == "cross" for name in block.columns]
    return target is None and formula is None and model == "noise-aware" and len(named) > 1


def free(path: Path, force: bool) -> Path:
    """A place where the result can be written: asked before any budget is spent."""
    if path.exists() and not force:
        raise ParameterError(f"{path} exists already. Name another file with --out, or replace it with --force.")
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ParameterError(f"Cannot write {path}: it or its folder is no place for a file. Name another with --out.")
    return path
