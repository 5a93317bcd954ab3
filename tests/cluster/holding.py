"""A worker process whose kernels hold the interpreter lock when a test says so.

Run as ``python -m tests.cluster.holding worker ...``: the command line of the package, with one more op
registered first. Functions do not travel, so a kernel that a test wants elsewhere must be there already.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from actorsession.cli import main
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, OpDef, is_registered, register
from actorsession.ops.build import make_one

__all__ = ["hold"]


def hold(x: Tensor, seconds: float, *, marker: Path, asleep: bool = False) -> Tensor:
    """Passes a tensor on after a time in which no other thread of that process gets the interpreter.

    Args:
        x: the tensor.
        seconds: how long.
        marker: a file that the kernel makes when it begins.
        asleep: whether to use no processor time meanwhile.
    """
    attrs = {"seconds": seconds, "marker": str(marker), "asleep": asleep}
    return make_one("TestHold", (x,), attrs)


def _kernel(context: Any) -> Callable[[Any], Any]:
    seconds, asleep = context.attrs["seconds"], context.attrs["asleep"]
    marker = Path(context.attrs["marker"])

    def holding(x: Any) -> Any:
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e6)  # so that nobody who waits for the lock is given it
        try:
            end = time.monotonic() + seconds
            marker.touch()
            if asleep:
                ctypes.PyDLL(None).usleep(int(seconds * 1e6))
            while time.monotonic() < end:
                pass
        finally:
            sys.setswitchinterval(interval)
        return x

    return holding


if not is_registered("TestHold"):
    register(
        OpDef(
            name="TestHold",
            infer=lambda context: context.inputs,
            kernel=_kernel,
            gradient=NOT_DIFFERENTIABLE,
            attrs={"seconds": 0.0, "marker": "", "asleep": False},
            aliases=True,
            cost=lambda inputs, outputs: 1e6,  # to the kernel pool, always
        )
    )


if __name__ == "__main__":
    sys.exit(main())
