"""Which statistics a certificate lists, where changed stages differ from their recipe, and releases by older rules."""

from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pytest

from discreet.domain import CONSTANT
from discreet.families.coordinates import ModelCoordinates
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.values import ReleasedStage
from discreet.recipes.linear import Linear


def listed(events):
    """The statistics of each event: events stand between semicolons, statistics between commas."""
    return "; ".join(_words(event) for event in events)


def _words(event):
    statistics = ", ".join(dict.fromkeys(block.statistic for block in event.blocks))
    if not isinstance(event, StageEvent):
        return statistics
    own = event.coordinates
    if isinstance(own, ModelCoordinates):
        return f"model: {statistics}"
    whole = len(own.axes) == len(own.design) > 1 or own.design[0] != CONSTANT
    return f"{'stage' if whole else 'stage of the mean'}: {statistics}"


@contextmanager
def by_rules(version):
    """Linear releases in stages follow the rules of this version."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("discreet.models.linear", "discreet.drivers.release"):
            patch.setattr(f"{module}.Linear", partial(Linear, rules=version))
        yield


def staged(released):
    """Every release in the coordinates of a stage, with that of row norms alone."""
    return [ReleasedStage(event, values) for event, values in released.parts if isinstance(event, StageEvent)]


def mismatch(released, stages=None):
    """How a release differs from its recipe, if it does, where all of `staged` is changed to something else."""
    if stages is None:
        return _why(released.certificate.mismatch(released.values))
    certificate = released.certificate
    first = [event for event in certificate.events if not isinstance(event, StageEvent)]
    count = sum(len(event.blocks) for event in first)
    changed = replace(certificate, events=(*first, *(stage.event for stage in stages)))
    return _why(changed.mismatch((*released.values[:count], *(part for stage in stages for part in stage.values))))


def _why(found):
    return None if found is None else found.why
