"""Members of a group that exchange values through one rendezvous, in one thread and without a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.extend import DeviceAttributes
from actorsession.graph.collective_call import Collective, CollectiveCall
from actorsession.graph.device import LOCAL_TASK
from actorsession.runtime.collective.executor import CollectiveExecutor
from actorsession.runtime.collective.groups import GroupTable
from actorsession.runtime.rendezvous import Rendezvous

__all__ = ["collective", "device", "exchange"]


def device(number: int, incarnation: int = 0) -> DeviceAttributes:
    return DeviceAttributes(
        name=f"{LOCAL_TASK}/device:CPU:{number}", device_type="CPU", incarnation=incarnation or number + 1
    )


def collective(kind: str, size: int, **more: Any) -> Collective:
    return Collective(**{"kind": kind, "group": 1, "instance": 1, "size": size, **more})


def exchange(calls: Sequence[CollectiveCall], order: Sequence[int] = (), tables: Any = None) -> list[CollectiveCall]:
    """Begin a call on each device, in some order, and return the calls."""
    executor = CollectiveExecutor(Rendezvous(), tables or GroupTable(), None)
    for rank in order or range(len(calls)):
        executor.begin(calls[rank], device(rank))
    return list(calls)
