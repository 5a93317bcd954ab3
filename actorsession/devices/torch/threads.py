"""The threads of torch's kernels on the processor: their number, and kernels that run beside each other.

A number of threads is set for the thread that calls kernels, and torch gives every new thread the number that was set
last, in whichever thread. So segments set the number that they are for, and none relies on what it finds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from actorsession.devices.torch.loading import torch
from actorsession.ops.shares import Begun, begin

__all__ = ["USUAL_THREADS", "SideBySide", "in_one_thread"]

USUAL_THREADS = torch.get_num_threads()
"""The threads of kernels that are not too small for more than one."""


def _with_threads(number: int, function: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
    before = torch.get_num_threads()
    if before == number:
        return function(*arguments, **settings)
    torch.set_num_threads(number)
    try:
        return function(*arguments, **settings)
    finally:
        torch.set_num_threads(before)


def in_one_thread(function: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
    """Call a function of torch that would start threads for too little work."""
    return _with_threads(1, function, *arguments, **settings)


class SideBySide:
    """Kernels that run beside each other, with a thread each; see ``graph.device_kernels.SideBySide``."""

    def alone(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of a segment whose kernels run one after the other, with all threads."""
        return partial(_with_threads, USUAL_THREADS, function)

    def together(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of a segment some of whose kernels are begun beside the others."""
        return partial(in_one_thread, function)

    def begin(self, kernel: Callable[..., Any], *arguments: Any) -> Begun[Any]:
        """Begin a kernel in another thread."""
        return begin(partial(in_one_thread, kernel, *arguments), USUAL_THREADS - 1)
