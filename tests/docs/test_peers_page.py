"""The page of other packages is that of the stored figures, and speed is measured of those that are there."""

from benchmarks import peers


def test_the_page_is_that_of_the_figures():
    assert peers.PAGE.read_text(encoding="utf-8") == peers.page(), "write it again: python -m benchmarks.peers --page"


def test_speed_is_over_that_of_least_squares():
    rows = peers.speed([(200, 2)], 1)
    assert rows[0]["method"] == "non-private"
    assert {row["method"] for row in rows} >= {"DPLinearRegression", "AdaSSP", "TukeyEM"}
    assert all(row["ratio"] > 0 for row in rows)
