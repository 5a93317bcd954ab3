"""The calls of subgraphs that a device's compiler makes faster: counted, compiled meanwhile, and then made.

Generated code makes one ``CompiledCalls`` for each subgraph (``subgraphs``) and calls it in each step. Until the
subgraph ran often it gives nothing, and the code runs the nodes one by one. Compilation takes seconds to a minute, so
one thread of the process compiles what is due, one after the other, while steps go on as before: no step ever waits for
it. The thread ends when nothing is due, and an interpreter that ends does not wait for it.

Invariant: a call never raises what the nodes would not. Whatever fails, in the compiler or in what it made, the nodes
run one by one, and they say what is wrong.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from actorsession.graph.device_kernels import Compiler, type_of
from transports.host import current_host

__all__ = ["OFTEN", "CompiledCalls"]

OFTEN = 16
"""Calls with the same shapes after which a subgraph is compiled."""

# Shapes for which a subgraph is compiled, each anew, because code for known sizes is the faster: that of torch's
# limit of recompilation. And shapes that are counted at all.
_MOST_COMPILED = 8
_MOST_COUNTED = 64
# Calls that may fail in what was compiled before it is given up; each failure costs some microseconds.
_MOST_FAILURES = 8
_THREAD_NAME = "actorsession-compiler"

_log = logging.getLogger(__name__)
_Function: TypeAlias = "Callable[..., Sequence[Any] | None]"
_Shapes: TypeAlias = "tuple[tuple[int, ...], ...]"


def _nothing(*arrays: Any) -> None:
    """Be what is called in place of a function that is not compiled."""


class CompiledCalls:
    """The calls of one subgraph.

    Args:
        function: computes it by the kernels of its nodes.
        varying: positions of the arguments whose shapes may differ from call to call.
        nodes: how many nodes it has.
        device: full name of the device.
        compiler: that of the device.
        plan: returns the owner of the code; ``None`` once that was dropped.
    """

    __slots__ = (
        "_compiler",
        "_counts",
        "_device",
        "_failures",
        "_forms",
        "_is_full",
        "_lock",
        "_nodes",
        "_plan",
        "_varying",
        "function",
    )

    def __init__(
        self,
        function: Callable[..., Sequence[Any]],
        varying: Sequence[int],
        nodes: int,
        *,
        device: str,
        compiler: Compiler,
        plan: Callable[[], object],
    ) -> None:
        self.function = function
        self._varying = varying
        self._nodes = nodes
        self._device = device
        self._compiler = compiler
        self._plan = plan
        self._lock = threading.Lock()
        self._counts: dict[_Shapes, int] = {}
        self._forms: dict[_Shapes, _Function] = {}  # by the shapes for which they were compiled, or will not be
        self._failures = 0
        self._is_full = False  # nothing is counted any more

    def __call__(self, *arrays: Any) -> Sequence[Any] | None:
        """Return the results of the compiled function; ``None`` if there is none, or it fails."""
        shapes = tuple([tuple(arrays[k].shape) for k in self._varying]) if self._varying else ()
        form = self._forms.get(shapes)
        if form is None:
            if not self._is_full:
                self._count(shapes, arrays)
            return None
        try:
            return form(*arrays)
        except Exception as exc:
            self._failed(shapes, exc)
            return None

    def _count(self, shapes: _Shapes, arrays: Sequence[Any]) -> None:
        """Count a call, and have the function compiled if there were enough."""
        with self._lock:
            count = self._counts[shapes] = self._counts.get(shapes, 0) + 1
            self._is_full = len(self._counts) == _MOST_COUNTED or len(self._forms) == _MOST_COMPILED
            if self._is_full or count < OFTEN:
                return
            del self._counts[shapes]
            self._forms[shapes] = _nothing
        line = current_host().own(_Line)
        if not line.add(lambda: self._compile(line, shapes, arrays)):
            del self._forms[shapes]  # there can be no more threads now

    def _compile(self, line: _Line, shapes: _Shapes, arrays: Sequence[Any]) -> None:
        """Compile the function for the shapes of a call, unless nobody can call it any more."""
        if self._plan() is None:
            return
        what, now = f"{self._nodes} nodes of {self._device}", current_host().clock.perf_counter
        began = now()
        try:
            compiled = self._compiler(self.function, arrays)
        except Exception as exc:
            reason = f"{type(exc).__name__}: {str(exc).strip().partition(chr(10))[0]}"
            level = line.level_of(type_of(self._device))
            _log.log(level, "%s run as before: they were not compiled, %s", what, reason)
            return
        took = now() - began
        if compiled is self.function:
            _log.info("%s run as before: compiled in %.1f s, they are not faster", what, took)
            return
        self._forms[shapes] = compiled
        _log.info("%s are compiled, in %.1f s", what, took)

    def _failed(self, shapes: _Shapes, exc: Exception) -> None:
        """Count a call that what was compiled did not take; give it up after some."""
        with self._lock:
            self._failures += 1
            if self._failures < _MOST_FAILURES:
                return
            self._failures = 0
            self._forms[shapes] = _nothing
        _log.info("%d nodes of %s run as before: their compiled code fails, %r", self._nodes, self._device, exc)


class _Line:
    """What waits to be compiled, one after the other in one thread, which ends when nothing is left."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._due: deque[Callable[[], None]] = deque()
        self._runs = False
        self._told: set[str] = set()

    def level_of(self, device_type: str) -> int:
        """Return how loud it is said that a compiler fails: for each device type, one warning is enough."""
        if device_type in self._told:
            return logging.INFO
        self._told.add(device_type)
        return logging.WARNING

    def add(self, work: Callable[[], None]) -> bool:
        """Have work done in the thread; return whether there is one."""
        with self._lock:
            self._due.append(work)
            if self._runs:
                return True
            try:
                current_host().processes.start_thread(self._next, _THREAD_NAME)
            except RuntimeError:
                self._due.clear()
                return False
            self._runs = True
            return True

    def _next(self) -> bool:
        """Do the next work; return whether there was any."""
        with self._lock:
            self._runs = bool(self._due)
            work = self._due.popleft() if self._due else None
        if work is not None:
            work()
        return work is not None
