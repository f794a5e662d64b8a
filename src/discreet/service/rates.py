"""Rate limits that hold for all processes of a service together: buckets in its database."""

from __future__ import annotations

import threading
import time

from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from discreet.service.storage import Store, rates

DAY = 86_400.0

MOST = 10_000
"""Maximum number of people and computers that one process remembers."""


class Rates:
    """A rate limit: so many events a minute for each person, and as many at once.

    A process takes a quarter of a minute's events from the database at a time, for a minute, so that few pages write.
    None waits for the disk: after a power failure, the events of the last moment may not be counted.

    Parameters
    ----------
    store : Store
        The database.
    kind : str
        The kind of events.
    a_minute : int
        The number of events.

    Examples
    --------
    >>> import tempfile
    >>> rates = Rates(Store(f"{tempfile.mkdtemp()}/service.db"), "example", 2)
    >>> [rates.allow("somebody") for _ in range(3)], rates.allow("somebody else")
    ([True, True, False], True)
    """

    def __init__(self, store: Store, kind: str, a_minute: int) -> None:
        self._store, self._kind = store, kind
        self._rate, self._most, self._share = a_minute / 60, float(a_minute), max(a_minute // 4, 1)
        self._left: dict[str, tuple[int, float]] = {}
        self._refused: dict[str, float] = {}
        self._lock = threading.Lock()

    def allow(self, who: str) -> bool:
        """Count one more event, and return whether it is within the limit."""
        if self._used(who):
            return True
        if time.monotonic() < self._refused.get(who, 0.0):  # a refusal costs no writing
            return False
        taken = self._taken(f"{self._kind} {who}")
        with self._lock:
            if len(self._left) > MOST:
                self._left.clear()
                self._refused.clear()
            self._left[who] = self._left.get(who, (0, 0.0))[0] + taken, time.monotonic() + 60
            if not taken:
                self._refused[who] = time.monotonic() + 1 / self._rate
        return self._used(who)

    def _used(self, who: str) -> bool:
        """Use one of the events that this process has taken; return whether there was one."""
        with self._lock:
            left, until = self._left.get(who, (0, 0.0))
            if left > 0 and time.monotonic() >= until:  # given up, so that nobody saves events for later
                left = 0
            self._left[who] = max(left - 1, 0), until
            return left > 0

    def _taken(self, who: str) -> int:
        """Take a share of what is left in the database, or all of it."""
        try:
            return self._take(who)
        except IntegrityError:  # another process made the bucket meanwhile
            return self._take(who)

    def _take(self, who: str) -> int:
        now, mine = time.time(), rates.c.who == who
        with self._store.writing(wait=False) as connection:
            found = connection.execute(select(rates.c.left, rates.c.at).where(mine).with_for_update()).first()
            left = self._most
            if found is not None:
                left = min(found.left + max(now - found.at, 0.0) * self._rate, self._most)
            taken = min(self._share, int(left))
            values = {"left": left - taken, "at": now}
            if found is None:
                connection.execute(insert(rates).values(who=who, **values))
            elif taken:
                connection.execute(update(rates).where(mine).values(**values))
        return taken


def forget(store: Store) -> None:
    """Delete the buckets of those who have not been seen for a day."""
    with store.writing() as connection:
        connection.execute(delete(rates).where(rates.c.at < time.time() - DAY))
