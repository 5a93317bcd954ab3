"""Calls of a ``Session`` in the cells of a notebook, whose kernel runs cells inside its event loop.

In a coroutine a call that blocks is a mistake: others share the loop, and there is ``AsyncSession``. In a
cell it is what the user asked for: Jupyter's kernel runs one cell at a time, on its loop, and a cell without
``await`` can be nothing but a call that blocks this loop. So a ``Session`` may be called from the code of a
cell, and must not be called from a coroutine that the user has defined, whoever awaits it.

``blocking``, ``sync_session`` and ``partial`` ask here only where a loop runs, so that scripts and threads
pay nothing.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import warnings
from collections.abc import Callable
from dataclasses import field
from types import FrameType
from typing import TypeVar

from actorsession.graph.source_location import stack_level
from actorsession.records import dataclass
from actorsession.runtime.watchdog import HOLD_LIMIT
from transports.host import current_host

__all__ = ["CellCalls", "CellWarning", "blocks_loop", "is_cell", "without_loop"]

T = TypeVar("T")
_SUSPENDABLE = inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR


class CellWarning(UserWarning):
    """A step in a cell of a notebook has held the event loop of the kernel for long."""


def is_cell(frame: FrameType | None) -> bool:
    """Return whether code runs in a cell of a notebook and in no coroutine of the user.

    The nearest coroutine on the stack decides, because all calls since are plain ones. For a cell it is
    IPython's ``run_code``, which executes the cell; for the callback of a widget it is the kernel's handler
    of messages. A cell with an ``await`` of its own is itself the coroutine, and IPython awaits it; a
    coroutine function of the user is awaited by the cell, or is a task. Whether IPython is imported, or
    which task is the current one, decides nothing: coroutines that a cell awaits would pass as well.

    Args:
        frame: the frame of the code.
    """
    while frame is not None and not frame.f_code.co_flags & _SUSPENDABLE:
        frame = frame.f_back
    if frame is None:  # a callback of the loop, or no loop at all
        return False
    return _package(frame) in ("IPython", "ipykernel") or _package(frame.f_back) == "IPython"


def _package(frame: FrameType | None) -> str:
    name = "" if frame is None else frame.f_globals.get("__name__")
    return name.partition(".")[0] if isinstance(name, str) else ""


def blocks_loop() -> bool:
    """Return whether a call that blocks would hold an event loop that it must not hold."""
    return asyncio._get_running_loop() is not None and not is_cell(sys._getframe(1))


def without_loop(call: Callable[[], T]) -> T:
    """Call a function in a cell as it would be called in a script, where no loop runs in the thread.

    Everything below then does what it does in a script: functions in the graph may run sessions and loops of
    their own, and the watchdog does not blame nodes for holding a loop.
    """
    loop = asyncio._get_running_loop()
    try:
        asyncio._set_running_loop(None)
        return call()
    finally:
        # First of all here: Ctrl-C is handled after a call, and a kernel without its loop would be lost.
        asyncio._set_running_loop(loop)


@dataclass(slots=True)
class CellCalls:
    """The steps of one session in cells, of which the first that holds the loop for long gets a warning.

    Attributes:
        planned: whether the step under way was planned first. Planning, connecting and the import of kernels
            take place once, and are no reason to change a program.
        warned: whether there was a warning.
        clock: returns the time in seconds.
    """

    planned: bool = False
    warned: bool = False
    clock: Callable[[], float] = field(default_factory=lambda: current_host().clock.perf_counter)

    def step(self, call: Callable[[], T]) -> T:
        """Run a step in a cell; warn if it was the first to hold the loop for long."""
        self.planned = False
        begin = self.clock()
        result = without_loop(call)
        held = self.clock() - begin
        if held > HOLD_LIMIT and not self.planned and not self.warned:
            self.warned = True
            warnings.warn(
                f"a step of this Session has held the notebook's event loop for {held:.2g} s: widgets and "
                "tasks stand still meanwhile. `session = acts.AsyncSession(...)` and `await "
                "session.run(...)` in the cell let them go on; "
                "`warnings.simplefilter('ignore', acts.debugging.CellWarning)` accepts it",
                CellWarning,
                stacklevel=stack_level(),
            )
        return result
