"""Makes memory for the results of calls without memory for the result. It has the type of the data that the rank gives."""

from __future__ import annotations

import array
import math
from collections.abc import Sequence
from typing import Any


def is_array(data: Any) -> bool:
    """Returns True for arrays and scalars of numpy."""
    return hasattr(data, "dtype") and hasattr(data, "__array_interface__")


def like(data: Any) -> tuple[Any, bool]:
    """Returns memory as long as `data`, and True if the result is the only item in it, as for a scalar of numpy."""
    if is_array(data):
        import numpy

        return numpy.empty_like(data), isinstance(data, numpy.generic)
    return items_like(data, count_items(data)), False


def items_like(data: Any, items: int) -> Any:
    """Returns memory for `items` items of the type of `data`."""
    if is_array(data):
        import numpy

        return numpy.empty(items, data.dtype)
    if isinstance(data, array.array):
        return array.array(data.typecode, bytes(items * data.itemsize))
    return bytearray(items * memoryview(data).itemsize)


def times_like(data: Any, times: int) -> Any:
    """Returns memory for `times` times the items of `data`."""
    if is_array(data):
        import numpy

        return numpy.empty((times, *data.shape), in_rows(data).dtype)
    return items_like(data, times * count_items(data))


def count_items(data: Any) -> int:
    """Returns the number of items of `data`, in all dimensions."""
    if is_array(data):
        return int(data.size)
    view = memoryview(data)
    return view.nbytes // view.itemsize


def part_of(memory: Any, begin: int, end: int, shape: Sequence[int]) -> Any:
    """Returns a part of one-dimensional memory, without a copy. The part of an array gets rows of `shape`."""
    if is_array(memory):
        rows = -1 if math.prod(shape) else 0
        return memory[begin:end].reshape(rows, *shape) if shape else memory[begin:end]
    if isinstance(memory, array.array):
        return memory[begin:end]
    return memoryview(memory)[begin:end]


def row_shape(data: Any) -> tuple[int, ...]:
    """Returns the dimensions of an array but the first."""
    return tuple(in_rows(data).shape[1:]) if is_array(data) else ()


def in_rows(data: Any) -> Any:
    """Returns the array. Raises BufferError unless its rows lie one behind the other, because the parts of a result are rows."""
    if not data.flags.c_contiguous:
        raise BufferError(f"an array of shape {data.shape} does not lie in C's order: give numpy.ascontiguousarray of it, or memory for the result")
    return data


def contiguous_copy(data: Any) -> Any:
    """Returns a copy of an array that is not contiguous, in the order of its dimensions if that is C's or Fortran's. Returns None for other data."""
    if not is_array(data) or data.flags.c_contiguous or data.flags.f_contiguous:
        return None
    copy = data.copy(order="K")
    return copy if copy.flags.c_contiguous or copy.flags.f_contiguous else data.copy(order="C")


def fill(into: Any, value: Any) -> None:
    """Copies a value into memory of its type and length."""
    if is_array(into):
        into[...] = value
    else:
        memoryview(into).cast("B")[:] = memoryview(value).cast("B")
