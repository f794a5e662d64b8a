"""Comparisons of a lazily drawn uniform with exact numbers."""

from fractions import Fraction

import pytest
from listed_words import Listed

from discreet.gate.entropy import GUARD, SeededEntropy, Uniform


def at(number, error=0):
    """The boundary at a fraction, off by so many units."""
    return lambda bits: int(number * 2 ** (bits + GUARD)) + error


@pytest.mark.parametrize("error", [-1, 0, 1])
@pytest.mark.parametrize("words", [(0, 0), (2**63, 7), (123456789, 2**64 - 1), (2**64 - 1, 2**64 - 1)])
def test_a_comparison_is_that_of_all_digits(words, error):
    number = Fraction(words[0] << 64 | words[1], 2**128)
    for gap in (Fraction(1, 2**40), Fraction(1, 2**70), Fraction(1, 2**120)):
        for boundary in (number - gap, number + gap):
            assert Uniform(words[0], Listed(words[1], 0)).below(at(boundary, error)) == (number < boundary)


def test_digits_are_drawn_only_while_a_comparison_is_undecided_and_then_kept():
    third = Fraction(1, 3)
    first = int(third * 2**64)
    source = Listed(first + 1)
    uniform = Uniform(first, source)
    assert uniform.below(at(Fraction(1, 2)))
    assert source.left
    assert not uniform.below(at(third))
    assert not source.left
    assert not uniform.below(at(third)), "the digits that decided are still known"
    assert uniform.below(at(Fraction(first + 2, 2**64)))


def test_the_share_below_is_the_boundary():
    """Where the boundary lies within the first word, the digits behind it decide with the right probability."""
    source, number = SeededEntropy(1), Fraction(5, 2**64) + Fraction(3, 10 * 2**64)
    below = sum(Uniform(5, source).below(at(number)) for _ in range(4000))
    assert abs(below / 4000 - 0.3) < 4 * (0.21 / 4000) ** 0.5
