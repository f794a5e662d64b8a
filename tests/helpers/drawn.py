"""Draws from the operating system, as a test may watch them: by the auditing event that each of them raises."""

import sys
from contextlib import contextmanager

from discreet.gate.entropy import DRAWN

_CALLS = []


def _heard(event, _):
    if event == DRAWN:
        for call in _CALLS:
            call()


sys.addaudithook(_heard)


@contextmanager
def each_draw(call):
    """Call a function before every draw, in whatever thread it is."""
    _CALLS.append(call)
    try:
        yield
    finally:
        _CALLS.remove(call)


@contextmanager
def no_draw():
    """Let every draw fail."""

    def refuse():
        raise AssertionError("random words were drawn")

    with each_draw(refuse):
        yield
