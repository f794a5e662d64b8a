"""Keywords of earlier versions: they work for one more version, with a warning that gives the new name."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from discreet.errors import DiscreetWarning, ParameterError

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound="type[WithOldKeywords]")


_PACKAGE = str(Path(__file__).parents[1]) + os.sep


def warn_caller(message: str) -> None:
    """Warn at the line outside this package that led here, which is the line to change."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, DiscreetWarning, stacklevel=level)


def tell_renamed(names: Mapping[str, str]) -> None:
    """Warn once of all old names that were used; the keys are the old names, the values the new ones."""
    said = "; ".join(f"{old} {'are' if ', ' in old else 'is'} called {new} now" for old, new in names.items())
    several = len(names) > 1 or any(", " in old for old in names)
    end = "The old names still work" if several else "The old name still works"
    warn_caller(f"{said}. {end} in this version: use the new {'ones' if several else 'one'}.")


def renamed(**names: str) -> Callable[[F], F]:
    """Let a function accept old names of its keywords, and warn of them."""

    def accepting(function: F) -> F:
        @functools.wraps(function)
        def wrapper(*args: Any, **given: Any) -> Any:
            found = with_new_names(given, names)
            if told := {f"{old}=": f"{names[old]}=" for old in given if old in names}:
                tell_renamed(told)
            return function(*args, **found)

        return wrapper  # type: ignore[return-value]

    return accepting


def with_new_names(given: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Replace old keyword names by new ones; refuse both at once."""
    for old in (name for name in given if name in names):
        if names[old] in given:
            raise ParameterError(f"{old}= is the old name of {names[old]}=: give the new one alone.")
    return {names.get(name, name): value for name, value in given.items()}


def old_attribute(old: str, new: str, values: Mapping[Any, Any] | None = None) -> Any:
    """Return a property for the old name of an attribute, which warns and uses the new one.

    Old names of values, where they have changed too, are the keys of `values`.
    """
    renewed = values or {}
    former = {value: name for name, value in renewed.items()}

    def get(self: Any) -> Any:
        if not hasattr(self, new):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {new!r}")
        value = getattr(self, new)
        tell_renamed(_pair(f".{old}", f".{new}", _changed(value, former), value))
        return _changed(value, former)

    def put(self: Any, value: Any) -> None:
        tell_renamed(_pair(f".{old}", f".{new}", value, _changed(value, renewed)))
        setattr(self, new, _changed(value, renewed))

    return property(get, put, doc=f"The old name of `{new}`.")


def _changed(value: Any, names: Mapping[Any, Any]) -> Any:
    """Return another name of a value, where it has one; values that cannot be looked up have none."""
    return names.get(value, value) if isinstance(value, str) else value


def _pair(old: str, new: str, given: Any, value: Any) -> dict[str, str]:
    """Return an old and a new name for `tell_renamed`, with the value under each where it was renamed too."""
    if given is value:
        return {old: new}
    equals = "" if old.endswith("=") else "="
    return {f"{old}{equals}{given!r}": f"{new}{equals}{value!r}"}


class WithOldKeywords:
    """A mixin for estimators that accept old keywords: renamed parameters, and parameters that moved into a group.

    `accepts_old_keywords` lets the constructor accept them. A group is a small estimator of its own, so that
    ``get_params``, ``set_params(group__name=...)`` and ``clone`` reach its members.
    """

    renamed: ClassVar[Mapping[str, str]] = {}
    """Maps old names of parameters to new ones."""

    renamed_values: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """Maps old names of parameters to old and new names of their values, where these have changed too."""

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
            if not changed:
                continue
            cls._check_group(group, found.get(group), changed)
            base = found.get(group, (known or {}).get(group))
            found[group] = kind(**({} if base is None else base.get_params(deep=False)) | changed)
        return found

    @classmethod
    def _check_group(cls, group: str, given: Any, members: Mapping[str, Any]) -> None:
        """Refuse a group of another class, and one that has values for members that are also given alone."""
        kind = cls.groups[group]
        if given is not None and not isinstance(given, kind):
            raise ParameterError(f"{group} must be a {kind.__name__}, got {type(given).__name__}.")
        plain = kind()
        for name, value in members.items():
            if given is not None and getattr(given, name) not in (value, getattr(plain, name)):
                raise ParameterError(f"{name}= is given alone and in {group}=, with another value: leave out {name}=.")

    @classmethod
    def check_old(cls, name: str, value: Any) -> None:
        """Refuse a value of an old keyword that was never one of its values."""

    @classmethod
    def _renewed(cls, given: Mapping[str, Any], known: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Rename and group parameters, with one warning for all that are old."""
        for name in (name for name in given if name in cls.renamed):
            cls.check_old(name, given[name])
        values = {name: _changed(value, cls.renamed_values.get(name, {})) for name, value in given.items()}
        found = cls.grouped(with_new_names(values, cls.renamed), known)
        if told := cls._told(given, values):
            tell_renamed(told)
        return found

    @classmethod
    def _told(cls, given: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, str]:
        """Map old keywords, as they were given, to what to write now."""
        told: dict[str, str] = {}
        for name in (name for name in given if name in cls.renamed):
            told |= _pair(f"{name}=", f"{cls.renamed[name]}=", given[name], values[name])
        members = cls.members()
        for group, kind in cls.groups.items():
            if own := [name for name in given if members.get(name) == group]:
                inside = ", ".join(f"{name}=..." for name in own)
                told[", ".join(f"{name}=" for name in own)] = f"{group}={kind.__name__}({inside})"
        return told

    def set_params(self, **params: Any) -> Any:
        """Set parameters, by their names or as ``group__name``."""
        known = {group: getattr(self, group) for group in self.groups}
        found = self._renewed(params, known)
        for group in {name.partition("__")[0] for name in params if "__" in name} & self.groups.keys():
            if found.get(group, known[group]) is None:
                found[group] = self.groups[group]()
        return super().set_params(**found)  # type: ignore[misc]


def accepts_old_keywords(cls: C) -> C:
    """Let the constructor of an estimator accept old keywords; its signature shows the new ones only."""
    plain = cls.__init__

    @functools.wraps(plain)
    def begin(self: Any, *args: Any, **given: Any) -> None:
        plain(self, *args, **cls._renewed(given))

    cls.__init__ = begin  # type: ignore[method-assign]
    for old, new in cls.renamed.items():
        setattr(cls, old, old_attribute(old, new, cls.renamed_values.get(old)))
    for old, group in cls.members().items():
        setattr(cls, old, _member(old, group))
    return cls


def _member(name: str, group: str) -> Any:
    """Return a property for a parameter that moved into a group, which warns and uses the group."""

    def get(self: Any) -> Any:
        tell_renamed({f".{name}": f".{group}.{name}"})
        found = getattr(self, group)
        return getattr(self.groups[group]() if found is None else found, name)

    def put(self: Any, value: Any) -> None:
        tell_renamed({f".{name}": f".{group}.{name}"})
        setattr(self, group, self.grouped({name: value}, {group: getattr(self, group)})[group])

    return property(get, put, doc=f"The old place of `{group}.{name}`.")
