"""The log that custodians read: who did what. It holds no data, keys or results."""

from __future__ import annotations

import json
import time
from typing import Any

from sqlalchemy import Connection, insert, select

from discreet.errors import printable
from discreet.service.storage import Store, events, paged

LONGEST = 300
"""Maximum number of characters of a fact."""


def note(connection: Connection, who: str, what: str, **about: Any) -> None:
    """Add an event, in the transaction that it describes."""
    told = {name: printable(str(value))[:LONGEST] for name, value in about.items()}
    connection.execute(insert(events).values(at=time.time(), who=who, what=what, about=json.dumps(told)))


def newest(store: Store, page: int = 1) -> list[dict[str, Any]]:
    """Return a page of events, the newest first."""
    with store.reading() as connection:
        found = connection.execute(paged(select(events).order_by(events.c.number.desc()), page)).mappings().all()
    return [{**row, "about": json.loads(row["about"])} for row in found]
