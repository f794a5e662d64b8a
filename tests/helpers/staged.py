"""A release in two stages, as several test files need it."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
from replayed import listed
from small_table import DOMAIN, people

from discreet.core.rounding import down
from discreet.data.counts import first_pass
from discreet.data.reading import Table
from discreet.data.stages import score_products, staged
from discreet.domain.coordinates import Coordinates, Directions
from discreet.domain.unit import ROWS
from discreet.gate.coordinates import release_stage
from discreet.gate.session import Session, promised
from discreet.gate.statistics import block_noise, exact_counts, noisy_blocks
from discreet.privacy import sensitivity
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import GaussianEvent
from discreet.recipes.base import Ask, AskStage, Recipe
from discreet.recipes.methods import METHODS
from discreet.recipes.noise import StatisticRequest, calibrate, stage_blocks
from discreet.results.private_moments import PrivateMoments
from discreet.solve.axes import triangular

METHOD = "Staged"
FEATURES, TARGET = ["age", "region"], "income"
SHARES = {"counts": 0.05, "gram": 0.4, "cross": 0.5, "squares": 0.05}
WITH_ROW_NORMS = {"counts": 0.05, "lengths": 0.05, "gram": 0.35, "cross": 0.5, "squares": 0.05}
ALONE = {"lengths": 1.0}
WITH_ALL = {"counts": 0.05, "lengths": 0.05, "gram": 0.3, "cross": 0.45, "squares": 0.05, "meat": 0.1}
WIDTHS = (0.1, 0.4, 1.6)
ROW_NORMS = (1.0, 2.0, 4.0, 8.0)
LISTS = ("counts; stage: counts, gram, cross, squares; stage: counts, lengths, gram, cross, squares, meat",)
LISTS += (LISTS[0].replace("; stage: counts, lengths", "; stage: lengths; stage: counts, lengths"),)


class AsListed(Recipe):
    """A recipe that asks for the listed events, if they are those of this example."""

    name = "as listed"
    named = False

    def __init__(self, facts, events):
        object.__setattr__(self, "facts", facts)
        object.__setattr__(self, "events", events)

    def steps(self):
        for event in self.events:
            if isinstance(event, StageEvent):
                yield AskStage(event.coordinates, event.blocks, lambda counts, event=event: event.chosen)
            else:
                yield Ask(event.blocks, self.facts.domain)

    @classmethod
    def listed(cls, facts, events, options):
        return cls(facts, events) if listed(events) in LISTS else None


def known_steps(monkeypatch):
    """Let certificates of this method be complete."""
    monkeypatch.setitem(METHODS, METHOD, (AsListed.listed,))


def released(frame=None, neighbors="add-remove", random_state=None, epsilon=1.0, domain=DOMAIN, norms=False):
    """Counts of the outcome, then two stages: the second in coordinates that the first calls for, with all there is.

    With `norms`, row norms are counted before it in a release of their own, too.
    """
    table = Table.of(people(2000) if frame is None else frame, domain, 1)
    (histogram,), _ = first_pass(table, [TARGET])
    design = domain.design_names(FEATURES)
    session = Session(promised(epsilon, 1e-6, None, neighbors), METHOD, None, random_state)
    mus = [down(session.mu * math.sqrt(share)) for share in (0.1, 0.4, *([0.1, 0.4] if norms else [0.5]))]
    (block,) = calibrate([StatisticRequest("counts", (), (TARGET,), 1.0)], domain, neighbors, mus[0])
    entropy = session.charge(domain, mu=session.mu)
    values = [*noisy_blocks([exact_counts(histogram, block)], block_noise([block], ROWS), entropy)]
    events = [GaussianEvent(sensitivity.mu([block], domain, neighbors), (block,))]
    P, theta, radius, edges = np.eye(len(design)), np.zeros((len(design), 1)), 1.0, []
    for mu, shares in zip(mus[1:], (SHARES, *[ALONE] * norms, WITH_ALL), strict=True):
        stage = Coordinates.rounded(design, [TARGET], P, theta, radius, [WIDTHS], edges)
        if shares is ALONE:
            stage = replace(stage, outcomes=(), theta=Directions((), ()), widths=())
        blocks = stage_blocks(stage, shares, neighbors, mu)
        found = release_stage(
            staged(table, stage),
            blocks,
            neighbors,
            None if shares is ALONE else largest,
            entropy,
            score_products=partial(score_products, table, stage),
        )
        values, events = [*values, *found.values], [*events, found.event]
        if shares is ALONE:
            continue
        P, theta = following(found)
        radius = float(np.sqrt(len(design)) / 4)
        edges = [radius * edge for edge in ROW_NORMS]
    return PrivateMoments(session.certify(domain, *events), tuple(values))


def largest(counts):
    """The half width beyond which the noisy counts say that there is next to nothing."""
    return [int(np.argmax(np.cumsum(own[:-1]) >= 0.95 * own.sum())) for own in counts.values()]


def following(found):
    """P and theta of the next stage, from what was released."""
    stage = found.event.coordinates
    values, Q = np.linalg.eigh(found.gram)
    floor = found.sd("gram") * np.sqrt(len(values))
    b = np.array(found.event.widths) / stage.radius
    beta = Q @ (Q.T @ found.cross / np.maximum(values, floor)[:, None]) * b
    n = max(found.counts(TARGET).sum(), 1.0)
    P = stage.P.floats @ (Q / np.sqrt((np.maximum(values, 0) + 0.3 * floor) / n))
    return triangular(P), stage.theta.floats + stage.P.floats @ beta
