"""A worker process whose clock is wrong, with an op that takes its time.

Run as ``python -m tests.cluster.shifted_worker SECONDS worker ...``: the command line of the package, by whose
wall clock it is so much later than it is.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from actorsession import Tensor
from actorsession.cli import main
from tests.nodes import make_one, op_type
from transports.host import SYSTEM, Clock

__all__ = ["slow"]


def slow(x: Tensor, seconds: float, name: str) -> Tensor:
    """Passes a tensor on after a time.

    Args:
        x: the tensor.
        seconds: how long.
        name: of the node.
    """
    return make_one("TestSlow", (x,), {"seconds": seconds}, name=name)


def _kernel(context: Any) -> Callable[[Any], Any]:
    def passing_on(x: Any) -> Any:
        time.sleep(context.attrs["seconds"])
        return x

    return passing_on


op_type("TestSlow", _kernel, attrs={"seconds": 0.0}, aliases=True, cost=lambda inputs, outputs: 1e6)


class ShiftedClock(Clock):
    """A clock by which it is later.

    Args:
        seconds: by how much.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def time(self) -> float:
        return time.time() + self._seconds

    def time_ns(self) -> int:
        return time.time_ns() + round(self._seconds * 1e9)


if __name__ == "__main__":
    SYSTEM.clock = ShiftedClock(float(sys.argv.pop(1)))  # of all threads
    sys.exit(main())
