"""A small made-up table of people that several tests share."""

import numpy as np
import pandas as pd

from discreet import Domain, Moments

REGIONS = ["north", "south", "west"]
DOMAIN = Domain({"age": (18, 90), "region": REGIONS, "hours": (0, 80), "income": (0, 200_000)})
SCHEMA = """\
[columns]
age    = { low = 18, high = 90 }
region = { levels = ["north", "south", "west"] }
hours  = { low = 0, high = 80 }
income = { low = 0, high = 200000 }
"""


def people(rows=500, seed=0):
    """A frame inside the bounds of `DOMAIN`."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.uniform(18, 90, rows), "region": rng.choice(REGIONS, rows)})
    frame["hours"] = rng.uniform(0, 80, rows)
    frame["income"] = 20_000 + 500 * frame["age"] + 400 * frame["hours"] + 9_000 * (frame["region"] == "south")
    frame["income"] += rng.normal(0, 4_000, rows)
    return frame


def people_moments(domain=DOMAIN, **options):
    return Moments.from_source(people(**options), domain)
