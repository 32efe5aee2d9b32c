"""Awaits requests under asyncio: a thread of the library makes progress, and rings the bell of the event loop."""

from __future__ import annotations

import asyncio
import weakref
from typing import Any

from canele import _native


class _Waiting:
    """The requests that tasks of one event loop await."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._bell = _native.Bell()
        # Several tasks may await one request.
        self._futures: dict[_native.Request, list[asyncio.Future[None]]] = {}
        # The loop does not keep this object alive, and this object does not keep the loop alive.
        self._loop = weakref.ref(loop)
        self._listens = False

    def add(self, request: _native.Request, future: asyncio.Future[None]) -> None:
        loop = self._loop()
        assert loop is not None, "its tasks run"
        self._futures.setdefault(request, []).append(future)
        if not self._listens:
            loop.add_reader(self._bell.fileno(), self._look)
            self._listens = True

    def discard(self, request: _native.Request, future: asyncio.Future[None]) -> None:
        futures = self._futures[request]
        futures.remove(future)
        if not futures:
            del self._futures[request]
        loop = self._loop()
        if self._listens and not self._futures and loop is not None and not loop.is_closed():
            loop.remove_reader(self._bell.fileno())
            self._listens = False

    def begin(self, request: _native.Request) -> bool:
        """Returns True if the request has ended. Otherwise the bell rings once it may have ended."""
        return request._test_or_notify(self._bell)

    def _look(self) -> None:
        self._bell.silence()
        for request, futures in list(self._futures.items()):
            waiting = [future for future in futures if not future.done()]
            if waiting and self._has_ended(request):
                for future in waiting:
                    future.set_result(None)

    def _has_ended(self, request: _native.Request) -> bool:
        try:
            return self.begin(request)
        except Exception:
            # The tasks get the error from their own calls.
            return True


_loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Waiting] = weakref.WeakKeyDictionary()


async def wait_for(request: _native.Request) -> Any:
    """Waits for a request and returns its result."""
    if not request.test():
        loop = asyncio.get_running_loop()
        waiting = _loops.get(loop)
        if waiting is None:
            waiting = _loops[loop] = _Waiting(loop)
        if not waiting.begin(request):
            future: asyncio.Future[None] = loop.create_future()
            waiting.add(request, future)
            try:
                # The request may have ended after the first test.
                if not waiting.begin(request):
                    await future
            finally:
                waiting.discard(request, future)
    return request.wait()
