"""Time of a plan: ``python -m benchmarks.plan``. Seconds on one core, for 50 features and 1,000,000 rows."""

from __future__ import annotations

import time
from typing import Any

from experiments.record import report

from benchmarks.common import options
from discreet import Domain, plan


def main() -> None:
    given = options("plan", __doc__, rows=1_000_000, features=50)
    domain = Domain({f"x{i}": (0, 10) for i in range(given.features)} | {"y": (0, 100)})
    wishes: dict[str, Any] = {"want_error": 4.2, "want_width": {"x0": 3}}
    jobs: dict[str, dict[str, Any]] = {
        "all methods, tighter bounds, other spreads": {},
        "the default method alone": {"methods": ["DPLinearRegression"], "tighter": False},
        "all of it, and two wishes": wishes,
        "all methods, tighter bounds, other spreads, in one stage": {"stages": 1},
        "all of it, and two wishes, in one stage": wishes | {"stages": 1},
    }
    rows = []
    for job, more in jobs.items():
        wall, cpu = time.perf_counter(), time.process_time()
        plan(domain, "y", rows=given.rows, r_squared=0.4, **more)
        rows.append({"job": job, "features": given.features, "rows": given.rows})
        rows[-1] |= {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    report("Plans", list(rows[0]), rows, given.out)


if __name__ == "__main__":
    main()
