"""The code that workers of an engine run: a task and some rows give an answer, with exact sums or errors.

Workers need numpy and pyarrow only. They release nothing, print nothing and log nothing. A task holds public facts. An
answer is **confidential**; its errors about bad data have the same words as elsewhere, which quote no value.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import __version__, errors
from discreet.core.arrays import SILENT, short_buffers
from discreet.core.old_keywords import tell_renamed
from discreet.core.problems import Problems
from discreet.data.passes.base import Pass, encoded
from discreet.data.passes.first_pass import FirstPass
from discreet.data.passes.moments import MomentsPass
from discreet.data.passes.row_sums import RowSumsPass
from discreet.data.passes.scores import ScorePass
from discreet.data.passes.stages import ScoreProductPass, StagePass
from discreet.data.persons import by_person
from discreet.data.sources.arrow import BatchSource
from discreet.data.sources.base import Source
from discreet.data.sources.frames import FrameSource, named_columns
from discreet.data.sums import PartialSums
from discreet.data.wire import packed, unpacked
from discreet.domain import Domain
from discreet.errors import DataError, DiscreetError, ParameterError

_PASSES: dict[str, type[Pass]] = {
    own.kind: own for own in (FirstPass, MomentsPass, RowSumsPass, StagePass, ScoreProductPass, ScorePass)
}
_ANSWER = "an answer"


def task(what: Pass) -> bytes:
    """Serialise a pass to bytes, which hold public facts only."""
    facts = {"discreet": __version__, "kind": what.kind, "domain": what.domain.to_dict(), "facts": what.facts()}
    return json.dumps(facts).encode()


def run(task: bytes, batches: Iterable[pa.RecordBatch]) -> bytes:
    """Return the answer for Arrow record batches; an engine calls this for each part of a table.

    Parameters
    ----------
    task : bytes
        The task that `Engine.answers` was given.
    batches : iterable of pyarrow.RecordBatch
        Rows of one part, with at least the declared columns. Errors of their producer are passed on, so that the
        engine can try again.
    """
    iterator, failures = iter(batches), list[BaseException]()

    def drawn() -> Iterator[pa.RecordBatch]:
        try:
            yield from iterator
        except BaseException as failure:
            failures.append(failure)
            raise

    return _answered(task, lambda domain: _PartSource(drawn(), domain), failures)


def run_on_frame(task: bytes, frame: Any) -> bytes:
    """Return the answer for a pandas frame."""
    return _answered(task, lambda domain: FrameSource(named_columns(frame), (), domain), [])


def answer(task: bytes, batches: Iterable[pa.RecordBatch]) -> bytes:
    """Return the answer for Arrow record batches: the old name of `run`."""
    tell_renamed({"worker.answer": "worker.run"})
    return run(task, batches)


def answer_for_frame(task: bytes, frame: Any) -> bytes:
    """Return the answer for a pandas frame: the old name of `run_on_frame`."""
    tell_renamed({"worker.answer_for_frame": "worker.run_on_frame"})
    return run_on_frame(task, frame)


def answer_size(task: bytes) -> int:
    """Return the maximum number of bytes of an answer's sums, before they are packed."""
    what = _pass(task)
    return 8 * sum(math.prod(shape) for shape in _summed(what, _PartSource(iter(()), what.domain)).shapes)


def merged(answers: Iterable[bytes]) -> bytes:
    """Merge several answers into one."""
    return _sealed(*_opened(answers))


def sums(what: Pass, answers: Iterable[bytes]) -> PartialSums:
    """Return the sums of a pass over all rows, from the answers for all parts; raise their errors, if any."""
    nothing = _summed(what, _PartSource(iter(()), what.domain))
    _, found, problems = _opened(itertools.chain([_sealed(_digest(task(what)), nothing, [])], answers))
    told = Problems()
    for kind, *lines in problems:
        told.add(_error(kind, lines))
    told.tell()
    return nothing if found is None else found


class _PartSource(BatchSource):
    """The rows of one part."""

    once = True

    def __init__(self, batches: Iterator[pa.RecordBatch], domain: Domain) -> None:
        self.domain, self._first, self._rest = domain, next(batches, None), batches
        if self._first is not None:
            super().__init__(self._first.schema, domain)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the batches."""
        yield from itertools.chain([] if self._first is None else [self._first], self._rest)


def _answered(task: bytes, opened: Callable[[Domain], Source], failures: list[BaseException]) -> bytes:
    try:
        what = _pass(task)
        return _sealed(_digest(task), _summed(what, opened(what.domain)), [])
    except DiscreetError as error:
        return _sealed(_digest(task), None, [[type(error).__name__, *error.args]])
    except Exception as error:  # its message may quote data
        if error in failures:
            raise
        said = f": {error}" if isinstance(error, ImportError) else ". What it said is withheld, for it may quote data."
        line = f"A worker failed with {type(error).__name__}{said}"
        return _sealed(_digest(task), None, [["DataError", line]])


def _pass(task: bytes) -> Pass:
    facts = json.loads(task)
    if facts["discreet"] != __version__:
        raise ParameterError(
            f"A worker has discreet {__version__}, but this is discreet {facts['discreet']}, and sums of different "
            "versions are not added. Remedy: install the same version on all workers."
        )
    return _PASSES[facts["kind"]].from_facts(Domain.from_dict(facts["domain"]), facts["facts"])


def _summed(what: Pass, reader: Source) -> PartialSums:
    reader = reader if what.domain.unit.person is None else by_person(reader)  # a person's rows are all in this part
    problems, size = Problems(), what.size(columnar=reader.columnar)
    batches = itertools.chain.from_iterable(reader.parts(size))
    with np.errstate(**SILENT), short_buffers():
        found = what.sums(reader, encoded(reader, what.domain, size, batches, problems))
    problems.tell()
    return found


def _digest(task: bytes) -> str:
    return hashlib.sha256(task).hexdigest()


def _sealed(digest: str, found: PartialSums | None, problems: list[list[str]]) -> bytes:
    arrays = [] if found is None else [found.high, found.low, *found.counts]
    return packed(_ANSWER, {"task": digest, "problems": problems}, arrays)


def _opened(answers: Iterable[bytes]) -> tuple[str, PartialSums | None, list[list[str]]]:
    """Return the digest of the task of some answers, the total of their sums, and their errors."""
    digests: set[str] = set()
    found: PartialSums | None = None
    problems: list[list[str]] = []
    for content in answers:
        facts, arrays = unpacked(_ANSWER, content)
        digests.add(facts["task"])
        if len(digests) > 1:
            raise ParameterError("The engine gave answers for different tasks. Nothing was released.")
        problems += [problem for problem in facts["problems"] if problem not in problems]
        if arrays:
            high, low, *counts = arrays
            part = PartialSums(high, low, counts)
            found = part if found is None else found + part
    return digests.pop(), found, problems


def _error(kind: str, lines: list[str]) -> DiscreetError:
    """Rebuild an error that a worker met."""
    own = getattr(errors, kind, DataError)
    return own(*lines) if isinstance(own, type) and issubclass(own, DiscreetError) else DataError(*lines)
