"""Docstrings as they are when the program runs, where words in braces stand for others; blocks as in Markdown."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import griffe


class Filled(griffe.Extension):
    """Takes the docstring of the object itself wherever the source has ``{parameters}`` or the like."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called by griffe for each object that it has read."""
        if obj.docstring is None:
            return
        obj.docstring.value = re.sub(r"^::\n|(?<=:):$", "", obj.docstring.value, flags=re.MULTILINE)
        if "{" not in obj.docstring.value:
            return
        found: Any = importlib.import_module(obj.module.path)
        for name in obj.path.removeprefix(obj.module.path).strip(".").split("."):
            found = getattr(found, name, None) if name else found
        if filled := inspect.getdoc(found):
            obj.docstring.value = filled
