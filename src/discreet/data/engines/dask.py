"""Dask: frames, and lists of delayed parts; dask is imported only when one is given."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.data import worker
from discreet.data.engines.base import Engine, unquoted
from discreet.data.sources.base import comes_from, missing_package, spans
from discreet.data.sources.frames import FrameSource, named_columns
from discreet.domain import Domain
from discreet.domain.keys import keys
from discreet.domain.kinds.base import Identifier
from discreet.domain.value_types import KEYS
from discreet.domain.values import as_arrow

_GROUP = 32
"""The number of answers that one worker adds up, if there are more than this."""

_RETRIES = 3


def is_dask(value: Any) -> bool:
    """Whether a value is a Dask frame, or a list of delayed parts."""
    if isinstance(value, list):
        return bool(value) and all(_is_delayed(part) for part in value)
    return comes_from(value, "dask", "dask_expr") and type(value).__name__ == "DataFrame"


def _is_delayed(value: Any) -> bool:
    return comes_from(value, "dask") and "Delayed" in [own.__name__ for own in type(value).__mro__]


class DaskEngine(Engine):
    """A Dask frame, or delayed parts: pandas frames or Arrow tables each."""

    home = "in a Dask collection. Remedy: source.compute(), if they fit into memory"

    def __init__(self, collection: Any) -> None:
        self._collection = collection

    @property
    def schema(self) -> pa.Schema:
        """The schema of the frame, as far as Dask knows it."""
        return pa.Schema.from_pandas(self._collection._meta)

    @property
    def names(self) -> list[str]:
        """The names of the columns; unknown for delayed parts."""
        return [] if isinstance(self._collection, list) else [str(name) for name in self._collection.columns]

    def by_person(self, column: str) -> Engine:
        """Return the frame shuffled by key, since raw entries of one person may differ in type and so in hash."""
        given = self._collection
        if isinstance(given, list):
            return super().by_person(column)
        part = next(name for name in map("part{}".format, itertools.count()) if name not in given.columns)
        keyed = given.map_partitions(with_keys, column, part, meta=with_keys(given._meta, column, part))
        return DaskEngine(keyed.shuffle(on=part))

    def check(self, domain: Domain) -> None:
        """Refuse a frame whose columns are not those declared; delayed parts are checked by the workers."""
        if not isinstance(self._collection, list):
            FrameSource(named_columns(self._collection._meta), (), domain)

    def answers(self, task: bytes, columns: Sequence[str], report: Callable[[float], None]) -> Iterable[bytes]:
        """Return the answers, added up in groups if there are many."""
        from dask import delayed

        given, own, both = self._collection, delayed(answer_for_part, pure=False), delayed(worker.merged, pure=False)
        parts = given if isinstance(given, list) else given[list(columns)].to_delayed()
        found = [own(task, part) for part in parts]
        while len(found) > _GROUP:
            found = [both(found[start:stop]) for start, stop in spans(len(found), _GROUP)]
        client = _client()
        with unquoted("Dask collection"):
            return _counted(found, len(parts), report) if client is None else _gathered(client, found, report)


def with_dask(path: str | Path) -> Any:
    """Return the Dask frame of the Parquet files under a path."""
    try:
        import dask.dataframe
    except ImportError:
        raise missing_package("dask") from None
    with unquoted("Dask collection", " Are there Parquet files under this path?"):
        return dask.dataframe.read_parquet(str(path))


def with_keys(frame: Any, column: str, part: str) -> Any:
    """Replace the raw entry of each person in a pandas frame by the key, and add a number computed from the key."""
    values = as_arrow(frame[column], column, Identifier())
    KEYS.check(column, values.type)
    coded = keys(pa.chunked_array([values]).combine_chunks(), column).dictionary_encode()
    numbers = [_number(key) for key in coded.dictionary.to_pylist()]
    places = coded.indices.fill_null(len(numbers)).to_numpy()
    texts = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
    return frame.assign(**{column: texts[places], part: np.array([*numbers, 0], dtype=np.int64)[places]})


def _number(key: str) -> int:
    """Return a hash of 63 bits that is the same in every process."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest()) >> 1


def answer_for_part(task: bytes, part: Any) -> bytes:
    """Return a worker's answer for an Arrow table or a pandas frame."""
    if isinstance(part, pa.RecordBatch):
        return worker.run(task, [part])
    return worker.run(task, part.to_batches()) if isinstance(part, pa.Table) else worker.run_on_frame(task, part)


def _client() -> Any:
    """Return the client of the cluster that Dask would use, or None."""
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        return get_client()
    except ValueError:
        return None


def _gathered(client: Any, found: list[Any], report: Callable[[float], None]) -> list[bytes]:
    """Return answers from a cluster; pending tasks are cancelled if this is left early."""
    from distributed import as_completed

    futures = client.compute(found, retries=_RETRIES)
    try:
        answers = []
        for future in as_completed(futures):
            answers.append(future.result())
            report(len(answers) / len(futures))
        return answers
    finally:
        client.cancel(futures)


def _counted(found: list[Any], parts: int, report: Callable[[float], None]) -> list[bytes]:
    """Return answers from threads or processes of this machine."""
    import dask
    from dask.callbacks import Callback

    done = itertools.count(1)

    def tell(key: Any, *_: object) -> None:
        if str(key).startswith(answer_for_part.__name__):
            report(min(next(done) / parts, 1.0))

    with Callback(posttask=tell):
        return list(dask.compute(*found))
