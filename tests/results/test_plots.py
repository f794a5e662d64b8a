"""Pictures: the numbers they show, and that every label can be read."""

import re
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from fitted import MAKERS, case, people_model
from legible import assert_legible, drawn, texts
from matplotlib.container import ErrorbarContainer

from discreet import compare
from discreet.core.placeholders import Unavailable
from discreet.privacy.events.coordinates import StageEvent
from discreet.results.plots import HIDDEN, budget_plot, budget_shares, coefficient_plot, noise_plot, signal_to_noise
from discreet.results.plots.releases import reach
from discreet.results.plots.style import BLUE, GREY, INK, ORANGE, short, svg

WIDTHS = {"age": 72, "region[south]": 1, "region[west]": 1, "hours": 80}


@pytest.mark.parametrize("name", MAKERS)
def test_every_label_can_be_read(name):
    results, released = case(name)
    for figure in (coefficient_plot(results), budget_plot(results.certificate), noise_plot(released)):
        assert_legible(figure)


@pytest.mark.parametrize("pair", [("verified", "noisy"), ("forty", "forty"), ("long names", "odd names")])
def test_every_label_of_a_comparison_can_be_read(pair):
    a, b = (case(name)[0] for name in pair)
    assert_legible(compare(a, b, names=("a name of some length, for the first", "second")).plot())


def test_the_search_for_bad_labels_finds_them():
    results, _ = case("five")
    clipped = coefficient_plot(results)
    clipped.set_layout_engine("none")
    clipped.axes[0].set_position([0, 0.2, 1, 0.6])
    with pytest.raises(AssertionError, match="clipped"):
        assert_legible(clipped)
    crowded = coefficient_plot(results)
    crowded.set_size_inches(6.8, 1.4)
    with pytest.raises(AssertionError, match="overlaps"):
        assert_legible(crowded)


# -------------------------------------------------------------------- numbers


def points(axes, marker="o"):
    (line,) = [line for line in axes.lines if line.get_marker() == marker]
    return line.get_xdata()


def spans(axes, label):
    (lines,) = [c for c in axes.collections if c.get_label() == label]
    return np.array([segment[:, 0] for segment in lines.get_segments()])


def bars(axes):
    return [c for c in axes.containers if isinstance(c, ErrorbarContainer)]


def test_effects_are_coefficients_times_declared_ranges():
    results, _ = case("verified")
    axes = coefficient_plot(results, level=0.8).axes[0]
    names = list(results.names)
    assert names == list(WIDTHS)
    widths = np.array(list(WIDTHS.values()))
    debiased = np.array([results.debiased[name] for name in names])
    np.testing.assert_allclose(points(axes), widths * debiased)
    ends = np.array([results.conf_int(0.8).loc[name] for name in names])
    (bar,) = bars(axes)
    np.testing.assert_allclose([segment[:, 0] for segment in bar.lines[2][0].get_segments()], widths[:, None] * ends)
    noise = np.array([results.privacy_noise[name] for name in names])
    half = results.inference.quantile(0.8) * noise
    found = spans(axes, "privacy noise alone")
    np.testing.assert_allclose(found, widths[:, None] * (debiased[:, None] + np.outer(half, [-1, 1])))
    assert axes.get_xlabel() == "effect on income (EUR) over the declared range"
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels == ["age (18 to 90)", "region[south]", "region[west]", "hours (0 to 80)"]


def test_numbers_stand_beside_the_picture():
    results, _ = case("verified")
    right = [text.get_text() for text in coefficient_plot(results).axes[1].get_yticklabels()]
    assert len(right) == len(results.names)
    for text, name in zip(right, results.names, strict=True):
        shown = [float(n.replace(",", "")) for n in re.findall(r"-?\d[\d,]*\.?\d*", text)][:3]
        np.testing.assert_allclose(shown, [results.debiased[name], *results.conf_int().loc[name]], rtol=1e-3)
        assert text.endswith(results.unit(name))


def said(figure):
    return " ".join(" ".join(t.get_text() for t, _ in texts(drawn(figure))).split())


def test_without_intervals_there_are_points_and_the_reason():
    results, _ = case("noisy")
    figure = coefficient_plot(results)
    assert not bars(figure.axes[0])
    assert results.inference.reason in said(figure)
    np.testing.assert_allclose(points(figure.axes[0]), results.coef * list(WIDTHS.values()))


def test_without_sampling_error_privacy_noise_is_shown_alone():
    results, _ = case("claimed")
    figure = coefficient_plot(results)
    assert isinstance(results.std_err, Unavailable)
    assert not bars(figure.axes[0])
    assert len(spans(figure.axes[0], "privacy noise alone")) == len(results.names)
    assert "not released" in said(figure)


def test_one_estimate_is_shown_where_others_predict():
    results = people_model(people_rows=1500, epsilon=0.6, random_state=1, stages=1).results_
    axes = coefficient_plot(results).axes[0]
    names = [name for name in results.coefficients if name != "(intercept)"]
    np.testing.assert_allclose(points(axes), results.params[names] * list(WIDTHS.values()))
    assert not np.allclose(results.params[names], results.coef, rtol=1e-3)


@pytest.mark.parametrize(
    ("column", "name", "expected"),
    [
        ((18, 90), "x", (72.0, "18 to 90")),
        (("2025-01-01", "2025-12-31"), "x", (364.0, "2025-01-01 to 2025-12-31")),
        (["a", "b"], "x[b]", (1.0, "")),
    ],
)
def test_reach_of_a_column(column, name, expected):
    from discreet import Domain

    assert reach(Domain({"x": column}), name) == expected


