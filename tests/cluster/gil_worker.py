"""A worker process whose kernels hold the interpreter lock when a test says so.

Run as ``python -m tests.cluster.gil_worker worker ...``: the command line of the package, with one more op
registered first. Functions do not travel, so a kernel that a test wants elsewhere must be there already.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from actorsession import Tensor
from actorsession.cli import main
from tests.nodes import make_one, op_type

__all__ = ["hold"]


def hold(x: Tensor, seconds: float, *, marker: Path, asleep: bool = False) -> Tensor:
    """Passes a tensor on after a time in which no other thread of that process gets the interpreter.

    Args:
        x: the tensor.
        seconds: how long.
        marker: a file that the kernel makes when it has the lock and gives it to no one any more.
        asleep: whether to use no processor time meanwhile.
    """
    attrs = {"seconds": seconds, "marker": str(marker), "asleep": asleep}
    return make_one("TestHold", (x,), attrs)


def _kernel(context: Any) -> Callable[[Any], Any]:
    seconds, asleep = context.attrs["seconds"], context.attrs["asleep"]
    marker = context.attrs["marker"]

    def holding(x: Any) -> Any:
        calls = ctypes.PyDLL(None)  # which keep the interpreter lock
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e6)  # so that nobody who waits for the lock is given it
        try:
            # A thread that began to wait under the former interval asks for the lock by the end of it, and
            # is given the lock before the marker is made.
            calls.usleep(int(2e6 * interval))
            end = time.monotonic() + seconds
            calls.close(calls.creat(marker.encode(), 0o600))
            if asleep:
                calls.usleep(int(seconds * 1e6))
            while time.monotonic() < end:
                pass
        finally:
            sys.setswitchinterval(interval)
        return x

    return holding


# To the kernel pool, always.
_ATTRS = {"seconds": 0.0, "marker": "", "asleep": False}
op_type("TestHold", _kernel, attrs=_ATTRS, aliases=True, cost=lambda inputs, outputs: 1e6)


if __name__ == "__main__":
    sys.exit(main())
