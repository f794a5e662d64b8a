"""Arrays of PyTorch that numpy's functions work on; the only file that imports torch, loaded when one is used.

A `DeviceArray` answers numpy's functions (NEP 13 and 18) with torch's. So the formulas of encoding, coordinates,
families and layouts are written once, for numpy, and run on a device as they stand. Each function here is one operation
of IEEE 754 on each element, or a sum of whole numbers that is exact in any order, so that all bits are those of numpy.

Products and sums into an array of whole numbers (``out=``) are exact for any number of rows: blocks of at most 8,192
rows in float64, below 2^53, added up in int64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import torch
from numpy.lib.mixins import NDArrayOperatorsMixin

from discreet.data.sums import ALIGNED, EXACT_ROWS

Tensor = Any

TYPES = {
    np.dtype(own): other
    for own, other in {
        bool: torch.bool,
        np.int32: torch.int32,
        np.int64: torch.int64,
        np.float32: torch.float32,
        np.float64: torch.float64,
    }.items()
}
_NAMES = {other: own for own, other in TYPES.items()} | {
    torch.uint8: np.dtype(np.uint8),
    torch.int8: np.dtype(np.int8),
    torch.int16: np.dtype(np.int16),
    torch.float16: np.dtype(np.float16),
    torch.bfloat16: np.dtype(np.float32),
}
_COMPLEX = np.dtype(complex)
_BIAS, _FRACTION = 1023, 52


class DeviceArray(NDArrayOperatorsMixin):
    """A tensor that numpy's functions take; **confidential**.

    Parameters
    ----------
    tensor : torch.Tensor
        The numbers, which stay where they are.

    Examples
    --------
    >>> A = DeviceArray(torch.tensor([[3.0, 4.0]], dtype=torch.float64))
    >>> np.sqrt(np.einsum("ij,ij->i", A, A)), np.asarray(A * 2).tolist()
    (DeviceArray(confidential), [[6.0, 8.0]])
    """

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    # ---------------------------------------------------------------- numpy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        own = _UFUNCS.get(ufunc)
        if own is None or method != "__call__" or options:
            return NotImplemented
        given = [self._operand(value) for value in inputs]
        return _held(own(*given)) if out is None else _into(own, given, out[0])

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        own = _FUNCTIONS.get(function)
        return NotImplemented if own is None else own(self, *args, **kwargs)

    def __dlpack__(self, **options: Any) -> Any:
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.tensor.__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        tensor = self.tensor.float() if self.tensor.dtype == torch.bfloat16 else self.tensor
        array: np.ndarray[Any, Any] = tensor.detach().cpu().numpy()
        array = array if dtype is None else array.astype(dtype, copy=False)
        return array.copy() if copy else array

    def _operand(self, value: Any) -> Any:
        """Return a tensor where an operand is an array, and a number as it is."""
        if isinstance(value, DeviceArray):
            return value.tensor
        if isinstance(value, np.ndarray):
            plain = np.ascontiguousarray(value) if value.flags.writeable else np.array(value, order="C")
            return torch.from_numpy(plain).to(self.tensor.device).reshape(value.shape)
        return value.item() if isinstance(value, np.generic) else value

    # ---------------------------------------------------------------- an array's own attributes

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return tuple(self.tensor.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return int(self.tensor.dim())

    @property
    def size(self) -> int:
        """The number of entries."""
        return int(self.tensor.numel())

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of numbers that numpy has for it."""
        found: np.dtype[Any] = _NAMES.get(self.tensor.dtype, _COMPLEX)
        return found

    @property
    def flags(self) -> Any:
        """Facts on memory, so that numpy's order of rows is not looked for."""
        return SimpleNamespace(c_contiguous=False)

    @property
    def T(self) -> DeviceArray:  # noqa: N802
        """The transpose."""
        return DeviceArray(self.tensor.t())

    def __len__(self) -> int:
        return int(self.tensor.shape[0])

    def __iter__(self) -> Iterator[DeviceArray]:
        return map(DeviceArray, self.tensor.unbind(0))

    def __getitem__(self, key: Any) -> DeviceArray:
        return DeviceArray(self.tensor[self._key(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        key, value = self._key(key), self._operand(value)
        if not isinstance(value, torch.Tensor):
            self.tensor[key] = value
        elif not _is_view(key):
            self.tensor[key] = value.to(self.tensor)
        elif not _is_same(there := self.tensor[key], value):  # a[i] += b has changed it in place
            there.copy_(value)

    def _key(self, key: Any) -> Any:
        if isinstance(key, tuple):
            return tuple(self._key(own) for own in key)
        return self._operand(key) if isinstance(key, (DeviceArray, np.ndarray)) else key

    def reshape(self, *shape: Any) -> DeviceArray:
        """Return the same numbers in another shape."""
        return DeviceArray(self.tensor.reshape(*shape))

    def astype(self, dtype: Any, copy: bool = True) -> DeviceArray:
        """Return the numbers as another type; as itself where it is the same."""
        return DeviceArray(self.tensor.to(TYPES[np.dtype(dtype)]))

    def copy(self) -> DeviceArray:
        """Return a copy."""
        return DeviceArray(self.tensor.clone())

    def sum(self, axis: int | None = None) -> DeviceArray:
        """Return sums, of whole numbers in int64."""
        return DeviceArray(self.tensor.sum() if axis is None else self.tensor.sum(dim=axis))

    def any(self, axis: int | None = None) -> DeviceArray:
        """Return whether any entry is not 0."""
        return DeviceArray(self.tensor.any() if axis is None else self.tensor.any(dim=axis))

    def all(self, axis: int | None = None) -> DeviceArray:
        """Return whether no entry is 0."""
        return DeviceArray(self.tensor.all() if axis is None else self.tensor.all(dim=axis))

    def max(self, axis: int) -> DeviceArray:
        """Return the largest entries."""
        return DeviceArray(self.tensor.amax(dim=axis))

    def ravel(self) -> DeviceArray:
        """Return all entries in one dimension."""
        return DeviceArray(self.tensor.reshape(-1))

    def tolist(self) -> Any:
        """Return the entries as Python's numbers."""
        return self.tensor.tolist()

    def item(self) -> Any:
        """Return a single entry."""
        return self.tensor.item()

    def __bool__(self) -> bool:
        return bool(self.tensor)

    def __int__(self) -> int:
        return int(self.tensor)

    def __float__(self) -> float:
        return float(self.tensor)

    def __repr__(self) -> str:
        return "DeviceArray(confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Rows are confidential and are not pickled.")


def from_dlpack(values: Any) -> DeviceArray:
    """Return an array of what a package offers by DLPack; nothing is copied."""
    tensor = values if isinstance(values, torch.Tensor) else torch.from_dlpack(values)
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise TypeError("no dense numbers")
    return DeviceArray(tensor.detach())


def _held(result: Any) -> Any:
    return tuple(map(DeviceArray, result)) if isinstance(result, tuple) else DeviceArray(result)


def _into(own: Callable[..., Tensor], given: Sequence[Any], out: DeviceArray) -> DeviceArray:
    """Write a result into an array: at once where the types agree, rounded to its type where they do not."""
    if own is _matmul:
        _matmul(*given, out=out.tensor)
    elif all(value.dtype == out.tensor.dtype for value in given if isinstance(value, torch.Tensor)):
        own(*given, out=out.tensor)
    else:
        out.tensor.copy_(own(*given))
    return out


def _is_view(key: Any) -> bool:
    return all(isinstance(own, (slice, int)) for own in (key if isinstance(key, tuple) else (key,)))


def _is_same(one: Tensor, other: Tensor) -> bool:
    alike = one.dtype == other.dtype and one.shape == other.shape and one.stride() == other.stride()
    return bool(alike and one.data_ptr() == other.data_ptr())


# ---------------------------------------------------------------- products


def _matmul(a: Tensor, b: Tensor, *, out: Tensor | None = None) -> Tensor:
    if out is None or out.dtype != torch.int64:
        return torch.matmul(a, b) if out is None else torch.matmul(a, b, out=out)
    flat = a.dim() == 1
    found = _exact(a[None] if flat else a, b)
    return out.copy_(found[0] if flat else found)


def _exact(a: Tensor, b: Tensor) -> Tensor:
    """Compute the product of lattice points exactly: in float64 over 8,192 rows, in int64 over more."""
    n, rows = a.shape[1], EXACT_ROWS
    if n <= rows:
        return torch.matmul(a, b)
    k = n // rows
    left, right = (_aligned(own[: k * rows]).unflatten(0, (k, rows)) for own in (a.t(), b))
    found = torch.bmm(left.transpose(1, 2), right)[:, : a.shape[0], : b.shape[1]].to(torch.int64).sum(dim=0)
    return found if n == k * rows else found.add_(torch.matmul(a[:, k * rows :], b[k * rows :]).to(torch.int64))


def _aligned(rows: Tensor) -> Tensor:
    """Return rows with what lies between them in memory, if that is little; products of aligned rows are faster."""
    stride, own = rows.stride(0), rows.shape[1]
    room = rows.untyped_storage().nbytes() // rows.element_size() - rows.storage_offset()
    inside = rows.stride(1) == 1 and own < stride < own + ALIGNED and len(rows) * stride <= room
    return rows.as_strided((len(rows), stride), (stride, 1)) if inside else rows


def _einsum(like: DeviceArray, what: str, A: DeviceArray, B: DeviceArray, out: DeviceArray | None = None) -> Any:
    """Sum products along one of two axes; into whole numbers, exactly."""
    axis = {"ij,ij->i": 1, "ij,ij->j": 0}[what]
    products = A.tensor * B.tensor
    if out is None:
        return DeviceArray(products.sum(dim=axis))
    out.tensor.copy_(_exact_sum(products, axis) if out.tensor.dtype == torch.int64 else products.sum(dim=axis))
    return out


def _exact_sum(products: Tensor, axis: int) -> Tensor:
    """Sum whole numbers exactly: in float64 over 8,192 of them, in int64 over more."""
    n = products.shape[axis]
    k = n // EXACT_ROWS
    blocks = products.narrow(axis, 0, k * EXACT_ROWS).unflatten(axis, (k, EXACT_ROWS)).sum(dim=axis + 1)
    rest = products.narrow(axis, k * EXACT_ROWS, n - k * EXACT_ROWS).sum(dim=axis)
    return blocks.to(torch.int64).sum(dim=axis).add_(rest.to(torch.int64))


# ---------------------------------------------------------------- operations that torch lacks, or has otherwise


def _largest(a: Any, b: Any, *, out: Tensor | None = None) -> Tensor:
    return _bounded(torch.maximum, "min", a, b, out)


def _smallest(a: Any, b: Any, *, out: Tensor | None = None) -> Tensor:
    return _bounded(torch.minimum, "max", a, b, out)


def _bounded(both: Callable[..., Tensor], side: str, a: Any, b: Any, out: Tensor | None) -> Tensor:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return both(a, b, out=out)
    tensor, number = (a, b) if isinstance(a, torch.Tensor) else (b, a)
    return torch.clamp(tensor, **{side: number}, out=out)


def _ldexp(x: Tensor, k: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply by 2^k in two steps, of which only the second may round; torch's own takes 2^k in float32."""
    half = k >> 1
    return torch.mul(x * _power(half), _power(k - half), out=out)


def _power(k: Tensor) -> Tensor:
    """Return 2^k, for k of a normal number."""
    return ((k + _BIAS) << _FRACTION).view(torch.float64)


def _frexp(x: Tensor) -> tuple[Tensor, Tensor]:
    mantissa, exponent = torch.frexp(x)
    return mantissa, exponent


def _sqrt(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the root that IEEE 754 defines; on the processor torch's own may be off by the last bit."""
    if x.device.type != "cpu":
        return torch.sqrt(x, out=out)
    found = torch.from_numpy(np.asarray(np.sqrt(x.numpy())))
    return found if out is None else out.copy_(found)


def _clip(like: DeviceArray, A: DeviceArray, low: Any, high: Any, out: DeviceArray | None = None) -> DeviceArray:
    ends = like._operand(low), like._operand(high)
    if out is None:
        return DeviceArray(torch.clamp(A.tensor, *ends))
    torch.clamp(A.tensor, *ends, out=out.tensor)
    return out


def _where(like: DeviceArray, condition: DeviceArray, a: Any, b: Any) -> DeviceArray:
    return DeviceArray(torch.where(condition.tensor, like._operand(a), like._operand(b)))


def _new(fill: Callable[..., Tensor]) -> Callable[..., DeviceArray]:
    def made(like: DeviceArray, shape: Any, dtype: Any = float) -> DeviceArray:
        return DeviceArray(fill(shape, dtype=TYPES[np.dtype(dtype)], device=like.tensor.device))

    return made


def _joined(join: Callable[..., Tensor]) -> Callable[..., DeviceArray]:
    return lambda like, arrays, **options: DeviceArray(join([like._operand(own) for own in arrays], **options))


def _counted(like: DeviceArray, cells: DeviceArray, weights: Any = None, minlength: int = 0) -> np.ndarray[Any, Any]:
    """Count cells, or add whole weights up to 2^53 in them; counts come here."""
    given = None if weights is None else like._operand(weights)
    return np.asarray(torch.bincount(cells.tensor, given, minlength=minlength).cpu().numpy())


def _placed(like: DeviceArray, edges: Any, sizes: DeviceArray) -> DeviceArray:
    return DeviceArray(torch.searchsorted(like._operand(edges), sizes.tensor.contiguous()))


_UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    np.absolute: torch.abs,
    np.add: torch.add,
    np.bitwise_and: torch.bitwise_and,
    np.bitwise_or: torch.bitwise_or,
    np.divide: torch.true_divide,
    np.equal: torch.eq,
    np.floor: torch.floor,
    np.frexp: _frexp,
    np.greater: torch.gt,
    np.greater_equal: torch.ge,
    np.invert: torch.bitwise_not,
    np.isfinite: torch.isfinite,
    np.isnan: torch.isnan,
    np.ldexp: _ldexp,
    np.left_shift: torch.bitwise_left_shift,
    np.less: torch.lt,
    np.less_equal: torch.le,
    np.logical_not: torch.logical_not,
    np.logical_or: torch.logical_or,
    np.matmul: _matmul,
    np.maximum: _largest,
    np.minimum: _smallest,
    np.multiply: torch.mul,
    np.negative: torch.neg,
    np.right_shift: torch.bitwise_right_shift,
    np.rint: torch.round,
    np.sqrt: _sqrt,
    np.subtract: torch.sub,
}

_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.all: lambda like, A, axis=None: A.all(axis),
    np.any: lambda like, A, axis=None: A.any(axis),
    np.bincount: _counted,
    np.clip: _clip,
    np.count_nonzero: lambda like, A: DeviceArray(torch.count_nonzero(A.tensor)),
    np.einsum: _einsum,
    np.empty: _new(torch.empty),
    np.empty_like: lambda like, A: DeviceArray(torch.empty_like(A.tensor)),
    np.flatnonzero: lambda like, A: DeviceArray(torch.nonzero(A.tensor.reshape(-1))[:, 0]),
    np.full_like: lambda like, A, value: DeviceArray(torch.full_like(A.tensor, value)),
    np.hstack: _joined(torch.hstack),
    np.ones_like: lambda like, A: DeviceArray(torch.ones_like(A.tensor)),
    np.searchsorted: _placed,
    np.stack: _joined(torch.stack),
    np.vstack: _joined(torch.vstack),
    np.where: _where,
    np.zeros: _new(torch.zeros),
}
