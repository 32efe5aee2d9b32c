"""Reduces objects by messages, in the order of ranks for each operation."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable, Sequence
from typing import Any

from canele import _memory
from canele._native import Flow, Op

_Combine = Callable[[Any, Any], Any]


def _chosen(smaller: bool) -> _Combine:
    """Returns the function that chooses the smaller or the larger of two values, or of each two items of arrays. It prefers a number to a NaN."""

    def of_values(a: Any, b: Any) -> Any:
        if a != a:
            return b
        if b != b:
            return a
        return min(a, b) if smaller else max(a, b)

    def combine(a: Any, b: Any) -> Any:
        if not _memory.is_array(a):
            return of_values(a, b)
        import numpy

        if a.dtype.kind == "O":
            with numpy.errstate(invalid="ignore"):
                return numpy.frompyfunc(of_values, 2, 1)(a, b)
        if a.dtype.kind == "T":
            # numpy has no fmin for its texts.
            return numpy.minimum(a, b) if smaller else numpy.maximum(a, b)
        return numpy.fmin(a, b) if smaller else numpy.fmax(a, b)

    return combine


def _logical(name: str, of_truth: _Combine) -> _Combine:
    def combine(a: Any, b: Any) -> Any:
        if _memory.is_array(a):
            import numpy

            return getattr(numpy, name)(a, b)
        return of_truth(bool(a), bool(b))

    return combine


def _located(is_better: _Combine) -> _Combine:
    """Returns the function that chooses the pair (value, index) with the better value. If the values are equal, it chooses the smaller index."""

    def combine(a: Any, b: Any) -> Any:
        if _memory.is_array(a):
            return _located_items(is_better, a, b)
        (value, index), (other, other_index) = a, b
        if value != value:
            # A number is preferred to a NaN.
            return a if other != other and index <= other_index else b
        if value == other:
            return a if index <= other_index else b
        return b if is_better(other, value) else a

    return combine


def _located_items(is_better: _Combine, a: Any, b: Any) -> Any:
    """Chooses the better pair at each place of two arrays of structures with two fields."""
    import numpy

    names = a.dtype.names
    if not names or len(names) != 2:
        raise TypeError(f"MINLOC and MAXLOC reduce pairs (value, index), or arrays of structures with two fields, not of {a.dtype}")
    value, index = names
    equal = (a[value] == b[value]) | ((a[value] != a[value]) & (b[value] != b[value]))
    takes_b = is_better(b[value], a[value]) | ((a[value] != a[value]) & (b[value] == b[value]))
    return numpy.where(takes_b | (equal & (b[index] < a[index])), b, a)


_COMBINE: dict[Op, _Combine] = {
    Op.SUM: operator.add,
    Op.PROD: operator.mul,
    Op.MIN: _chosen(smaller=True),
    Op.MAX: _chosen(smaller=False),
    Op.LAND: _logical("logical_and", operator.and_),
    Op.LOR: _logical("logical_or", operator.or_),
    Op.LXOR: _logical("logical_xor", operator.xor),
    Op.BAND: operator.and_,
    Op.BOR: operator.or_,
    Op.BXOR: operator.xor,
    Op.MINLOC: _located(operator.lt),
    Op.MAXLOC: _located(operator.gt),
}


class _Failed:
    """The error of a value that could not be computed, in place of the value. All ranks that would get the value raise the error."""

    def __init__(self, error: Exception, rank: int) -> None:
        error.add_note(f"(in a reduction, raised by rank {rank})")
        try:
            self.error = pickle.loads(pickle.dumps(error))
        except Exception:
            self.error = RuntimeError(f"a reduction failed on rank {rank}: {error!r}")


def _combine_of(flow: Flow, op: Op | _Combine) -> _Combine:
    combine = _COMBINE[op] if isinstance(op, Op) else op

    def attempt(a: Any, b: Any) -> Any:
        for value in (a, b):
            if isinstance(value, _Failed):
                return value
        try:
            value = combine(a, b)
            # numpy returns the byte order of the machine. The dtype of a result must not depend on the number of ranks.
            return value.astype(a.dtype, copy=False) if isinstance(op, Op) and _memory.is_array(a) else value
        except Exception as error:
            return _Failed(error, flow.rank)

    return attempt


def _given(result: Any, value: Any) -> Any:
    """Returns the value, or puts it into `result` and returns None."""
    if isinstance(value, _Failed):
        raise value.error
    if result is None:
        return value
    _memory.fill(result, value)
    return None


def _at_first(flow: Flow, tag: int, value: Any, combine: _Combine) -> Any:
    """Returns the reduction on rank 0 of a flow of messages. Each rank combines its value with the reductions of the ranks behind it."""
    rank, size, step = flow.rank, flow.size, 1
    while step < size:
        if rank & step:
            flow.send_object(rank - step, tag, value)
            return None
        if rank + step < size:
            value = combine(value, flow.recv_object(rank + step, tag))
        step *= 2
    return value


def reduce(flow: Flow, root: int, data: Any, result: Any, op: Op | _Combine) -> Any:
    messages, tag = flow._of_objects()
    value = _at_first(messages, tag, data, _combine_of(flow, op))
    if root != 0 and flow.rank == 0:
        messages.send_object(root, tag, value)
    if flow.rank != root:
        return None
    return _given(result, value if root == 0 else messages.recv_object(0, tag))


def allreduce(flow: Flow, data: Any, result: Any, op: Op | _Combine) -> Any:
    value = _at_first(*flow._of_objects(), data, _combine_of(flow, op))
    return _given(result, flow.broadcast_object(0, value))


def _scanned(flow: Flow, tag: int, value: Any, combine: _Combine) -> Any:
    """Returns the reduction of the values of all ranks up to this one."""
    rank, size, step = flow.rank, flow.size, 1
    while step < size:
        send = flow.isend_object(rank + step, tag, value) if rank + step < size else None
        before = flow.recv_object(rank - step, tag) if rank >= step else None
        if send is not None:
            # The sent value must not change before it has left, but a function of the program may change it.
            send.wait()
        if rank >= step:
            value = combine(before, value)
        step *= 2
    return value


def scan(flow: Flow, data: Any, result: Any, op: Op | _Combine) -> Any:
    return _given(result, _scanned(*flow._of_objects(), data, _combine_of(flow, op)))


def exscan(flow: Flow, data: Any, result: Any, op: Op | _Combine) -> Any:
    messages, tag = flow._of_objects()
    value = _scanned(messages, tag, data, _combine_of(flow, op))
    send = messages.isend_object(flow.rank + 1, tag, value) if flow.rank + 1 < flow.size else None
    before = messages.recv_object(flow.rank - 1, tag) if flow.rank else None
    if send is not None:
        send.wait()
    return _given(result, before) if flow.rank else None


def reduce_scatter(flow: Flow, data: Any, result: Any, op: Op | _Combine, counts: Sequence[int] | None) -> Any:
    combine = _combine_of(flow, op)
    parts = flow.alltoall_objects(_parts_of(data, flow.size, counts))
    value = parts[0]
    for part in parts[1:]:
        value = combine(value, part)
    return _given(result, value)


def _parts_of(data: Any, size: int, counts: Sequence[int] | None) -> list[Any]:
    """Returns the data for each rank: parts of an array, or the objects of a sequence."""
    if counts is None and not _memory.is_array(data):
        return list(data)
    if counts is None:
        if data.size % size:
            raise ValueError(f"{data.size} items cannot be reduced in equal parts for {size} ranks: give counts, one for each rank")
        counts = [data.size // size] * size
    items = data.reshape(-1) if _memory.is_array(data) else data
    if len(counts) != size or sum(counts) != len(items):
        raise ValueError(f"counts are {list(counts)} for {len(items)} items and {size} ranks: give one for each rank, all items together")
    ends = [sum(counts[: place + 1]) for place in range(size)]
    return [items[end - count : end] for end, count in zip(ends, counts)]
