"""The noise kernel against an independent computation in mpmath, word by word."""

import copy
import math
import pickle
import subprocess
import sys
import threading

import mpmath
import numpy as np
import pytest
from listed_words import Listed
from scipy.special import ndtri

from discreet.errors import ParameterError
from discreet.gate import noise
from discreet.gate.entropy import NO_NOISE, Entropy, OSEntropy, SeededEntropy, entropy
from discreet.gate.noise import NDTRI_ABSOLUTE, NDTRI_RELATIVE, add_rounded_normal, rounded_normal
from discreet.privacy.events.gaussian import grid_exponent

TOP = 2**63
FULL = 2**64 - 1


@pytest.fixture
def settled_slowly(monkeypatch):
    """The list of guesses that went to the slow path."""
    calls = []
    settle = noise._settle
    monkeypatch.setattr(noise, "_settle", lambda value, guess: calls.append(guess) or settle(value, guess))
    return calls


def quantile(p):
    """The normal quantile of p <= 1/2, by Newton's method on the logarithm of the distribution function."""
    z = -mpmath.sqrt(-2 * mpmath.log(p)) if p < 1e-3 else mpmath.mpf(float(ndtri(float(p))))
    for _ in range(200):
        cdf = mpmath.ncdf(z)
        step = mpmath.log(cdf / p) * cdf / mpmath.npdf(z)
        z -= step
        if abs(step) < mpmath.ldexp(1, -mpmath.mp.prec // 2 - 8):
            return z
    raise AssertionError("Newton's method did not converge")


def reference(words, offset, scale):
    """The integer nearest to offset + scale * Z, where all given words, but no more, are digits of P."""
    sign = -1 if words[0] >= TOP else 1
    digits = words[0] % TOP
    for word in words[1:]:
        digits = digits << 64 | word
    with mpmath.workprec(64 * len(words) + 160):
        unit = mpmath.ldexp(1, -64 * len(words))
        ends = [digits * unit, (digits + 1) * unit]
        values = [offset - sign * scale * quantile(p) for p in ends if p]
        rounded = {int(mpmath.floor(value + 0.5)) for value in values}
    assert len(rounded) == 1, "the words given do not settle the value"
    return rounded.pop()


def one(words, offset, scale):
    return int(rounded_normal([offset], scale, Listed(*words))[0])


def offset_near_half(words, scale):
    """The double in [0, 1) that brings the value nearest to a half-integer."""
    sign = -1 if words[0] >= TOP else 1
    with mpmath.workprec(300):
        p = (2 * (words[0] % TOP) + 1) * mpmath.ldexp(1, -65)
        missing = mpmath.mpf(1) / 2 + sign * scale * quantile(p)
        return min(float(missing - mpmath.floor(missing)), math.nextafter(1.0, 0.0))


def further_word(words, offset, scale, k):
    """The word after the given ones whose interval holds the boundary k + 1/2."""
    sign = -1 if words[0] >= TOP else 1
    digits = words[0] % TOP
    for word in words[1:]:
        digits = digits << 64 | word
    with mpmath.workprec(64 * len(words) + 300):
        boundary = mpmath.ncdf(-sign * (mpmath.mpf(k) + 0.5 - offset) / scale)
        return int(mpmath.floor(mpmath.ldexp(boundary, 64 * len(words) + 64))) - (digits << 64)


def test_random_words_agree_with_mpmath():
    rng = np.random.default_rng(1)
    for scale in (1.0, 3.7, 2.0**30, 1.7 * 2.0**30, 2.0**40 - 1):
        words = rng.integers(0, 2**64, size=200, dtype=np.uint64)
        offsets = rng.random(200)
        got = rounded_normal(offsets, scale, Listed(*words.tolist(), *[FULL // 3] * 20))
        expected = [reference([w, FULL // 3], o, scale) for w, o in zip(words.tolist(), offsets, strict=True)]
        assert got.tolist() == expected


@pytest.mark.parametrize("sign", [0, TOP])
@pytest.mark.parametrize("scale", [1.0, 1.5 * 2.0**30, 2.0**40 - 1])
@pytest.mark.parametrize("digits", [0, 1, 2, 3, 100, 5000, 2**20 + 1, 2**40, 2**53 + 1, TOP - 2**40, TOP - 2, TOP - 1])
def test_extreme_words(digits, scale, sign):
    for offset in (0.0, 2.0**-53, 0.25, 0.5, math.nextafter(1.0, 0.0)):
        for more in ([0, 0, 1, 5, 9], [12345, 6, 7, 8, 9], [FULL, FULL, 5, 5, 5]):
            words = [digits + sign, *more]
            assert one(words, offset, scale) == reference(words, offset, scale)


def test_small_digits_on_both_paths(settled_slowly):
    rng = np.random.default_rng(2)
    for digits in range(1, 200):
        words = [digits, *rng.integers(0, 2**64, size=2, dtype=np.uint64).tolist()]
        offset = float(rng.random())
        assert one(words, offset, 1.0) == reference(words, offset, 1.0)
    assert 2 <= len(settled_slowly) <= 100


def test_zero_digits_always_take_the_slow_path(settled_slowly):
    values = {one([0, word, 9, 9], 0.3, 2.0**30) for word in (0, 1, 2**20, 2**63)}
    assert len(settled_slowly) == 4
    assert len(values) == 4
    assert min(values) > 9 * 2**30


def near_half_cases(n):
    rng = np.random.default_rng(3)
    for word in rng.integers(0, 2**64, size=n, dtype=np.uint64).tolist():
        scale = float(rng.uniform(2**30, 2**31))
        yield word, scale, offset_near_half([word], scale)


def test_values_next_to_a_half_integer_take_the_slow_path(settled_slowly):
    seen = set()
    for count, (word, scale, offset) in enumerate(near_half_cases(60), start=1):
        low, high = sorted(one([word, more, 1], offset, scale) for more in (0, FULL))
        assert len(settled_slowly) == 2 * count
        for more in (0, FULL):
            assert one([word, more, 1], offset, scale) == reference([word, more, 1], offset, scale)
        assert high - low <= 1
        seen.add(high - low)
        del settled_slowly[2 * count :]
    assert 1 in seen


def test_the_second_and_third_words_decide():
    decided = 0
    for word, scale, offset in near_half_cases(30):
        low, high = sorted(one([word, more, 1], offset, scale) for more in (0, FULL))
        if low == high:
            continue
        second = further_word([word], offset, scale, low)
        third = further_word([word, second], offset, scale, low)
        for words in ([word, second, third, 0], [word, second, third, FULL]):
            assert one([*words, 7], offset, scale) == reference(words, offset, scale)
        answers = {one([word, second, third, more], offset, scale) for more in (0, FULL)}
        assert answers == {low, high}
        decided += 1
    assert decided > 10


@pytest.mark.parametrize("distance", [-4e-5, -8e-6, -2e-6, 2e-6, 8e-6, 4e-5])
def test_values_around_the_edge_of_the_error_bound(distance):
    for word, scale, offset in near_half_cases(60):
        shifted = (offset + distance) % 1.0
        assert one([word, 5], shifted, scale) == reference([word, 5], shifted, scale)


def edge_cases():
    """Words and offsets that put the value a share of ndtri's allowed error away from a half-integer."""
    rng = np.random.default_rng(12)
    middle = rng.integers(0, 2**64, size=60, dtype=np.uint64).tolist()
    small = [TOP - 2**k for k in range(20, 61, 4)] + [2 * TOP - 2**k for k in range(20, 61, 4)]
    tail = [2**k + 12345 for k in range(50, 62)]
    for word in middle + small + tail:
        scale = float(rng.uniform(2**30, 2**31))
        allowed = scale * (NDTRI_RELATIVE * abs(float(ndtri((word % TOP) / 2**64))) + NDTRI_ABSOLUTE)
        for share in (-0.6, -0.3, -0.1, 0.1, 0.3, 0.6):
            yield [word, 5, 5], (offset_near_half([word], scale) + share * allowed) % 1.0, scale


@pytest.mark.parametrize("direction", [-1, 1])
def test_an_ndtri_that_uses_up_its_allowed_error_changes_nothing(direction, monkeypatch):
    # The error of the real ndtri, below 1e-15, comes on top.
    def poor(p):
        z = ndtri(p)
        return z + direction * (0.75 * NDTRI_RELATIVE * np.abs(z) + 0.95 * NDTRI_ABSOLUTE)

    monkeypatch.setattr(noise, "ndtri", poor)
    for words, offset, scale in edge_cases():
        assert one(words, offset, scale) == reference(words, offset, scale)


def test_these_tests_notice_a_missing_error_bound(monkeypatch):
    for name in ("_SLOPE", "_FLOOR", "_UNRESOLVED"):
        monkeypatch.setattr(noise, name, 0.0)
    wrong = [
        one([word, more], offset, scale) != reference([word, more], offset, scale)
        for word, scale, offset in near_half_cases(30)
        for more in (0, FULL)
    ]
    assert any(wrong)


def test_ndtri_keeps_the_assumed_bound():
    rng = np.random.default_rng(4)
    p = np.concatenate(
        [
            [2.0**-64, 0.5, math.nextafter(0.5, 0.0), math.exp(-2), math.exp(-32)],
            2.0 ** rng.uniform(-64, -1, 1500),
            rng.uniform(0, 0.5, 1000),
            0.5 - 10.0 ** rng.uniform(-16, -1, 500),
            math.exp(-2) * (1 + rng.uniform(-0.01, 0.05, 500)),
            math.exp(-32) * (1 + rng.uniform(-0.01, 0.01, 200)),
        ]
    )
    with mpmath.workprec(160):
        for one_p, got in zip(p.tolist(), ndtri(p).tolist(), strict=True):
            z = quantile(mpmath.mpf(one_p))
            assert abs(got - z) <= NDTRI_RELATIVE * abs(z) + NDTRI_ABSOLUTE, one_p


def test_shapes_and_scales_broadcast():
    offsets = np.random.default_rng(5).random((3, 4))
    scales = np.array([1.0, 2.0**10, 2.0**20, 2.0**30])
    got = rounded_normal(offsets, scales, SeededEntropy(6))
    words = SeededEntropy(6).words(12).reshape(3, 4)
    expected = [[reference([int(words[i, j])], offsets[i, j], scales[j]) for j in range(4)] for i in range(3)]
    assert got.dtype == np.int64
    assert got.tolist() == expected
    assert rounded_normal(np.empty((0, 3)), 2.0, SeededEntropy(0)).shape == (0, 3)


def test_chunks_do_not_change_the_values(monkeypatch):
    offsets = np.random.default_rng(7).random(1000)
    whole = rounded_normal(offsets, 2.0**20, SeededEntropy(8))
    monkeypatch.setattr(noise, "_CHUNK", 7)
    assert (rounded_normal(offsets, 2.0**20, SeededEntropy(8)) == whole).all()


@pytest.mark.parametrize(
    ("offset", "scale"),
    [(1.0, 2.0), (-1e-9, 2.0), (math.nan, 2.0), (0.5, 0.5), (0.5, 2.0**40), (0.5, math.nan)],
)
def test_offsets_and_scales_out_of_range(offset, scale):
    with pytest.raises(ParameterError, match="offset must lie in"):
        rounded_normal([0.1, offset], scale, SeededEntropy(0))


def test_slow_path_leaves_the_precision_of_mpmath_alone_and_works_in_threads():
    before = mpmath.mp.prec
    word, scale, offset = next(near_half_cases(1))
    expected = one([word, 0, 1], offset, scale)
    got = []
    threads = [threading.Thread(target=lambda: got.append(one([word, 0, 1], offset, scale))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [expected] * 8
    assert mpmath.mp.prec == before


def test_mpmath_is_imported_only_by_the_slow_path():
    code = (
        "import sys; from discreet.gate.entropy import *; from discreet.gate.noise import *;"
        "rounded_normal([0.2], 1.0, SeededEntropy(0));"
        "assert 'mpmath' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_noise_rounds_halves_up():
    below_half = math.nextafter(0.5, 0.0)
    got = rounded_normal([0.0, below_half, 0.5, math.nextafter(1.0, 0.0)], 2.0**30, NO_NOISE)
    assert got.tolist() == [0, 0, 1, 1]
    with pytest.raises(ParameterError, match="NO_NOISE"):
        NO_NOISE.words(1)


def test_no_noise_is_one_object():
    assert copy.deepcopy(NO_NOISE) is NO_NOISE
    assert pickle.loads(pickle.dumps(NO_NOISE)) is NO_NOISE
    assert repr(NO_NOISE) == "NO_NOISE"


def test_seeds_repeat_and_the_system_does_not():
    x = np.array([0] * 20, dtype=object)
    first, second = (add_rounded_normal(x, 2.0**40, entropy(9))[0] for _ in range(2))
    assert first.tolist() == second.tolist()
    assert first.tolist() != add_rounded_normal(x, 2.0**40, entropy(10))[0].tolist()
    first, second = (add_rounded_normal(x, 2.0**40, entropy(None))[0] for _ in range(2))
    assert not set(first) & set(second)


def test_a_seeded_source_goes_on():
    source = SeededEntropy(1)
    assert not set(source.words(5).tolist()) & set(source.words(5).tolist())


@pytest.mark.parametrize(
    "make",
    [lambda: 3, lambda: np.int64(3), lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)],
)
def test_random_states_are_simulations_that_repeat(make):
    first, second = entropy(make()), entropy(make())
    assert isinstance(first, Entropy)
    assert first.simulation
    assert first.words(4).tolist() == second.words(4).tolist()


def test_a_random_state_advances():
    state = np.random.RandomState(3)
    assert entropy(state).words(2).tolist() != entropy(state).words(2).tolist()


def test_sources_are_themselves():
    source = Listed(1)
    assert entropy(source) is source
    assert entropy(NO_NOISE) is NO_NOISE
    assert NO_NOISE.simulation
    assert not entropy(None).simulation
    words = OSEntropy().words(1000)
    assert words.dtype == np.uint64
    assert len(set(words.tolist())) == 1000


@pytest.mark.parametrize("wrong", ["seed", 1.5, True, -1, [1, 2], OSEntropy, np.random])
def test_wrong_random_states(wrong):
    with pytest.raises(ParameterError, match="simulation only"):
        entropy(wrong)


def test_grid_exponents():
    assert grid_exponent(2.0**30) == 0
    assert grid_exponent(math.nextafter(2.0**31, 0)) == 0
    assert grid_exponent(2.0**31) == 1
    assert grid_exponent(2.0**82) == 52
    for wrong in (
        math.nextafter(2.0**30, 0),
        math.nextafter(2.0**82, math.inf),
        math.nan,
        math.inf,
        -1.0,
        0.0,
    ):
        with pytest.raises(ParameterError, match=r"between 2\*\*30 and 2\*\*82"):
            grid_exponent(wrong)


HUGE = [0, 1, -1, 2**100 + 12345, -(2**100) - 12345, 2**99 - 1, -(2**77), 3**200, -(3**200), 2**52 - 1]


@pytest.mark.parametrize("sd", [2.0**30, 2.0**35, 1.9 * 2.0**52, 2.0**82])
def test_huge_and_negative_integers_without_noise(sd):
    q, m = add_rounded_normal(np.array(HUGE, dtype=object), sd, NO_NOISE)
    assert all(type(value) is int for value in q)
    assert q.tolist() == [(2 * x + 2**m) // 2 ** (m + 1) for x in HUGE]


@pytest.mark.parametrize("sd", [2.0**30, 1.3 * 2.0**44, 2.0**82])
def test_huge_and_negative_integers_with_noise(sd):
    x = np.array(HUGE, dtype=object).reshape(2, 5)
    q, m = add_rounded_normal(x, sd, SeededEntropy(11))
    words = SeededEntropy(11).words(len(HUGE)).tolist()
    assert q.shape == x.shape
    for value, word, got in zip(HUGE, words, q.reshape(-1), strict=True):
        whole, rest = divmod(value, 2**m)
        with mpmath.workprec(400):
            assert got == whole + reference([word], mpmath.mpf(rest) / 2**m, mpmath.mpf(sd) / 2**m)


def test_a_single_integer_and_none():
    q, _ = add_rounded_normal(5, 2.0**30, NO_NOISE)
    assert q.shape == ()
    assert q.item() == 5
    assert add_rounded_normal([], 2.0**30, SeededEntropy(0))[0].shape == (0,)


@pytest.mark.parametrize("sd", [2.0**31, 1.3 * 2.0**44, 2.0**60])
def test_int64_and_python_integers_give_the_same(sd):
    x = np.random.default_rng(7).integers(-(2**61), 2**61, 1000)
    narrow, wide = (add_rounded_normal(values, sd, SeededEntropy(3)) for values in (x, x.astype(object)))
    assert narrow[0].dtype == np.int64
    assert wide[0].dtype == object
    assert narrow[1] == wide[1]
    assert narrow[0].tolist() == wide[0].tolist()
