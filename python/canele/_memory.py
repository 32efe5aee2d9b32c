"""Memory for the results of calls that were given none: of the type of what a rank gives."""

from __future__ import annotations

import array
import math
from collections.abc import Sequence
from typing import Any


def is_array(data: Any) -> bool:
    """True of arrays and scalars of numpy."""
    return hasattr(data, "dtype") and hasattr(data, "__array_interface__")


def like(data: Any) -> tuple[Any, bool]:
    """Memory as long as `data`; whether the result is the one item in it, as of a scalar of numpy."""
    if is_array(data):
        import numpy

        return numpy.empty_like(data), isinstance(data, numpy.generic)
    return items_like(data, count_items(data)), False


def items_like(data: Any, items: int) -> Any:
    """Memory for so many items, one behind the other."""
    if is_array(data):
        import numpy

        return numpy.empty(items, data.dtype)
    if isinstance(data, array.array):
        return array.array(data.typecode, bytes(items * data.itemsize))
    return bytearray(items * memoryview(data).itemsize)


def times_like(data: Any, times: int) -> Any:
    """Memory for so many times what `data` holds."""
    if is_array(data):
        import numpy

        return numpy.empty((times, *data.shape), in_rows(data).dtype)
    return items_like(data, times * count_items(data))


def count_items(data: Any) -> int:
    """How many items `data` has, in all dimensions."""
    if is_array(data):
        return int(data.size)
    view = memoryview(data)
    return view.nbytes // view.itemsize


def part_of(memory: Any, begin: int, end: int, shape: Sequence[int]) -> Any:
    """Items of one-dimensional memory, without a copy; of an array as rows of a shape."""
    if is_array(memory):
        return memory[begin:end].reshape(-1, *shape) if shape and math.prod(shape) else memory[begin:end]
    if isinstance(memory, array.array):
        return memory[begin:end]
    return memoryview(memory)[begin:end]


def row_shape(data: Any) -> tuple[int, ...]:
    """The dimensions of an array but the first."""
    return tuple(in_rows(data).shape[1:]) if is_array(data) else ()


def in_rows(data: Any) -> Any:
    """The same array, if its rows lie one behind the other: the parts of a result are rows."""
    if not data.flags.c_contiguous:
        raise BufferError(f"an array of shape {data.shape} does not lie in C's order: give numpy.ascontiguousarray of it, or memory for the result")
    return data


def fill(into: Any, value: Any) -> None:
    """Copies a value into memory of its type and length."""
    if is_array(into):
        into[...] = value
    else:
        memoryview(into).cast("B")[:] = memoryview(value).cast("B")
