"""Batches of encoded rows on a device: rows that are there, or rows that threads read while the device sums others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from discreet.core.arrays import SILENT
from discreet.core.problems import Problems
from discreet.data.device.device import Device
from discreet.data.passes.base import Batch, row_weights
from discreet.data.sources.base import Source
from discreet.domain import Domain
from discreet.domain.encoding import ONE, Encoder
from discreet.errors import DataError

Done = Callable[[int], None]


class _Filled(NamedTuple):
    """Rows that were read: x - c and one-hot levels in a buffer, a row or a column after the other."""

    buffer: Any
    rows: int
    left: int
    raw: Any


def device_batches(
    device: Device,
    reader: Source,
    domain: Domain,
    size: int,
    parts: Iterable[Any],
    jobs: int,
    problems: Problems,
    done: Done,
) -> Generator[Batch]:
    """Yield batches encoded on a device; collect data errors, and yield nothing after the first error.

    Parameters
    ----------
    device, reader, domain : Device, Source, Domain
        The device, the rows and their encoding.
    size : int
        The maximum number of rows of a batch.
    parts : iterable
        The batches of the reader, which may be drawn in several threads.
    jobs : int
        Threads that read.
    problems, done
        As in `passes.base.encoded`.
    """
    encoder, room = device.encoder(domain), (size, len(domain.entries))
    if reader.on_device:
        drawn = _there(device.empty(*room), reader, parts, encoder, problems)
    else:
        drawn = _Feed(device, reader, Encoder(domain), room, parts, jobs, problems).drawn()
    with contextlib.closing(drawn) as found:
        for A, rows, raw in found:
            encoder.finish(A)
            if not problems:
                weights = row_weights(reader, raw, len(A))
                yield Batch(A, rows, raw, None if weights is None else device.moved(weights))
            done(rows)


def _there(
    buffer: Any, reader: Source, parts: Iterable[Any], encoder: Encoder, problems: Problems
) -> Generator[tuple[Any, int, Any]]:
    """Yield rows that are on the device already."""
    for _, batch in parts:
        buffer[:, 0] = ONE
        A, rows = buffer[:0], reader.size(batch)
        with problems.met(DataError):
            A = buffer[: reader.fill(batch, buffer, encoder)]
        yield A, rows, batch


class _Feed:
    """Threads that read rows into buffers, which are copied to the device in turn."""

    def __init__(
        self,
        device: Device,
        reader: Source,
        encoder: Encoder,
        room: tuple[int, int],
        parts: Any,
        jobs: int,
        problems: Problems,
    ) -> None:
        self._device, self._reader, self._parts, self._jobs, self._problems = device, reader, parts, jobs, problems
        self._encoder, (self._size, self._width) = encoder, room
        self._free: SimpleQueue[Any] = SimpleQueue()
        self._ready: SimpleQueue[_Filled | None] = SimpleQueue()

    def drawn(self) -> Generator[tuple[Any, int, Any]]:
        """Yield rows on the device, the number of rows that were read for them, and the batch as it was read."""
        for _ in range(self._jobs + 2):
            self._free.put(self._device.buffer(self._size * self._width))
        with ThreadPoolExecutor(self._jobs) as pool:
            futures = [pool.submit(self._read) for _ in range(self._jobs)]
            try:
                working, last = self._jobs, None
                while working:
                    filled = self._ready.get()
                    if filled is None:
                        working -= 1
                        continue
                    A, event = self._device.copied(self._shaped(filled.buffer, filled.rows))
                    self._give_back(last)
                    last = filled.buffer, event
                    A = A.T if self._reader.columnar else A
                    yield A[: filled.left], filled.rows, filled.raw
                for future in futures:
                    future.result()
            except BaseException:
                self._reader.cancel()
                raise
            finally:
                self._parts.stop()
                for _ in futures:
                    self._free.put(None)

    def _give_back(self, last: tuple[Any, Any] | None) -> None:
        """Let a buffer be filled again, once it is copied."""
        if last is not None:
            if last[1] is not None:
                last[1].synchronize()
            self._free.put(last[0])

    def _shaped(self, buffer: Any, rows: int) -> Any:
        shape = (self._width, rows) if self._reader.columnar else (rows, self._width)
        return buffer[: rows * self._width].reshape(shape)

    def _read(self) -> None:
        """Fill buffers in one thread, until there is nothing to read or nobody to read for."""
        try:
            with np.errstate(**SILENT), self._parts:
                for _, batch in self._parts:
                    buffer = self._free.get()
                    if buffer is None:
                        return
                    rows, left = self._reader.size(batch), 0
                    A = self._shaped(buffer, rows).numpy()
                    A = A.T if self._reader.columnar else A
                    A[:, 0] = ONE
                    with self._problems.met(DataError):
                        left = self._reader.fill(batch, A, self._encoder)
                    self._ready.put(_Filled(buffer, rows, left, batch))
        finally:
            self._ready.put(None)
