"""Regions as arrays of numpy, and slices of other ranks' regions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from canele._native import Region, RemoteRegion
from canele.errors import LengthMismatch, OutOfRange

__all__ = ["RemoteArray"]


def local_array(region: Region, dtype: Any, shape: int | Sequence[int] | None, offset: int) -> Any:
    """Returns the array of Region.array()."""
    import numpy

    item = _plain_type(numpy.dtype(dtype))
    if offset < 0 or offset > len(region):
        raise OutOfRange(f"offset {offset} lies outside of the region of {len(region)} bytes")
    if shape is None:
        shape = (len(region) - offset) // item.itemsize
    dims = (shape,) if isinstance(shape, int) else tuple(shape)
    needed = math.prod(dims) * item.itemsize
    if offset + needed > len(region):
        raise OutOfRange(f"{needed} bytes of shape {dims} and type {item} at {offset} lie outside of the region of {len(region)} bytes")
    return numpy.ndarray(dims, item, memoryview(region), offset)


def _plain_type(item: Any) -> Any:
    """Returns a numpy type. Raises TypeError if its items hold Python objects, whose addresses mean nothing to other ranks."""
    if item.hasobject:
        raise TypeError(f"items of type {item} hold Python objects, which no region can hold: send them with send_object")
    return item


class RemoteArray:
    """An array in a region of any rank, made by RemoteRegion.array(): `array[2:5]` reads, `array[2:5] = values` writes.

    Indices are numbers, slices and `…`, as in numpy. Each run of adjacent items is one get or put: slices of whole rows are fastest.
    On return the written values are in the owner's memory. Raises IndexError and the errors of RemoteRegion.put(). Raises OutOfRange beyond
    the region. On the owner's host a region extends to the end of its last page.
    """

    def __init__(self, remote: RemoteRegion, dtype: Any, shape: int | Sequence[int], offset: int = 0) -> None:
        import numpy

        self._remote = remote
        self._dtype = _plain_type(numpy.dtype(dtype))
        self._shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self._offset = offset

    @property
    def remote(self) -> RemoteRegion:
        """The region that contains the array."""
        return self._remote

    @property
    def owner(self) -> int:
        """The rank that owns the region."""
        return self._remote.owner

    @property
    def dtype(self) -> Any:
        """The numpy type of the items."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return self._shape

    def __len__(self) -> int:
        return self._shape[0]

    def __getitem__(self, key: Any) -> Any:
        import numpy

        selection = _Selection(self._shape, key)
        data = numpy.empty(selection.counts, self._dtype)
        self._move(selection, data, self._remote.get)
        return data.reshape(selection.shape)[()]

    def __setitem__(self, key: Any, value: Any) -> None:
        import numpy

        selection = _Selection(self._shape, key)
        given = numpy.asarray(value)
        if not numpy.can_cast(given.dtype, self._dtype, "same_kind"):
            raise LengthMismatch(f"values of type {given.dtype} do not fit in an array of {self._dtype}: convert them first")
        data = numpy.empty(selection.shape, self._dtype)
        data[...] = given
        self._move(selection, data.reshape(selection.counts), self._remote.put)

    def put(self, key: Any, value: Any) -> None:
        """Does what `array[key] = value` does."""
        self[key] = value

    def get(self, key: Any) -> Any:
        """Returns `array[key]`."""
        return self[key]

    def _move(self, selection: _Selection, data: Any, move: Any) -> None:
        """Copies each run of adjacent items between the region and contiguous memory."""
        item = self._dtype.itemsize
        flat = data.reshape(-1)
        for number, at in enumerate(selection.starts()):
            part = flat[number * selection.stretch : (number + 1) * selection.stretch]
            if part.size:
                move(self._offset + at * item, part)

    def __repr__(self) -> str:
        return f"<canele.RemoteArray of shape {self._shape} and type {self._dtype} of rank {self.owner}>"


class _Selection:
    """The items that a key selects, as runs of adjacent items."""

    def __init__(self, shape: Sequence[int], key: Any) -> None:
        # For each dimension: the first index, the step, the number of indices, and True if the dimension is kept.
        self._ranges = [_range_of(index, length) for index, length in zip(_indices(shape, key), shape)]
        self.counts = tuple(count for _, _, count, _ in self._ranges)
        self.shape = tuple(count for _, _, count, is_kept in self._ranges if is_kept)
        self._strides = [math.prod(shape[place + 1 :]) for place in range(len(shape))]
        # Dimensions from here on form one run: whole dimensions, after a part of one dimension.
        self._outer = len(shape)
        self.stretch = 1
        while self._outer:
            start, step, count, _ = self._ranges[self._outer - 1]
            if step != 1 and count > 1:
                break
            self._outer -= 1
            self.stretch *= count
            if (start, count) != (0, shape[self._outer]):
                break

    def starts(self) -> Iterator[int]:
        """Yields the position of the first item of each run, counted in items from the first item of the array."""
        inner = sum(self._ranges[place][0] * self._strides[place] for place in range(self._outer, len(self._ranges)))
        return self._from(0, inner)

    def _from(self, place: int, at: int) -> Iterator[int]:
        if place == self._outer:
            yield at
            return
        start, step, count, _ = self._ranges[place]
        for number in range(count):
            yield from self._from(place + 1, at + (start + number * step) * self._strides[place])


def _indices(shape: Sequence[int], key: Any) -> list[Any]:
    """Returns one index for each dimension."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if keys.count(...) > 1 or len(keys) - keys.count(...) > len(shape):
        raise IndexError(f"{len(keys)} indices do not fit an array of {len(shape)} dimensions")
    missing = len(shape) - (len(keys) - keys.count(...))
    place = keys.index(...) if ... in keys else len(keys)
    return keys[:place] + [slice(None)] * missing + keys[place + 1 :]


def _range_of(index: Any, length: int) -> tuple[int, int, int, bool]:
    """Returns the first index, the step, the number of indices, and True if the dimension is kept."""
    if isinstance(index, slice):
        chosen = range(*index.indices(length))
        return chosen.start, chosen.step, len(chosen), True
    if not hasattr(index, "__index__"):
        raise IndexError(f"an index is a number, a slice or …, not a {type(index).__name__}: get the rows and select from them")
    number = index.__index__()
    if not -length <= number < length:
        raise IndexError(f"index {number} lies outside of a dimension of {length}: give one from 0 to {length - 1}")
    return number % length, 1, 1, False
