"""The papers whose published constants `published=` can name: one table for keys, citations and messages.

Versions before 0.3, and the certificates in their files, name papers by shelf marks; only this module knows these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.core.old_keywords import warn_caller


@dataclass(frozen=True)
class Paper:
    """A paper, or the code of its authors: its key in ``published=``, its shelf mark, and the citation."""

    key: str
    mark: str
    authors: str
    year: int
    title: str

    def __str__(self) -> str:
        return f'{self.authors}, "{self.title}", {self.year}'


_WANG2018 = (
    "Y.-X. Wang",
    2018,
    "Revisiting differentially private linear regression: optimal and adaptive prediction & estimation in unbounded "
    "domain",
)
PAPERS = (
    Paper("wang2018", "000", *_WANG2018),
    Paper("wang2018-code", "000-code", "Code of " + _WANG2018[0], *_WANG2018[1:]),
    Paper(
        "wang2017",
        "001",
        "Y.-X. Wang",
        2017,
        "Per-instance differential privacy and the adaptivity of posterior sampling in linear and ridge regression",
    ),
    Paper(
        "li2021",
        "002",
        "Y. Li and F. Liu",
        2021,
        "Noise-augmented privacy-preserving empirical risk minimization with dual-purpose regularizer and privacy "
        "budget retrieval and recycling",
    ),
    Paper(
        "piazza2021",
        "003",
        "T. Piazza",
        2021,
        "Differentially private ridge regression: the cost of a hyperparameter",
    ),
    Paper("neel2023", "004", "S. Neel", 2023, "Private regression in multiple outcomes (PRIMO)"),
)
_PUBLISHED = " as published in "
_KEYS = {paper.mark: paper.key for paper in PAPERS}


def key_of(value: Any) -> Any:
    """Return the key of a paper, given its key or shelf mark; any other value is returned unchanged."""
    return _KEYS.get(value, value) if isinstance(value, str) else value


def is_known(name: str) -> bool:
    """Whether a paper has this key or shelf mark.

    Examples
    --------
    >>> is_known("wang2018"), is_known("000"), is_known("wang2019")
    (True, True, False)
    """
    return name in _KEYS or name in _KEYS.values()


def as_published(method: str, key: str | None) -> str:
    """Return the name of a method with the published constants of a paper, as in certificates."""
    return method if key is None else f"{method}{_PUBLISHED}{key}"


def method_and_paper(method: str) -> tuple[str, str | None]:
    """Return the method that a certificate names, and the key of the paper whose constants it uses, if any."""
    name, published, paper = method.partition(_PUBLISHED)
    return name, key_of(paper) if published else None


def tell_old_key(parameter: str, value: Any) -> None:
    """Warn that a paper is named by its shelf mark, and give its key."""
    if (key := key_of(value)) is not value:
        warn_caller(f'{parameter}="{value}" is the old name of {parameter}="{key}": use the new one.')
