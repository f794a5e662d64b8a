"""Groups of NAPP's parameters; scikit-learn reaches their members, as in ``set_params(augmentation__n_e=None)``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator


@dataclass(kw_only=True, eq=False, repr=False)
class NappShape(BaseEstimator):  # type: ignore[misc]
    """The shape of penalties that have one.

    Parameters
    ----------
    gamma : float
        The exponent parameter of the bridge, |theta|^(2 - gamma).
    kappa : float
        The weight of the square in the elastic net, |theta| + kappa theta^2.
    knot : float
        The point where SCAD begins to bend.
    """

    gamma: float = 0.5
    kappa: float = 0.5
    knot: float = 1.0


@dataclass(kw_only=True, eq=False, repr=False)
class NappConstants(BaseEstimator):  # type: ignore[misc]
    """The constants by which the paper calibrates noise and curvature.

    Parameters
    ----------
    modulus : float, optional
        Lambda_0, the curvature that the paper requires for privacy; zeta_3/(2 (1 - share) epsilon) by default.
    slope : float, optional
        zeta_2, the largest derivative of the loss by x'theta; by default what the bounds give, for |x'theta| <= 1
        where the loss is linear regression's.
    share : float
        r, the share of epsilon for the noise; the rest is for the Jacobian.
    """

    modulus: float | None = None
    slope: float | None = None
    share: float = 0.5


@dataclass(kw_only=True, eq=False, repr=False)
class NappAugmentation(BaseEstimator):  # type: ignore[misc]
    """The augmented rows, and the iterations over them (algorithm 1).

    Parameters
    ----------
    n_e : int, optional
        The number of augmented rows; None for their limit (proposition 1).
    moor : bool
        Whether weights are the maximum of the target's and Lambda_0 (the paper's proposal) or their sum.
    selection : {None, "VS", "VS+"} or float
        The noise term: b'theta; b'|theta|; the same with b > 0; or with b > c for a number c <= 0.
    iterations : int
        The number T of iterations.
    tol : float, optional
        Stop where the loss on the augmented data changes by less than this share; by default never.
    zero : float, optional
        Coefficients are means of the last ten iterates (of the last half, if that is fewer). Those up to this size are
        set to 0, as are those whose sign changed within them; with None nothing is set to 0.
    keep_trace : bool
        In simulations only: keep the iterates (of the mapped columns) and the losses of the last run in `trace_`.
    """

    n_e: int | None = 10_000
    moor: bool = True
    selection: Any = None
    iterations: int = 80
    tol: float | None = None
    zero: float | None = 1e-3
    keep_trace: bool = False


@dataclass(kw_only=True, eq=False, repr=False)
class NappRecycling(BaseEstimator):  # type: ignore[misc]
    """The use of the budget that weights above Lambda_0 leave (algorithm 2).

    Parameters
    ----------
    retrieval : {None, "return", "recycle"}
        State a smaller epsilon, or use less noise and go on, `rounds` times at most. `retrieved_` then lists the budget
        that was retrieved in all, after each round. The intercept does not count; "return" needs a model without one.
    rounds : int
        The largest number of rounds of recycling.
    """

    retrieval: str | None = None
    rounds: int = 1
