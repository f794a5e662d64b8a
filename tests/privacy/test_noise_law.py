"""The law of the noise: a battery of tests on a million values, and wrong laws that it must reject."""

import numpy as np
import pytest
from scipy import stats

from discreet.gate.entropy import OSEntropy, SeededEntropy
from discreet.gate.noise import add_rounded_normal, rounded_normal

COUNT = 1_000_000
FIVE_SIGMA = 2 * stats.norm.sf(5)
SDS = [2.0**35, 2.0**44, 2.0**52]
MODULI = [2, 3, 16, 1024]


def two_sided(z):
    return 2 * stats.norm.sf(abs(z))


def tail_p_values(z):
    for c in (1, 2, 3, 4, 4.5, 5):
        chance = stats.norm.sf(c)
        for side, count in (("upper", np.count_nonzero(z > c)), ("lower", np.count_nonzero(z < -c))):
            yield f"{side} tail at {c}", stats.binomtest(int(count), z.size, chance).pvalue


def law_p_values(z):
    """One p-value for each property of standard normal z that is checked."""
    n = z.size
    yield "mean", two_sided(z.mean() * np.sqrt(n))
    # The known mean and variance are used throughout, which makes the standard errors exact: the variances of
    # z^2, z^3 and z^4 are 2, 15 and 96.
    yield "variance", two_sided((np.mean(z**2) - 1) * np.sqrt(n / 2))
    yield "skewness", two_sided(np.mean(z**3) * np.sqrt(n / 15))
    yield "kurtosis", two_sided((np.mean(z**4) - 3) * np.sqrt(n / 96))
    yield "Kolmogorov-Smirnov", stats.kstest(z, "norm", method="asymp").pvalue
    yield "serial correlation", two_sided(np.dot(z[1:], z[:-1]) / np.sqrt(n - 1))
    yield from tail_p_values(z)


def residue_p_values(q):
    for modulus in MODULI:
        counts = np.bincount(q % modulus, minlength=modulus)
        yield f"residues modulo {modulus}", stats.chisquare(counts).pvalue


def battery(q, scale):
    """The p-values for integers q that should be rounded normals of sd `scale`, by name."""
    return dict(law_p_values(q / scale)) | dict(residue_p_values(q))


def rejected(q, scale, threshold):
    return {name for name, p in battery(q, scale).items() if p < threshold}


def noise_alone(x, sd, source):
    """The noise of a release in units of its grid, as int64, the exponent of the grid, and the release."""
    q, m = add_rounded_normal(x, sd, source)
    return (q - (x >> m)).astype(np.int64), m, q


@pytest.mark.parametrize("sd", SDS)
def test_noise_on_zero(sd):
    noise, m, q = noise_alone(np.array([0] * COUNT, dtype=object), sd, SeededEntropy(int(sd)))
    assert 2**30 <= sd / 2**m < 2**31
    # The release is q * 2**m: that it lies on the grid is that q is made of whole numbers.
    assert all(type(value) is int for value in q)
    assert not rejected(noise, sd / 2**m, FIVE_SIGMA)


@pytest.mark.parametrize("sd", [1.37 * sd for sd in SDS])
def test_noise_on_other_values(sd):
    rng = np.random.default_rng(1)
    distinct = [(int(a) << 40) + int(b) for a, b in rng.integers(-(2**62), 2**62, size=(1000, 2))]
    x = np.array(distinct * (COUNT // 1000), dtype=object)
    noise, m, _ = noise_alone(x, sd, SeededEntropy(int(sd)))
    assert not rejected(noise, sd / 2**m, FIVE_SIGMA)


def test_noise_from_the_operating_system():
    noise, m, _ = noise_alone(np.array([0] * COUNT, dtype=object), 2.0**44, OSEntropy())
    assert not rejected(noise, 2.0**44 / 2**m, 1e-9)


def cell_p_value(values, offset, scale):
    """Chi-square of the counts of each integer against the exact probabilities of a rounded normal."""
    low, high = int(offset - 4 * scale), int(offset + 4 * scale) + 1
    edges = np.concatenate([[-np.inf], np.arange(low, high) + 0.5, [np.inf]])
    expected = np.diff(stats.norm.cdf((edges - offset) / scale)) * values.size
    counts = np.bincount(np.clip(values, low, high) - low, minlength=high - low + 1)
    return stats.chisquare(counts, expected, sum_check=False).pvalue


@pytest.mark.parametrize("scale", [1.0, 3.7])
@pytest.mark.parametrize("offset", [0.0, 0.3, 0.5, 0.97])
def test_every_cell_has_the_probability_of_its_interval(offset, scale):
    values = rounded_normal(np.full(COUNT, offset), scale, SeededEntropy(2))
    assert cell_p_value(values, offset, scale) > FIVE_SIGMA
    assert cell_p_value(values, offset - 0.02 * scale, scale) < FIVE_SIGMA
    assert cell_p_value(values, offset, 1.01 * scale) < FIVE_SIGMA


WRONG_LAWS = {
    "sd too small": (lambda z: 0.995 * z, "variance"),
    "sd too large": (lambda z: 1.005 * z, "variance"),
    "shifted": (lambda z: z + 0.01, "mean"),
    "truncated": (lambda z: np.clip(z, -4, 4), "upper tail at 4"),
    "thin far tail": (lambda z: np.where(z < -4, -3.9, z), "lower tail at 4"),
    "heavy tail": (lambda z: z + 0.06 * (z**3 - 3 * z) / 6, "kurtosis"),
    "skewed": (lambda z: z + 0.01 * (z**2 - 1), "skewness"),
    "dependent": (lambda z: np.repeat(z[::2], 2), "serial correlation"),
    "coarse steps": (lambda z: np.round(z, 1), "Kolmogorov-Smirnov"),
    "single precision": (lambda z: z.astype(np.float32).astype(np.float64), "residues modulo 16"),
}


@pytest.fixture(scope="module")
def normals():
    return np.random.default_rng(3).standard_normal(COUNT)


def test_the_battery_accepts_what_the_wrong_laws_start_from(normals):
    assert not rejected(np.rint(1.5 * 2**30 * normals).astype(np.int64), 1.5 * 2**30, FIVE_SIGMA)


@pytest.mark.parametrize("name", WRONG_LAWS)
def test_the_battery_rejects_a_wrong_law(name, normals):
    change, noticed_by = WRONG_LAWS[name]
    q = np.rint(1.5 * 2**30 * change(normals)).astype(np.int64)
    assert noticed_by in rejected(q, 1.5 * 2**30, 1e-9)


def test_the_battery_rejects_a_grid_twice_as_coarse(normals):
    q = 2 * np.rint(1.5 * 2**29 * normals).astype(np.int64)
    assert {"residues modulo 2", "residues modulo 16"} <= rejected(q, 1.5 * 2**30, 1e-9)
