"""Per-instance losses of aggregated blocks: the certificate's own bound (``docs/mathematics``, 10.8).

The block of a row, and the other rows in it, are random and secret.
"""

from __future__ import annotations

from discreet.mechanisms.subsample_aggregate.event import AggregateEvent
from discreet.per_instance.mechanisms.parts import LossFacts, Part, own_curve, parts_of


@parts_of(AggregateEvent)
def _aggregate(event: AggregateEvent, facts: LossFacts) -> list[Part]:
    """Use the certificate's bound, since the change of a block's coefficients depends on its other rows."""
    return own_curve(event, facts, "the certificate's own bound for everybody, for blocks are random and secret")
