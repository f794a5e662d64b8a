"""Noise for a stage: U'U, U'e, e'e and score products, for half widths that noisy counts of residuals may choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from discreet.core.checks import Neighbors
from discreet.data.stages import ScoreProductSums, StageSums
from discreet.gate.entropy import Entropy
from discreet.gate.statistics import block_noise, noisy_blocks
from discreet.privacy import sensitivity
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block
from discreet.privacy.values import ReleasedStage, bins, statistic
from discreet.recipes.base import Choice, Radii
from discreet.statistics.histogram import COUNTS

ReadScoreProducts = Callable[[Sequence[int], Sequence[float]], ScoreProductSums]
"""A function from the indices of the half widths, and the bounds on persons' scores, to the exact sums of scores and of
inner rows."""


def release_stage(
    sums: StageSums,
    blocks: Sequence[Block],
    neighbors: Neighbors,
    choose: Choice | None,
    entropy: Entropy,
    *,
    score_products: ReadScoreProducts | None = None,
    radii: Radii | None = None,
) -> ReleasedStage:
    """Add noise to the exact sums of a stage: first to the counts, which choose the half widths, then to the rest.

    Parameters
    ----------
    sums : StageSums
        The exact sums.
    blocks : sequence of Block
        The statistics to release; see `stage_blocks`.
    neighbors : {"add-remove", "replace-one"}
        The relation.
    choose : callable, optional
        A function from the noisy counts of each outcome, by name, to the index of its half width; without it, each
        outcome has one half width only.
    entropy : Entropy
        The words of a session that was charged with the whole stage.
    score_products : callable, optional
        A function from the chosen indices to the exact sums of scores and of inner rows, where a block needs these.
    radii : callable, optional
        A function from the noisy statistics of the first reading, by name, to the bounds on scores, where these are
        summed by person.
    """
    stage, unit = sums.coordinates, sums.domain.unit
    noise = block_noise(blocks, unit)
    early = [i for i, block in enumerate(blocks) if block.kind is COUNTS]
    last = [i for i, block in enumerate(blocks) if block.kind.second_reading]
    late = [i for i in range(len(blocks)) if i not in (*early, *last)]
    first = noisy_blocks([sums.integers(blocks[i]) for i in early], [noise[i] for i in early], entropy)
    counts = {
        name: statistic(blocks[i], values, bins(blocks[i], stage))
        for i, values in zip(early, first, strict=True)
        for name in blocks[i].columns
    }
    chosen = tuple(choose(counts)) if choose else (0,) * len(stage.outcomes)
    if last and (score_products is None or (radii is None) != unit.plain):
        raise ValueError("a block is about scores or inner rows, and nothing sums them up")
    products = score_products(chosen, ()) if last and score_products is not None and radii is None else None
    rest = noisy_blocks([sums.integers(blocks[i], chosen) for i in late], [noise[i] for i in late], entropy)
    values, score_norms = dict(zip([*early, *late], (*first, *rest), strict=True)), tuple[float, ...]()
    if last and score_products is not None and radii is not None:
        told = [i for i in late if not blocks[i].kind.counted]
        score_norms = radii({blocks[i].statistic: statistic(blocks[i], values[i]) for i in told})
        products = score_products(chosen, score_norms)
    if products is not None:
        scored = noisy_blocks([products.integers(blocks[i]) for i in last], [noise[i] for i in last], entropy)
        values |= dict(zip(last, scored, strict=True))
    event = StageEvent(sensitivity.mu(blocks, stage, neighbors), stage, tuple(blocks), chosen, score_norms)
    return ReleasedStage(event, tuple(values[i] for i in range(len(blocks))))
