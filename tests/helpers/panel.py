"""A panel whose slope tells who was counted, and how: one person with 1,000 rows, and rows of weight 0."""

import numpy as np
import pandas as pd

from discreet import Domain

COLUMNS = {"x": (-1, 1), "z": (-1, 1), "g": ["a", "b"], "y": (-4, 4)}
UNIT = {"person": "patient", "rows_per_person": 2, "weights": "w", "largest_weight": 4}
PANEL = Domain(COLUMNS, **UNIT)
SCHEMA = """\
person = "patient"
rows_per_person = 2
weights = "w"
largest_weight = 4

[columns]
x = { low = -1, high = 1 }
z = { low = -1, high = 1 }
g = { levels = ["a", "b"] }
y = { low = -4, high = 4 }
"""
SHORT = "a person with all rows ('patient'), who counts for at most 2 rows; rows weighted by 'w', at most 4"
SLOPE = 248 / 127
"""Of y on x by weighted least squares, the 1,000 rows of one person counting for 2: 200 x 0.625 x 2 - 2 to 127."""

OTHERS = {"rows, alike": -0.6, "rows, weighted": -0.67, "persons, alike": 0.98}
"""What the slope would be, about, were the unit dropped or only a part of it kept."""

PROMISE = {"epsilon": 50, "delta": 1e-6}


def panel():
    """200 persons of the largest weight and slope 2, 200 of weight 0 and slope 0, and one of 1,000 rows, slope -1."""
    x, many = np.tile([-1.0, -0.5, 0.5, 1.0], 100), np.tile([-1.0, 1.0], 500)
    slope, weight = np.repeat([2.0, 0.0], 200), np.repeat([4.0, 0.0], 200)
    frame = pd.DataFrame(
        {
            "patient": np.concatenate([np.arange(400), np.full(1000, 1000)]),
            "w": np.concatenate([weight, np.full(1000, 4.0)]),
            "x": np.concatenate([x, many]),
            "y": np.concatenate([slope * x, -many]),
        }
    )
    rng = np.random.default_rng(0)
    frame["z"] = rng.permutation(np.resize([-1.0, 1.0], len(frame)))
    frame["g"] = rng.permutation(np.resize(["a", "b"], len(frame)))
    return frame.sample(frac=1, random_state=0).reset_index(drop=True)


def check_slope(slope):
    """Refuse a slope that is not that of weighted persons: noise and shrinkage are far smaller than the difference."""
    assert abs(float(slope) - SLOPE) < 0.3, f"slope {float(slope):.2f}: {OTHERS} were the unit dropped"
