"""Lower bounds on epsilon from counts of right and wrong guesses, with exact confidence.

An attacker guesses from a release which of two neighbouring tables it came from. With FP the share of releases of the
first table that are taken for the second one, and FN that of the second taken for the first, (epsilon, delta)
differential privacy means

    FP + e^epsilon FN >= 1 - delta      and      e^epsilon FP + FN >= 1 - delta,

and mu-GDP means that no test is right more often than Phi(mu/2) of the time, if both tables are equally likely. The
statistic and its threshold are fixed before the guesses that are counted, so counts are binomial, and the bounds hold
with the stated confidence however good or bad the statistic is.
"""

from __future__ import annotations

import math

from scipy.special import ndtri
from scipy.stats import beta, binom


def most(count: int, trials: int, failure: float) -> float:
    """The upper confidence limit of a probability, given a count (Clopper and Pearson, one-sided).

    Examples
    --------
    >>> round(most(0, 100, 0.05), 4), most(100, 100, 0.05)
    (0.0295, 1.0)
    """
    return 1.0 if count >= trials else float(beta.ppf(1 - failure, count + 1, trials - count))


def least(count: int, trials: int, failure: float) -> float:
    """The lower confidence limit of a probability, given a count."""
    return 1 - most(trials - count, trials, failure)


def epsilon_between(fp: float, fn: float, delta: float) -> float:
    """The lower bound on epsilon from a test with at most these error rates; 0 if they prove nothing.

    Examples
    --------
    >>> round(epsilon_between(0.1, 0.3, 0.0), 4)
    1.9459
    """
    ways = [((1 - delta - fn), fp), ((1 - delta - fp), fn)]
    return max([0.0, *(math.log(hit / miss) if miss > 0 else math.inf for hit, miss in ways if hit > 0)])


def mu_of_guesses(right: int, guesses: int, failure: float, slip: float = 0.0) -> float:
    """The lower bound on mu from the number of right guesses, half of all made on each table; 0 if they prove nothing.

    `slip` is the probability with which the promise may fail.

    The number of right guesses is a sum of Bernoulli variables of two kinds, with mean probability at most Phi(mu/2).
    More than one above its mean, the tail of such a sum is at most that of a binomial (Hoeffding 1956). Proofs use only
    that part of the tail, so the bound of Clopper and Pearson holds.

    Examples
    --------
    >>> round(mu_of_guesses(900, 1000, 0.05), 3), mu_of_guesses(500, 1000, 0.05)
    (2.38, 0.0)
    """
    return max(0.0, 2 * float(ndtri(max(least(right, guesses, failure) - slip, 0.0))))


def one_run_failure(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """An upper bound on the probability of this many right guesses, if canaries are included by independent fair coins.

    Theorem 5.2 of Steinke, Nasr and Jagielski, "Privacy auditing with one (1) training run" (2023): beta is the
    probability of at least as many successes, each with probability 1/(1 + e^-epsilon); delta adds 2 m alpha delta.

    Examples
    --------
    >>> one_run_failure(100, 50, 25, 0.0, 0.0) > 0.5
    True
    """
    chance = 1 / (1 + math.exp(-epsilon))
    total, alpha = 0.0, 0.0
    for i in range(1, right + 1) if delta > 0 else ():
        total += float(binom.pmf(right - i, guesses, chance))
        alpha = max(alpha, total / i)
    return min(1.0, float(binom.sf(right - 1, guesses, chance)) + 2 * canaries * alpha * delta)


def one_run_epsilon(canaries: int, guesses: int, right: int, delta: float, failure: float) -> float:
    """The lower bound on epsilon from the guesses of one run.

    Examples
    --------
    >>> round(one_run_epsilon(1000, 200, 180, 1e-6, 0.05), 2)
    1.8
    """
    low, high = 0.0, 1.0
    if one_run_failure(canaries, guesses, right, 0.0, delta) > failure:
        return 0.0
    while one_run_failure(canaries, guesses, right, high, delta) <= failure and high < 64:
        low, high = high, 2 * high
    while high - low > 1e-6:
        middle = (low + high) / 2
        proven = one_run_failure(canaries, guesses, right, middle, delta) <= failure
        low, high = (middle, high) if proven else (low, middle)
    return low