def test_reach_of_columns_in_a_ball_and_of_products():
    from discreet import Domain, formula

    ball = Domain.from_bounds(["a", "b"], bounds_X=([0, -9], [2, 9]), data_norm=3)
    assert [reach(ball, name)[0] for name in ("a", "b")] == [2, 6]
    made = formula("y ~ a:s", Domain({"a": (0, 4), "s": ["u", "v"], "y": (0, 1)})).domain
    assert reach(made, "a:s[v]") == (4.0, "0 to 4")


# -------------------------------------------------------------------- budget and noise


@pytest.mark.parametrize("name", ["verified", "replace-one", "claimed", "from a release"])
def test_shares_add_up_to_the_listed_mu(name):
    from discreet.privacy import sensitivity

    certificate = case(name)[0].certificate
    shares = budget_shares(certificate)
    assert sum(share for _, share in shares) == pytest.approx(1)
    total, expected = sum(event.mu**2 for event in certificate.events), []
    for event in certificate.events:
        space = event.coordinates if isinstance(event, StageEvent) else certificate.domain
        parts = sensitivity.costs(event.blocks, space, certificate.guarantee.neighbors)
        assert sum(cost for _, cost in parts) == pytest.approx(event.mu**2)
        assert {block for blocks, _ in parts for block in blocks} == set(event.blocks)
        expected += [cost / total for _, cost in parts]
    assert [share for _, share in shares] == pytest.approx(expected)
    staged = [label for label, _ in shares if "stage" in label]
    assert len(set(staged)) == len(staged)
    assert ("U'U and U'e, stage 1" in dict(shares)) == (name == "replace-one")


def test_bars_are_the_shares():
    certificate = case("verified")[0].certificate
    widths = [patch.get_width() for patch in budget_plot(certificate).axes[0].patches]
    assert widths == pytest.approx([100 * share for _, share in budget_shares(certificate)])


@pytest.mark.parametrize("stages", [1, 3])
def test_noise_is_compared_with_each_released_number(stages):
    released = people_model(stages=stages).release_
    listed = signal_to_noise(released)
    every = released.arrays | (released.stages[-1].arrays if stages > 1 else {})
    for (block, array), (_, sd, values) in zip(every.items(), listed, strict=True):
        assert sd == block.sd
        if block.statistic not in ("gram", "inner", "meat"):
            np.testing.assert_allclose(np.sort(values), np.sort(np.abs(array).ravel() / sd))
    found = {name: (sd, values) for name, sd, values in listed}
    if stages > 1:
        gram = released.stages[-1].gram
        assert len(found["inner U'U, stage 3"][1]) == len(gram) * (len(gram) + 1) // 2
        return
    d = len(released.value("gram"))
    categories = 3  # products of different regions are zero by definition
    assert len(found["X'X"][1]) == d * (d + 1) // 2 - categories
    gram = released.value("gram")
    assert gram[0, 1] / (found["X'X"][0] / np.sqrt(2)) in found["X'X"][1] * np.sign(gram[0, 1])


def test_what_is_hidden_is_marked_and_counted():
    _, released = case("noisy")
    axes, right = noise_plot(released).axes
    crosses = sum(len(line.get_xdata()) for line in axes.lines if line.get_marker() == "x")
    hidden = [int(np.sum(values < HIDDEN)) for *_, values in signal_to_noise(released)]
    assert crosses == sum(hidden) > 0
    assert right.get_yticklabels()[1].get_text().startswith(f"{hidden[1]} of ")
    assert axes.get_xscale() == "log"


# -------------------------------------------------------------------- style


def luminance(colour):
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("colour", [INK, BLUE, GREY])
def test_lines_and_letters_stand_out_from_paper(colour):
    assert 1.05 / (luminance(colour) + 0.05) >= 4.5


def test_marks_differ_in_shape_and_not_in_colour_only():
    axes = noise_plot(case("noisy")[1]).axes[0]
    looks = {(line.get_marker(), line.get_color()) for line in axes.lines if line.get_marker() in "ox"}
    assert looks == {("o", BLUE), ("x", ORANGE)}


def test_drawing_changes_nothing_for_others():
    before = dict(mpl.rcParams)
    svg(coefficient_plot(case("five")[0]), "x", "words")
    assert dict(mpl.rcParams) == before


def test_matplotlib_is_imported_only_for_pictures():
    used = "discreet, discreet.cli, discreet.results.plots, discreet.results.report"
    code = f"import sys, {used}; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_svg_is_the_same_every_time_and_stands_alone():
    results, released = case("odd names")
    one, other = (svg(coefficient_plot(results), "a", 'say "<hi>"') for _ in range(2))
    assert one == other
    assert 'aria-label="say &quot;&lt;hi&gt;&quot;"' in one
    assert "http" not in one
    assert "script" not in one
    noise = svg(noise_plot(released), "b", "words")
    ids = [set(re.findall(r'\bid="([^"]*)"', text)) for text in (one, noise)]
    assert ids[0]
    assert not ids[0] & ids[1]
    for text, own in zip((one, noise), ids, strict=True):
        assert set(re.findall(r'href="#([^"]*)"', text)) | set(re.findall(r"url\(#([^)]*)\)", text)) <= own


def test_names_are_never_read_as_formulas():
    labels = [text.get_text() for text in coefficient_plot(case("odd names")[0]).axes[0].get_yticklabels()]
    assert labels[1].startswith("$a_1$")
    drawn(coefficient_plot(case("odd names")[0]))


def test_short_names_keep_both_ends():
    assert short("x" * 50 + "y" * 50, 11) == "xxxxx…yyyyy"
    assert len(short("x" * 99, 20)) == 20
