r"""What Gaussian noise on statistics costs each row: proofs in ``docs/mathematics.md``, section 10.

Gaussian noise of sd s_b on statistic f_b makes the loss of row i Gaussian with

    mu_i^2 = sum_b |f_b(table) - f_b(table without i)|^2 / s_b^2,

exactly, blocks and stages together. With z the encoded row, x = z_X and y = z_Y, the terms are

    X'X        |x|^4                       uniform layout: (|x|^4 + sum x_j^4)/2
    X'Y        |x|^2 |y|^2
    y'y        sum y_j^4
    counts     1
    lambda_min (lambda_min(A) - lambda_min(A - x x'))^2, rounding errors added (`eigenvalue`)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.domain import Domain
from discreet.per_instance.parts import Facts, Part, parts_of, span
from discreet.per_instance.stream import Rows
from discreet.privacy import sensitivity
from discreet.privacy.events.gaussian import Block, GaussianEvent

Floats = NDArray[np.float64]


def _has_eigenvalue(event: GaussianEvent) -> bool:
    return any(block.statistic == "eigenvalue" for block in event.blocks)


@parts_of(GaussianEvent, moments=_has_eigenvalue)
def gaussian(event: GaussianEvent, facts: Facts) -> list[Part]:
    """Exact costs, block by block; under replace-one they are those of `replacement`."""
    if facts.replaces:
        from discreet.per_instance.replacement import against, worst

        return worst(event, facts) if facts.pair is None else against(event, facts, facts.pair)
    return [of_block(block, facts) for block in event.blocks]


def of_block(block: Block, facts: Facts) -> Part:
    """The exact cost of one statistic, when a row comes or goes."""
    everyone = (sensitivity.sensitivity(block, facts.domain) / block.sd) ** 2
    if block.statistic == "eigenvalue":
        spectrum = facts.spectrum(block.rows)
        X, gap = span(facts.domain.indices(block.rows)), spectrum.gaps[1] if len(spectrum.gaps) > 1 else np.inf
        move = spectrum.rise if facts.adding else spectrum.fall
        most = min(everyone, float((gap + spectrum.error) / block.sd) ** 2)  # a row that is added: at most g_2
        return Part(
            block.name, lambda rows: ((move(rows.Z[:, X]) + rows.present * spectrum.error) / block.sd) ** 2, most
        )
    column = None
    if block.statistic == "counts" and facts.domain.missing == "drop":
        column = block.columns[0]
    return Part(block.name, lambda rows: change(block, facts.domain, rows) / block.sd**2, everyone, column=column)


def change(block: Block, domain: Domain, rows: Rows) -> Floats:
    """Squared change of a sum when one row comes or goes, weighted by its noise layout so that mu^2 = change/sd^2."""
    if block.statistic == "counts":
        return rows.present
    X, Y = domain.indices(block.rows), domain.indices(block.columns)
    if block.statistic == "gram":
        square = rows.norm2(X) ** 2
        return square if block.layout == "weighted" else (square + rows.norm4(X)) / 2
    if block.statistic == "cross":
        return rows.norm2(X) * rows.norm2(Y)
    return rows.norm4(Y)
