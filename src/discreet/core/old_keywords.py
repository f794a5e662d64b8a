"""Keywords of earlier versions: they work for one more version, with a warning that gives the new name."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from discreet.errors import DiscreetWarning, ParameterError

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound="type[WithOldKeywords]")


_PACKAGE = str(Path(__file__).parents[1])


def tell_renamed(old: str, new: str) -> None:
    """Warn that a keyword was renamed, at the caller's line outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(
        f"{old} is called {new} now. The old name still works in this version: use the new one.",
        DiscreetWarning,
        stacklevel=level,
    )


def renamed(**names: str) -> Callable[[F], F]:
    """Let a function accept old names of its keywords, and warn of them.

    Examples
    --------
    >>> @renamed(penalty="alpha")
    ... def fit(alpha=None): return alpha
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     fit(penalty=0.5), str(told[0].message)[:31]
    (0.5, 'penalty= is called alpha= now. ')
    """

    def accepting(function: F) -> F:
        @functools.wraps(function)
        def wrapper(*args: Any, **given: Any) -> Any:
            return function(*args, **with_new_names(given, names))

        return wrapper  # type: ignore[return-value]

    return accepting


def with_new_names(given: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Replace old keyword names by new ones, with a warning for each; refuse both at once."""
    found = {name: value for name, value in given.items() if name not in names}
    for old in (name for name in given if name in names):
        if names[old] in found:
            raise ParameterError(f"{old}= is the old name of {names[old]}=: give the new one alone.")
        tell_renamed(f"{old}=", f"{names[old]}=")
        found[names[old]] = given[old]
    return found


def old_attribute(old: str, new: str) -> Any:
    """Return a property for the old name of an attribute, which warns and uses the new one."""

    def get(self: Any) -> Any:
        if not hasattr(self, new):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {new!r}")
        tell_renamed(f".{old}", f".{new}")
        return getattr(self, new)

    def put(self: Any, value: Any) -> None:
        tell_renamed(f".{old}", f".{new}")
        setattr(self, new, value)

    return property(get, put, doc=f"The old name of `{new}`.")


class WithOldKeywords:
    """A mixin for estimators that accept old keywords: renamed parameters, and parameters that moved into a group.

    `accepts_old_keywords` lets the constructor accept them. A group is a small estimator of its own, so that
    ``get_params``, ``set_params(group__name=...)`` and ``clone`` reach its members.
    """

    renamed: ClassVar[Mapping[str, str]] = {}
    """Maps old names of parameters to new ones."""

    groups: ClassVar[Mapping[str, type]] = {}
    """Maps parameters that are groups to their classes; None stands for a group of defaults."""

    @classmethod
    def members(cls) -> dict[str, str]:
        """Map each parameter inside a group to the name of the group."""
        return {name: group for group, kind in cls.groups.items() for name in kind._get_param_names()}  # type: ignore[attr-defined]

    @classmethod
    def grouped(cls, given: Mapping[str, Any], known: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Move members of groups into their groups, on top of the `known` groups or of defaults."""
        members = cls.members()
        found = {name: value for name, value in given.items() if name not in members}
        for group, kind in cls.groups.items():
            changed = {name: given[name] for name in given if members.get(name) == group}
            if changed:
                base = found.get(group, (known or {}).get(group))
                found[group] = kind(**({} if base is None else base.get_params(deep=False)) | changed)
        return found

    @classmethod
    def _renewed(cls, given: Mapping[str, Any], known: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Rename and group parameters, with a warning for each old one."""
        members = cls.members()
        for name in given:
            if name in members:
                kind = cls.groups[members[name]].__name__
                tell_renamed(f"{name}=", f"{members[name]}={kind}({name}=...)")
        return cls.grouped(with_new_names(given, cls.renamed), known)

    def set_params(self, **params: Any) -> Any:
        """Set parameters, by their names or as ``group__name``."""
        known = {group: getattr(self, group) for group in self.groups}
        return super().set_params(**self._renewed(params, known))  # type: ignore[misc]


def accepts_old_keywords(cls: C) -> C:
    """Let the constructor of an estimator accept old keywords; its signature shows the new ones only."""
    plain = cls.__init__

    @functools.wraps(plain)
    def begin(self: Any, *args: Any, **given: Any) -> None:
        plain(self, *args, **cls._renewed(given))

    cls.__init__ = begin  # type: ignore[method-assign]
    for old, new in cls.renamed.items():
        setattr(cls, old, old_attribute(old, new))
    for old, group in cls.members().items():
        setattr(cls, old, _member(old, group))
    return cls


def _member(name: str, group: str) -> Any:
    """Return a property for a parameter that moved into a group, which warns and uses the group."""

    def get(self: Any) -> Any:
        tell_renamed(f".{name}", f".{group}.{name}")
        found = getattr(self, group)
        return getattr(self.groups[group]() if found is None else found, name)

    def put(self: Any, value: Any) -> None:
        tell_renamed(f".{name}", f".{group}.{name}")
        setattr(self, group, self.grouped({name: value}, {group: getattr(self, group)})[group])

    return property(get, put, doc=f"The old place of `{group}.{name}`.")
