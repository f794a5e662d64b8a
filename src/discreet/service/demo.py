"""A demo service over a made-up table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from discreet.ledger import Ledger

CONFIG = """\
[service]
port = 0
step = 2.0
log = false

[tables.people]
data = "people.parquet"
schema = "people.toml"
account = "people"
rows = 100000
most_epsilon = 2.0
about = "100,000 made-up people. Requests are answered without asking."

[tables.people-approved]
data = "people.parquet"
schema = "people.toml"
account = "people"
rows = 100000
most_epsilon = 2.0
approval = true
about = "The same people. The custodian approves each release."
"""


def set_up(folder: Path, people: Callable[[], Any], schema: str) -> Path:
    """Make a table, a ledger with an account, and a configuration; return the configuration's path."""
    pq.write_table(people(), folder / "people.parquet")
    (folder / "people.toml").write_text(schema, encoding="utf-8")
    config = folder / "service.toml"
    config.write_text(CONFIG, encoding="utf-8")
    Ledger.create(folder / "people.ledger").open("people", epsilon=3, delta=1e-6, others=(1.0, 5e-7))
    return config
