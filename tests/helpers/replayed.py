"""Which statistics a certificate lists, and where changed stages differ from their recipe; for several test files."""

from dataclasses import replace

from discreet.domain import CONSTANT
from discreet.families.coordinates import ModelCoordinates
from discreet.privacy.events.coordinates import StageEvent


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


def mismatch(released, stages=None):
    """How a release whose stages are changed differs from its recipe, if it does."""
    if stages is None:
        return _why(released.certificate.mismatch(released.values))
    certificate = released.certificate
    first = [event for event in certificate.events if not isinstance(event, StageEvent)]
    count = sum(len(event.blocks) for event in first)
    changed = replace(certificate, events=(*first, *(stage.event for stage in stages)))
    return _why(changed.mismatch((*released.values[:count], *(part for stage in stages for part in stage.values))))


def _why(found):
    return None if found is None else found.why
