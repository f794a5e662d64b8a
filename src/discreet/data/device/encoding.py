"""Encoding of numbers that are on a GPU, in one kernel: each is read once and written once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from discreet.core.arrays import Floats
from discreet.domain.encoding import Encoder

SOURCE = r"""
extern "C" __global__ void encoded(
    const NUMBER* X, int row, int column, double* A, int stride, int rows, int columns, const double* centre,
    const double* scale, const double* low, const double* high, int* bad)
{
    unsigned numbers = (unsigned) rows * columns, step = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < numbers; i += step) {
        unsigned r = i / columns, j = i - r * columns;
        double x = __dsub_rn((double) X[(long long) r * row + (long long) j * column], centre[j]);
        double z = __dmul_rn(x, scale[j]);
        z = z < low[j] ? low[j] : z;
        z = z > high[j] ? high[j] : z;
        bool finite = isfinite(x);
        A[(long long) r * stride + j] = finite ? rint(z) : x;
        if (!finite) *bad = 1;
    }
}
"""
"""The steps of `Encoder`, each rounded as IEEE 754 says: the intrinsics keep the compiler from joining two of them."""

_NUMBERS = {"float32": "float", "float64": "double"}
_THREADS, _BLOCKS = 256, 1 << 13
_MOST = 1 << 31


class DeviceEncoder(Encoder):
    """An encoder of rows that are on a device, with the bits of `Encoder`.

    Numbers in float32 or float64 are encoded by one kernel on a GPU. Everything else takes the steps of `Encoder`: rows
    that are scaled into a ball, other types, a PyTorch that compiles no kernel, the processor.
    """

    _bad: Any = None

    def place(self, blocks: Sequence[Any], A: Floats) -> None:
        """Write matrices of numbers side by side: encoded at once where a kernel can do it."""
        launches = [_launch(getattr(block, "tensor", None)) for block in blocks]
        if self._ball is not None or None in launches or A.size >= _MOST:
            super().place(blocks, A)
            return
        target: Any = A
        self._bad, left = target.tensor.new_zeros((), dtype=_torch().int32), 1
        maps: list[Any] = [self.centre, self._scale, self._low, self._high]
        for block, launch in zip(blocks, filter(None, launches), strict=True):
            X, at = block.tensor, slice(left, left + block.shape[1])
            Z = target.tensor[:, at]
            launch(X, *X.stride(), Z, Z.stride(0), *X.shape, *(own.tensor[at] for own in maps), self._bad)
            left = at.stop

    def finish(self, A: Floats) -> None:
        """Finish a batch; one that a kernel has encoded is done, unless some number is missing or infinite."""
        bad, self._bad = self._bad, None
        if bad is None:
            super().finish(A)
        elif bad:
            self.refuse_non_finite(A)


def _launch(X: Any) -> Callable[..., None] | None:
    """Return what encodes a matrix on a GPU by a kernel, if there is one for its type and its layout."""
    number = None if X is None else _NUMBERS.get(str(X.dtype).removeprefix("torch."))
    if number is None or not X.is_cuda or not X.numel() or max(abs(own) for own in X.stride()) >= _MOST:
        return None
    kernel = _kernel(number, X.device.index)
    if kernel is None:
        return None
    grid = min(-(-X.numel() // _THREADS), _BLOCKS)

    def launch(*arguments: Any) -> None:
        with _torch().cuda.device(X.device):
            kernel(grid=(grid, 1, 1), block=(_THREADS, 1, 1), args=list(arguments))

    return launch


@cache
def _kernel(number: str, index: int) -> Any:
    """Return the kernel for a type of numbers on a GPU; None where PyTorch cannot compile it."""
    cuda = _torch().cuda
    try:
        with cuda.device(index):
            compiled = getattr(cuda, "compile_kernel", None) or cuda._compile_kernel
            return compiled(SOURCE.replace("NUMBER", number), "encoded")
    except (AttributeError, RuntimeError, OSError, ImportError, TypeError):
        return None


def _torch() -> Any:
    from discreet.data.device import arrays

    return vars(arrays)["torch"]
