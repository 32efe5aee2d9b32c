"""Grids of ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from canele import _memory
from canele._native import Flow, Request

__all__ = ["Cart", "choose_dims"]


class Cart:
    """A grid of ranks, made by Flow.cart(). Its flow numbers the ranks row by row: the last coordinate counts fastest.

    Beyond the ends of the grid there is None in place of a rank.
    """

    def __init__(self, flow: Flow, dims: Sequence[int], periods: Sequence[bool]) -> None:
        self._flow = flow
        self._dims = tuple(dims)
        self._periods = tuple(periods)

    @property
    def flow(self) -> Flow:
        """The flow of the grid's ranks."""
        return self._flow

    @property
    def dims(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return self._dims

    @property
    def periods(self) -> tuple[bool, ...]:
        """True for each dimension that is closed to a ring."""
        return self._periods

    @property
    def rank(self) -> int:
        """The number of this process in the grid."""
        return self._flow.rank

    @property
    def coords(self) -> tuple[int, ...]:
        """The coordinates of this rank."""
        return self.coords_of(self.rank)

    def coords_of(self, rank: int) -> tuple[int, ...]:
        """Returns the coordinates of a rank. Raises ValueError if the rank is not in the grid."""
        if not 0 <= rank < self._flow.size:
            raise ValueError(f"rank {rank} is not in a grid of {self._flow.size} ranks: give one from 0 to {self._flow.size - 1}")
        coords = []
        for dim in reversed(self._dims):
            rank, coord = divmod(rank, dim)
            coords.append(coord)
        return tuple(reversed(coords))

    def rank_of(self, coords: Sequence[int]) -> int | None:
        """Returns the rank at the coordinates, or None if they lie outside of the grid. In a periodic dimension they continue at the other end.

        Raises ValueError unless there is one coordinate for each dimension.
        """
        if len(coords) != len(self._dims):
            raise ValueError(f"coords are {tuple(coords)}: give {len(self._dims)}, one for each dimension")
        rank = 0
        for coord, dim, is_periodic in zip(coords, self._dims, self._periods):
            if is_periodic:
                coord %= dim
            elif not 0 <= coord < dim:
                return None
            rank = rank * dim + coord
        return rank

    def shift(self, dim: int, by: int = 1) -> tuple[int | None, int | None]:
        """Returns the rank that sends to this one and the rank that receives from it, in a shift by `by` places along a dimension.

        Raises ValueError if there is no such dimension.
        """
        if not 0 <= dim < len(self._dims):
            raise ValueError(f"there is no dimension {dim}: the grid's dimensions are numbered from 0 to {len(self._dims) - 1}")
        return self._step(dim, -by), self._step(dim, by)

    def _step(self, dim: int, by: int) -> int | None:
        coords = list(self.coords)
        coords[dim] += by
        return self.rank_of(coords)

    @property
    def neighbours(self) -> tuple[int | None, ...]:
        """The ranks before and behind this one, for each dimension."""
        return tuple(self._step(dim, by) for dim in range(len(self._dims)) for by in (-1, 1))

    def sub(self, remain: Sequence[bool]) -> Cart:
        """Makes the grid of the ranks that differ from this one only in the dimensions whose value in `remain` is true. All ranks call sub().

        Raises ValueError unless there is one truth value for each dimension.
        """
        if len(remain) != len(self._dims):
            raise ValueError(f"remain is {tuple(remain)}: give {len(self._dims)} values, one for each dimension")
        color = 0
        for coord, dim, remains in zip(self.coords, self._dims, remain):
            color = color * dim + (0 if remains else coord)
        flow = self._flow.split(color, self.rank)
        assert flow is not None, "each rank has a color"
        kept = [place for place, remains in enumerate(remain) if remains]
        return Cart(flow, [self._dims[place] for place in kept], [self._periods[place] for place in kept])

    def ineighbour_exchange(self, data: Any, result: Any = None) -> Request:
        """Starts neighbour_exchange()."""
        return self._start(data, result, is_same=False)

    def ineighbour_gather(self, data: Any, result: Any) -> Request:
        """Starts neighbour_gather() into the memory `result`."""
        return self._start(data, result, is_same=True)

    def neighbour_exchange(self, data: Any, result: Any = None) -> Any:
        """Sends each neighbour its part of `data`, and receives a part from each in `result`, both in the order of `neighbours`.

        Both have 2 equal parts for each dimension, such as an array of shape (2 * dimensions, …). Beyond the ends of the grid the part keeps
        its values. Without `result` the call fills and returns a copy of `data`. Raises LengthMismatch if types or lengths do not fit.
        """
        memory = result
        if memory is None:
            memory, _ = _memory.like(data)
            _memory.fill(memory, data)
        self.ineighbour_exchange(data, memory).wait()
        return memory if result is None else None

    def neighbour_gather(self, data: Any, result: Any = None) -> Any:
        """Sends `data` to each neighbour, and receives the neighbours' data in the parts of `result`, in the order of `neighbours`.

        Without `result` the call returns a list, which has None beyond the ends of the grid.
        """
        if result is not None:
            self.ineighbour_gather(data, result).wait()
            return None
        memory = _memory.times_like(data, 2 * len(self._dims))
        self.ineighbour_gather(data, memory).wait()
        length = _memory.count_items(data)
        return [
            None if rank is None else memory[place] if _memory.is_array(memory) else memory[place * length : (place + 1) * length]
            for place, rank in enumerate(self.neighbours)
        ]

    def _start(self, data: Any, result: Any, *, is_same: bool) -> Request:
        places = 2 * len(self._dims)
        sends = _places(_bytes_of(data), 1 if is_same else places)
        receives = _places(_bytes_of(result), places)
        around = self.neighbours
        # A message sent down a dimension comes from above. If both neighbours are one rank, messages up are sent first, and so arrive first from below.
        order = [place ^ 1 for place in range(places)]
        send_list = [(rank, *sends[0 if is_same else place]) for place in order if (rank := around[place]) is not None]
        receive_list = [(rank, *receives[place]) for place, rank in enumerate(around) if rank is not None]
        return self._flow._iexchange(data, send_list, result, receive_list)

    def __repr__(self) -> str:
        return f"<canele.Cart of dims {self._dims}: rank {self.rank} at {self.coords}>"


def _bytes_of(memory: Any) -> int:
    return int(memory.nbytes) if _memory.is_array(memory) else memoryview(memory).nbytes


def _places(total: int, places: int) -> list[tuple[int, int]]:
    """Returns the offset and the bytes of each of the equal parts."""
    if places and total % places:
        raise ValueError(f"{total} bytes cannot be {places} equal parts, one for each neighbour")
    length = total // places if places else 0
    return [(place * length, length) for place in range(places)]


def choose_dims(ranks: int, dims: int | Iterable[int]) -> tuple[int, ...]:
    """Returns the sizes of the dimensions of a grid of `ranks` ranks. They are as equal as possible, the larger ones first.

    `dims` is the number of dimensions, or has the size of each. A size of 0 is chosen. Raises ValueError if the given sizes do not divide
    the number of ranks.
    """
    wanted = [0] * dims if isinstance(dims, int) else list(dims)
    if any(dim < 0 for dim in wanted):
        raise ValueError(f"dims are {tuple(wanted)}: give sizes, or 0 where one is to be chosen")
    given = math.prod(dim for dim in wanted if dim)
    if 0 not in wanted:
        return tuple(wanted)
    if ranks % given:
        raise ValueError(f"dims are {tuple(wanted)}, but {given} does not divide {ranks} ranks: leave out some or give other sizes")
    chosen = iter(_balanced(ranks // given, wanted.count(0), ranks))
    return tuple(dim or next(chosen) for dim in wanted)


def _balanced(n: int, parts: int, most: int) -> list[int]:
    """Returns `parts` factors of n, none above `most`, or an empty list. The first one is as small as possible, then the second, and so on."""
    if parts == 1:
        return [n] if n <= most else []
    for factor in (factor for factor in range(1, min(n, most) + 1) if n % factor == 0 and factor**parts >= n):
        rest = _balanced(n // factor, parts - 1, factor)
        if rest:
            return [factor, *rest]
    return []


def create(flow: Flow, dims: int | Iterable[int], periods: bool | Sequence[bool] | None) -> Cart | None:
    """Makes the grid of Flow.cart()."""
    sizes = choose_dims(flow.size, dims)
    places = math.prod(sizes)
    if places > flow.size or places < 1:
        raise ValueError(f"dims are {sizes}, a grid of {places} places, but the flow has {flow.size} ranks")
    around = [bool(periods)] * len(sizes) if periods is None or isinstance(periods, (bool, int)) else [bool(one) for one in periods]
    if len(around) != len(sizes):
        raise ValueError(f"periods are {tuple(around)}: give {len(sizes)}, one for each dimension")
    part = flow.split(0 if flow.rank < places else None, flow.rank)
    return None if part is None else Cart(part, sizes, around)
