"""Collectives whose parts have different lengths. Adds the counts and the memory that the caller leaves out."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

from canele import _memory
from canele._native import Flow


def _parts(memory: Any, counts: Sequence[int], shape: Sequence[int]) -> list[Any]:
    """Returns the parts of filled memory."""
    parts, begin = [], 0
    for count in counts:
        parts.append(_memory.part_of(memory, begin, begin + count, shape))
        begin += count
    return parts


def gatherv(flow: Flow, root: int, data: Any, all: Any, counts: Sequence[int] | None) -> list[Any] | None:
    if counts is None:
        counts = flow.gather(root, array("q", [_memory.count_items(data)]))
    made = _memory.items_like(data, sum(counts)) if all is None and flow.rank == root and counts is not None else None
    is_root = flow.rank == root
    flow.igatherv(root, data, (made if all is None else all) if is_root else None, counts if is_root else None).wait()
    return None if made is None else _parts(made, counts or [], _memory.row_shape(data))


def allgatherv(flow: Flow, data: Any, all: Any, counts: Sequence[int] | None) -> list[Any] | None:
    if counts is None:
        counts = list(flow.allgather(array("q", [_memory.count_items(data)])))
    memory = _memory.items_like(data, sum(counts)) if all is None else all
    flow.iallgatherv(data, memory, list(counts)).wait()
    return _parts(memory, counts, _memory.row_shape(data)) if all is None else None


def scatter(flow: Flow, root: int, all: Any) -> Any:
    """Does scatter() into new memory. The root first sends its type and length."""
    told: Any = None
    if flow.rank == root:
        if all is None:
            raise ValueError("the root gives what is scattered: there is nothing")
        if _memory.is_array(all):
            if not all.shape or all.shape[0] % flow.size:
                raise ValueError(f"an array of shape {all.shape} has no equal parts for {flow.size} ranks: use scatterv")
            rows = all.shape[0] // flow.size
            told = (_memory.items_like(all, 0), (*((rows,) if rows > 1 else ()), *_memory.row_shape(all)))
        else:
            told = (_memory.items_like(all, 0), _memory.count_items(all) // flow.size)
    model, shape = flow.broadcast_object(root, told)
    data = _memory.items_like(model, math.prod(shape) if isinstance(shape, tuple) else shape)
    flow.iscatter(root, all, data).wait()
    return data.reshape(shape) if isinstance(shape, tuple) else data


def scatterv(flow: Flow, root: int, all: Any, counts: Sequence[int] | None, data: Any) -> Any:
    is_root = flow.rank == root
    if is_root and isinstance(all, (list, tuple)):
        counts, all = _joined(all)
    if data is not None:
        flow.iscatterv(root, all if is_root else None, counts if is_root else None, data).wait()
        return None
    told = None
    if is_root:
        if all is None or counts is None or len(counts) != flow.size:
            raise ValueError(f"the root gives what is scattered and {flow.size} counts of items, one for each rank")
        told = [(_memory.items_like(all, 0), count, _memory.row_shape(all)) for count in counts]
    model, count, shape = flow.scatter_objects(root, told)
    data = _memory.items_like(model, count)
    flow.iscatterv(root, all if is_root else None, counts if is_root else None, data).wait()
    return _memory.part_of(data, 0, count, shape) if shape else data


def _joined(parts: Sequence[Any]) -> tuple[list[int], Any]:
    """Returns the number of items of each part, and one memory with all parts."""
    counts = [_memory.count_items(part) for part in parts]
    if parts and _memory.is_array(parts[0]):
        import numpy

        shape = _memory.row_shape(parts[0])
        # The number of empty rows cannot be computed from their items.
        arrays = [numpy.asarray(part).reshape(-1 if math.prod(shape) else len(part), *shape) for part in parts]
        return counts, numpy.concatenate(arrays)
    if parts and isinstance(parts[0], array):
        return counts, sum(parts[1:], parts[0])
    # The items of the joined memory are bytes.
    return [memoryview(part).nbytes for part in parts], b"".join(parts)


def alltoallv(
    flow: Flow, data: Any, counts: Sequence[int] | None, result: Any, result_counts: Sequence[int] | None
) -> list[Any] | None:
    if isinstance(data, (list, tuple)):
        if counts is not None or result is not None:
            raise ValueError("a list of one array for each rank is exchanged without counts and result memory: its parts are returned")
        return flow.alltoall_objects(data)
    if counts is None:
        raise ValueError(f"counts are missing: give {flow.size}, the items for each rank, or a list of one array for each rank")
    if len(counts) != flow.size:
        raise ValueError(f"{len(counts)} counts were given for {flow.size} ranks: give one for each rank")
    if result_counts is None:
        result_counts = list(flow.alltoall(array("q", counts)))
    memory = _memory.items_like(data, sum(result_counts)) if result is None else result
    flow.ialltoallv(data, list(counts), memory, list(result_counts)).wait()
    return _parts(memory, result_counts, _memory.row_shape(data)) if result is None else None
