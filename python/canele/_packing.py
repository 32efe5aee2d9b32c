"""Packs objects, functions and exceptions as bytes for another process.

A packed object is a list of buffers: a pickle (protocol 5), and views of the object's large buffers. Owns the form of exceptions with their
traceback, and the import of another process's main module. Never sends anything."""

from __future__ import annotations

import functools
import importlib
import os
import pickle
import runpy
import sys
import traceback
import types
from collections.abc import Sequence
from typing import Any

from canele.errors import Unpicklable

# Contiguous memory.
Buffers = Sequence[Any]

MAIN = "__mp_main__"


@functools.cache
def cloudpickle() -> Any:
    """Returns the module cloudpickle, which packs functions by value, or None."""
    try:
        return importlib.import_module("cloudpickle")
    except ImportError:
        return None


def pack(obj: Any) -> list[Any]:
    """Packs an object by pickle. Uses cloudpickle, if it is installed, where pickle fails or another process could not import the function.

    Raises Unpicklable."""
    by_value = cloudpickle()
    if by_value and main_of_process() is None:
        return dump(by_value.dumps, obj)
    try:
        return dump(pickle.dumps, obj)
    except Unpicklable:
        if by_value is None:
            raise
    return dump(by_value.dumps, obj)


def dump(dumps: Any, obj: Any) -> list[Any]:
    beside: list[pickle.PickleBuffer] = []
    try:
        pickled = dumps(obj, protocol=5, buffer_callback=beside.append)
    except Exception as error:
        advice = "" if cloudpickle() else ": define functions and classes in a module, not in functions or as lambdas, or install cloudpickle"
        raise Unpicklable(f"{short(obj)} cannot be sent to another process, as it cannot be pickled ({describe(error)}){advice}") from error
    return [pickled, *(buffer.raw() for buffer in beside)]


def unpack(buffers: Buffers) -> Any:
    """Returns the object that the buffers hold. The object may keep using them.

    Raises Unpicklable."""
    try:
        return pickle.loads(buffers[0], buffers=buffers[1:])
    except Exception as error:
        advice = ""
        if isinstance(error, AttributeError) and ("__main__" in str(error) or MAIN in str(error)):
            advice = ": functions of a notebook or of an interactive session need cloudpickle; else put them into a module or a script"
        raise Unpicklable(f"an object came that this process cannot load ({describe(error)}){advice}") from error


def short(obj: Any) -> str:
    text = repr(obj)
    return text if len(text) <= 100 else text[:99] + "…"


def describe(error: BaseException) -> str:
    """Returns the last line of an error's report."""
    return "".join(traceback.format_exception_only(error)).strip()


class RemoteTraceback(Exception):
    """The traceback of an exception in the process that raised it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


class RemoteError(Exception):
    """The type and text of an exception that cannot be pickled or loaded again."""


def pack_exception(error: BaseException) -> list[Any]:
    """Packs an exception with its traceback."""
    text = "".join(traceback.format_exception(error))
    try:
        packed = pack((error, text))
        unpack(packed)
        return packed
    except Exception:
        return pack((RemoteError(describe(error)), text))


def unpack_exception(buffers: Buffers) -> BaseException:
    """Returns the exception, with its traceback as its cause."""
    try:
        error, text = unpack(buffers)
    except Unpicklable as failure:
        return failure
    assert isinstance(error, BaseException), "as it was packed"
    error.__cause__ = RemoteTraceback(text)
    return error


def main_of_process() -> dict[str, str] | None:
    """Returns the name or path by which another process imports this one's main module. Returns None in a notebook or an interactive session."""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        # The main module of `python -m PACKAGE` has no functions that are sent.
        return {} if spec.name.endswith("__main__") else {"name": spec.name}
    path = getattr(main, "__file__", None)
    # A program that is read from standard input has no file.
    return {"path": os.path.abspath(path)} if path and os.path.isfile(path) else None


def import_main(main: dict[str, str] | None) -> None:
    """Imports the main module of another process as this one's, under the name that multiprocessing uses: blocks of `if __name__ ==
    "__main__"` are left out."""
    if not main or getattr(sys.modules["__main__"], "_canele_main", None) == main:
        return
    if "name" in main:
        namespace = runpy.run_module(main["name"], run_name=MAIN, alter_sys=True)
    else:
        namespace = runpy.run_path(main["path"], run_name=MAIN)
    module = types.ModuleType(MAIN)
    module.__dict__.update(namespace, _canele_main=main)
    sys.modules["__main__"] = sys.modules[MAIN] = module


def pack_surroundings() -> bytes:
    """Packs the surroundings that another process needs to load this one's functions: module paths, arguments, main module."""
    # Objects that come back from the other process refer to the main module by this name.
    sys.modules[MAIN] = sys.modules["__main__"]
    return pickle.dumps((sys.path, sys.argv, main_of_process()))


def take_surroundings(packed: Any) -> None:
    """Makes the surroundings of another process this one's."""
    path, arguments, main = pickle.loads(packed)
    sys.path[:], sys.argv[:] = path, arguments
    import_main(main)
