"""Per-instance losses of output perturbation (docs/mathematics, 10.3 and 10.4)."""

from __future__ import annotations

import numpy as np

from discreet.core.arrays import Floats
from discreet.mechanisms.output_perturbation.event import OutputEvent, output_change, output_rounding
from discreet.mechanisms.posterior_sampling.loss import GIVEN, REPLACED, stages
from discreet.per_instance.mechanisms.gaussian import of_block
from discreet.per_instance.mechanisms.parts import LossFacts, Part, own_curve, parts_of
from discreet.per_instance.stream import EncodedRows
from discreet.privacy.events.gaussian import Block


@parts_of(OutputEvent, moments=lambda event: event.neighbors == "add-remove")
def _output(event: OutputEvent, facts: LossFacts) -> list[Part]:
    """List the two releases, X'X if released, and the coefficients: mu = sqrt(gamma) |theta - theta_-i|_A."""
    if facts.replaces:
        return own_curve(event, facts, REPLACED)
    d, found = len(event.design), stages(event, facts)
    C = np.reshape(event.root, (d, d)) if event.root else np.eye(d)
    A, error = C.T @ C, output_rounding(event)
    if event.gram_sd is not None:
        found.append(of_block(Block("gram", event.design, (), event.gram_sd), facts))

    def cost(rows: EncodedRows) -> Floats:
        moved = facts.leave_one_out(rows, event.design, event.target, event.penalty, A).shift
        return event.gamma * (moved + error * rows.present) ** 2

    return [*found, Part("coefficients", cost, event.gamma * output_change(event) ** 2, given=GIVEN)]
