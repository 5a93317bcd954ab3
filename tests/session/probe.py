"""A node of a graph that runs a function of the test: to hold a step, or to see which thread runs it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from actorsession import Tensor
from tests.nodes import make_one, op_type

__all__ = ["Probe"]

# Seconds; a few times what may run on an event loop.
_DEAR = 0.004


class Probe:
    """Builds nodes that return their input, and notes the threads in which they ran.

    Args:
        name: of its nodes' kernel; unique in a test.
        work: called by each of its nodes; nothing if left out.
        dear: whether it is estimated above what may run on an event loop.

    Attributes:
        threads: the name of the thread of each call so far.
    """

    _probes: dict[str, Probe] = {}

    def __init__(self, name: str, work: Callable[[], Any] | None = None, *, dear: bool = True) -> None:
        self.threads: list[str] = []
        self._name = name
        self._work = work
        self._dear = dear
        self._type = "TestDearProbe" if dear else "TestCheapProbe"
        self._probes[name] = self

    def __call__(self, x: Tensor) -> Tensor:
        return make_one(self._type, (x,), {"probe": self._name})

    def run(self) -> None:
        self.threads.append(threading.current_thread().name)
        if self._work is not None:
            self._work()
        elif self._dear:
            time.sleep(_DEAR)  # what is measured to be cheap would not go to a pool again

    @classmethod
    def kernel(cls, context: Any) -> Callable[[Any], Any]:
        probe = cls._probes[context.attrs["probe"]]

        def call(x: Any) -> Any:
            probe.run()
            return x

        return call


# Microseconds; what runs for more than a thousand goes to a pool, and every node above a hundred is looked
# at before it begins.
for _name, _cost in {"TestDearProbe": 1e6, "TestCheapProbe": 200.0}.items():
    _fields: Any = {"aliases": True, "stateful": True, "cost": lambda inputs, outputs, cost=_cost: cost}
    op_type(_name, Probe.kernel, attrs={"probe": ""}, **_fields)
