"""Errors of values that cannot be sent to another task or to a client, with the node that they come from.

The codec knows a value alone. The tasks and the master of a step, which know its partitions, make of the
codec's error one that names node, device and task. Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from actorsession.errors import OpError
from actorsession.messages.step_frames import fault_of
from actorsession.plan.partition import Partition

__all__ = ["unsent_fetch"]


def unsent_fetch(
    partitions: Iterable[Partition], positions: Sequence[int], values: Sequence[Any], error: OpError
) -> OpError:
    """Return the error of fetched values that cannot be sent.

    Args:
        partitions: those that return the values.
        positions: for each value, its position in the fetches of the partitions.
        values: the values.
        error: the error that was met, for values each of which could be sent alone.
    """
    for position, value in zip(positions, values, strict=False):
        fault = fault_of(value)
        if fault is not None:
            return _located(partitions, position, fault)
    return _located(partitions, positions[0], error) if len(positions) == 1 else error


def _located(partitions: Iterable[Partition], position: int, fault: OpError) -> OpError:
    for partition in partitions:
        for at, name, index in partition.fetches:
            if at == position:
                source = next((node.source for node in partition.nodes if node.name == name), None)
                error = type(fault)(f"the value of {name}:{index} cannot be sent: {fault.message}")
                error.__cause__ = fault
                return error.locate(node=name, device=partition.device, task=partition.task, source=source)
    return fault
