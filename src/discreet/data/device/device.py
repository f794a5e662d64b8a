"""Devices on which passes are computed: the processor or a GPU, by PyTorch, with the bits that numpy has."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from discreet.core.arrays import SILENT
from discreet.core.memory import spelled
from discreet.data.device.encoding import DeviceEncoder
from discreet.data.passes.base import Pass
from discreet.data.passes.moments import Layout
from discreet.data.sources.base import Source
from discreet.data.sums import ALIGNED, ARRAYS, EXACT_ROWS, HOST, Host, PartialSums, Products, Total
from discreet.domain import Domain
from discreet.domain.elementary import exp, log1p
from discreet.domain.encoding import ONE, Encoder
from discreet.errors import DataError, MissingPackageError, ParameterError

T = TypeVar("T")

DEVICES = "None, 'auto', 'cpu', 'cuda' or 'cuda:1'"
MOST_ROWS = 1 << 22
"""Sums of products of so many rows are below 2^62 in size, and fit into int64."""

KINDS = ("cpu", "cuda")
NUMBERS = 1 << 27
"""Numbers of a batch on a GPU, where there is room: enough that it has work for longer than a call takes."""

STREAMED = 1 << 22
"""Numbers of a batch that is read elsewhere: each thread that reads holds one."""

_BATCHES = 8
"""Arrays of the size of a batch that a pass holds at most, with some room."""


class Device(Host):
    """A device of PyTorch, on which sums have the bits that they have here.

    Parameters
    ----------
    name : str
        "cpu", "cuda", or "cuda:1" for the second GPU.
    numbers : int, optional
        The number of numbers of a batch on the processor, for tests: by default as few as numpy has, for its cache.

    Examples
    --------
    >>> as_device(None) is None
    True
    """

    def __init__(self, name: str, numbers: int | None = None) -> None:
        self.name, self._torch = name, _torch()
        self.arrays = _arrays()
        self.kind = name.partition(":")[0]
        self.place = f"cuda:{self._torch.cuda.current_device()}" if name == "cuda" else name
        self._numbers = numbers if self.kind == "cpu" else min(NUMBERS, self._free() // (4 * 8 * _BATCHES))

    def _free(self) -> int:
        """Return the bytes of a GPU's memory that are free, with those that torch keeps for later."""
        cuda = self._torch.cuda
        kept = cuda.memory_reserved(self.place) - cuda.memory_allocated(self.place)
        return int(cuda.mem_get_info(self.place)[0] + kept)

    @property
    def pinned(self) -> bool:
        """Whether rows are copied to the device from memory that stays in its place."""
        return self.kind == "cuda"

    def size(self, what: Pass, reader: Source) -> int:
        """Return the maximum number of rows of a batch of a pass: on a GPU a multiple of 8,192."""
        if self._numbers is None:
            return what.size(columnar=reader.columnar)
        numbers = self._numbers if reader.on_device else min(self._numbers, STREAMED)
        blocks = numbers // len(what.domain.entries) // EXACT_ROWS
        return EXACT_ROWS * max(1, min(blocks, MOST_ROWS // EXACT_ROWS))

    def empty(self, *shape: int) -> Any:
        """Return an array on the device, of any content; its rows begin at multiples of eight numbers."""
        *rows, width = shape
        room = self._torch.empty((*rows, -(-width // ALIGNED) * ALIGNED), dtype=self._torch.float64, device=self.place)
        return self.arrays.DeviceArray(room[..., :width])

    def buffer(self, numbers: int) -> Any:
        """Return a tensor in this machine's memory, from which rows are copied to the device."""
        return self._torch.empty(numbers, dtype=self._torch.float64, device="cpu", pin_memory=self.pinned)

    def copied(self, tensor: Any) -> tuple[Any, Any]:
        """Begin to copy a tensor to a GPU, and return the copy with an event that ends it; the processor needs none."""
        if not self.pinned:
            return self.arrays.DeviceArray(tensor), None
        with self._torch.cuda.device(self.place):
            there, event = tensor.to(self.place, non_blocking=True), self._torch.cuda.Event()
            event.record()
        return self.arrays.DeviceArray(there), event

    def held(self, own: T) -> T:
        """Return an object whose arrays are on the device, with those of the maps that it holds."""
        found = copy.copy(own)
        vars(found).update({name: self.moved(value) for name, value in vars(own).items()})
        return found

    def moved(self, value: Any) -> Any:
        """Return an array on the device, or a list of them; anything else as it is."""
        if isinstance(value, np.ndarray):
            return self.arrays.DeviceArray(self._torch.from_numpy(np.array(value, order="C")).to(self.place))
        if type(value) in (list, tuple):
            return type(value)(map(self.moved, value))
        return self.held(value) if type(value).__name__.endswith("Map") else value

    def encoder(self, domain: Domain) -> Encoder:
        """Return an encoder of rows that are on the device."""
        return self.held(DeviceEncoder(domain))

    def total(self, layout: Products, *, weighted: bool = False) -> Total:
        """Return a running sum on the device."""
        return DeviceTotal(layout, self.empty(0), weighted=weighted)

    def refuse_large(self, what: Pass, size: int) -> None:
        """Refuse sums that need more of a GPU's memory than is free; before anything is spent, for all later passes."""
        if self.kind == "cpu":
            return
        width = len(what.domain.entries)
        needed = 8.0 * (ARRAYS * max(what.numbers, width**2) + _BATCHES * size * width)
        if needed > (free := self._free()):
            raise ParameterError(
                f"Summing up {width:,} coordinates on {self.name} needs about {spelled(needed)} of its memory, and "
                f"{spelled(free)} are free. Remedy: free some of it, or choose device=None."
            )

    @contextlib.contextmanager
    def failing(self) -> Iterator[None]:
        """Replace errors of the device by our own: they tell how much memory rows take."""
        try:
            yield
        except RuntimeError as error:
            raise DataError(
                f"The device {self.name} failed with {type(error).__name__}. What it said is withheld, for it may tell "
                "of the rows. Remedy: free its memory for this, or choose device=None."
            ) from None

    def __repr__(self) -> str:
        return f"Device({self.name!r})"


class DeviceTotal(Total):
    """A running sum of products on a device, of batches of any length: int64, then limbs of 32 bits."""

    def __init__(self, layout: Products, like: Any, *, weighted: bool = False) -> None:
        self._layout, self._rest = layout, DeviceTotal(layout, like) if weighted else None
        zeros: list[Any] = [np.zeros(layout.shape, dtype=np.int64, like=like) for _ in range(4)]
        self._recent, self._work, self._high, self._low = zeros
        self._rows = self._pending = 0

    def _add(self, A: Any, sampled: Any, left: Any) -> None:
        if len(A) > MOST_ROWS or sampled is not None:
            raise AssertionError("a batch is too long, or a sample of one")
        if self._rows + len(A) > MOST_ROWS:
            self._settle()
        held: Any = self._recent
        self._layout.add(A, held, self._work, None, left)
        self._rows += len(A)

    def _settle(self) -> None:
        self._limbs()
        self._rows = 0

    def limbs(self) -> Any:
        """Return the limbs of the sum so far, here."""
        return tuple(np.asarray(own) for own in super().limbs())


# ---------------------------------------------------------------- which device


def as_device(device: Any) -> Device | None:
    """Return a device by its name; refuse one that is not there, or that computes otherwise than numpy.

    None stands for numpy, and "auto" for a GPU where there is one and numpy elsewhere.

    Examples
    --------
    >>> as_device("tpu")
    Traceback (most recent call last):
        ...
    discreet.errors.ParameterError: device must be None, 'auto', 'cpu', 'cuda' or 'cuda:1'; got 'tpu'.
    """
    if device is None or isinstance(device, Device):
        return device
    name, _, place = device.partition(":") if isinstance(device, str) else ("", "", "")
    if name not in ("auto", *KINDS) or (place and not (name == "cuda" and place.isdecimal())):
        raise ParameterError(f"device must be {DEVICES}; got {device!r}.")
    if name == "auto":
        with contextlib.suppress(ParameterError):
            return _checked("cuda") if _has_cuda() else None
        return None
    try:
        found = _torch()
    except ImportError:
        raise MissingPackageError(
            f"device={device!r} needs the package torch, which is not installed. Nothing was read. Remedy: pip install "
            '"discreet[gpu]", or device=None, which takes numpy and gives the same release.'
        ) from None
    if name == "cuda" and not int(place or 0) < found.cuda.device_count():
        raise ParameterError(
            f"device={device!r} is not there: torch {found.__version__} finds {found.cuda.device_count()} GPUs on this "
            "machine. Nothing was read. Remedy: a torch that is built for the GPU and its driver; or device='auto', "
            "which takes a GPU where there is one, or None. The release is the same."
        )
    return _checked(device)


def _has_cuda() -> bool:
    try:
        return bool(_torch().cuda.is_available())
    except ImportError:
        return False


def _torch() -> ModuleType:
    found: ModuleType = _arrays().torch
    return found


def _arrays() -> Any:
    from discreet.data.device import arrays

    return arrays


@cache
def _checked(name: str) -> Device:
    """Return a device whose arithmetic was tried: a GPU may be told to compute otherwise than IEEE 754 says."""
    device = Device(name)
    try:
        same = _same_bits(device)
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise ParameterError(
            f"device={name!r} cannot be used: {type(error).__name__} in its first computation. Nothing was read. "
            "Remedy: another version of torch, or device=None."
        ) from None
    if not same:
        raise ParameterError(
            f"device={name!r} computes otherwise than IEEE 754 says, so sums would not be exact. Nothing was read. "
            "Remedy: leave out what makes products faster and less exact (as CUBLAS_EMULATE_DOUBLE_PRECISION does), "
            "or device=None."
        )
    return device


def _same_bits(device: Device) -> bool:
    """Whether elementary functions and products of made-up numbers are those of numpy, bit for bit."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=1000) * 10.0**k for k in range(-8, 3)])
    whole = rng.integers(-(1 << 20), 1 << 20, (2 * EXACT_ROWS + 999, 5), endpoint=True).astype(float)
    whole[:, 0] = 1 << 20

    def found(x: Any, whole: Any, at: Host) -> list[Any]:
        total = at.total(Layout(5))
        step = EXACT_ROWS if at is HOST else len(whole)
        for i in range(0, len(whole), step):
            total.add(whole[i : i + step])
        parts = [exp(x), log1p(np.abs(x)), np.sqrt(np.abs(x)) / (x * x + 3.0), np.rint(x * x + x)]
        return [*map(np.asarray, parts), PartialSums.of(total).high, PartialSums.of(total).low]

    with np.errstate(**SILENT):
        here, there = found(x, whole, HOST), found(device.moved(x), device.moved(whole), device)
        domain = Domain({name: (-i / 3, 0.7) for i, name in enumerate("abcde")})
        rows = [x.reshape(-1, 5).astype(kind) for kind in (np.float64, np.float32)]
        here += [_encoded(Encoder(domain), own, np.empty((len(own), 6))) for own in rows]
        there += [_encoded(device.encoder(domain), device.moved(own), device.empty(len(own), 6)) for own in rows]
    return all(map(np.array_equal, here, there))


def _encoded(encoder: Encoder, rows: Any, A: Any) -> Any:
    """Encode rows of two matrices."""
    A[:, 0] = ONE
    encoder.place([rows[:, :2], rows[:, 2:]], A)
    encoder.finish(A)
    return np.asarray(A)
