"""``acts.collective``: sums, gathers and broadcasts over a group of devices.

A ``Group`` gives out the keys by which members find each other, so nobody writes one: the n-th collective
that a member builds meets the n-th of every other member. Members build the same collectives of a group in
the same order, each in a process of its own or each in the device scope of its own.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

from actorsession.durations import checked_seconds
from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int32
from actorsession.graph.graph import Graph, control_dependencies, get_default_graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops import raw
from actorsession.ops.arrays.fills import zeros_like
from actorsession.ops.build import constant, convert_to_tensor
from actorsession.ops.derivatives.custom_gradients import custom_gradient
from actorsession.ops.flow.control import no_op
from actorsession.process_bound import GraphBound
from actorsession.records import description

__all__ = ["Group", "all_gather", "all_reduce", "all_to_all", "barrier", "broadcast", "reduce_scatter"]

_REDUCTIONS = {
    "sum": ("Add", "Id"),
    "mean": ("Add", "Div"),
    "prod": ("Mul", "Id"),
    "min": ("Min", "Id"),
    "max": ("Max", "Id"),
}
# The number of groups of each graph, from which their keys follow.
_GROUPS: weakref.WeakKeyDictionary[Graph, int] = weakref.WeakKeyDictionary()


class Group(GraphBound):
    """Devices that take part in the same collectives.

    The keys of groups are numbered by graph: members in different processes make their groups in one order.

    Args:
        size: number of members, each a device of its own.
        graph: the graph of this member; the default one if left out.
        timeout: seconds that a collective may take; 0 for the limit of its step.
        communication_hint: the library by which the devices may exchange large values, such as ``nccl`` or ``gloo``;
            ``auto`` for what the settings of the session say, ``ring`` for none.

    Raises:
        InvalidArgumentError: if the size is below 1 or the timeout below 0.
    """

    def __init__(
        self, size: int, graph: Graph | None = None, timeout: float = 0.0, communication_hint: str = "auto"
    ) -> None:
        if size < 1:
            raise InvalidArgumentError(f"a group has a size of at least 1, got {size}")
        self._graph = graph or get_default_graph()
        self._size = size
        self._settings = {
            "timeout_seconds": checked_seconds("group_timeout", timeout),
            "communication_hint": communication_hint,
        }
        self._key = _GROUPS[self._graph] = _GROUPS.get(self._graph, 0) + 1
        self._built: Counter[str] = Counter()  # collectives by the device that was requested for them

    def __repr__(self) -> str:
        return description(self, str(self._key), size=self._size)

    @property
    def size(self) -> int:
        """The number of members."""
        return self._size

    @property
    def key(self) -> int:
        """The key by which the members find each other."""
        return self._key

    def next_keys(self, device: str) -> list[Tensor]:
        """Return size, key of the group and key of the next instance of a member, as inputs of a node.

        Args:
            device: the device that was requested for the member's node; "" for none.
        """
        self._built[device] += 1
        keys = (self._size, self._key, self._built[device])
        return [constant(key, int32, graph=self._graph) for key in keys]

    def node(self, make: Callable[..., Any], value: Tensor, **attrs: Any) -> Tensor:
        """Add a node of this group on the device of a value, and return its output."""
        with self._graph.as_default(), self._graph.device(value.op.device or None):
            output: Tensor = make(value, *self.next_keys(value.op.device), **self._settings, **attrs)
        return output


def _reduction(op: str) -> dict[str, str]:
    if op not in _REDUCTIONS:
        raise InvalidArgumentError(f"op is one of {sorted(_REDUCTIONS)}, got {op!r}")
    merge, final = _REDUCTIONS[op]
    return {"merge_op": merge, "final_op": final}


def _differentiable(tensor: Any, forward: Callable[[Tensor], Tensor], back: Callable[[Tensor], Any]) -> Tensor:
    """Return ``forward`` of a tensor, whose gradient is ``back`` of that of the result."""

    def function(x: Tensor) -> Any:
        device = x.op.device or None

        def placed(grad: Tensor) -> Any:
            with x.graph.device(device):  # the member of the gradients is the same
                return back(grad)

        return forward(x), placed

    result: Tensor = custom_gradient(function)(tensor)
    return result


def all_reduce(tensor: Any, group: Group, op: str = "sum") -> Tensor:
    """Reduce the tensors of all members; each gets the result.

    The sum and the mean have a gradient: the same reduction of the members' gradients.

    Args:
        tensor: this member's tensor; all have one shape and dtype.
        group: the members.
        op: ``sum``, ``mean``, ``prod``, ``min`` or ``max``. The mean of integers is rounded towards zero.

    Returns:
        A tensor of the same shape and dtype, the same bits at all members.

    Raises:
        InvalidArgumentError: for another ``op``; in the step, if members do not agree.
    """
    how = _reduction(op)

    def forward(x: Tensor) -> Tensor:
        return group.node(_no_tokens(raw.CollectiveReduceV2), x, **how)

    if op not in ("sum", "mean"):
        return forward(_at_device(tensor))
    return _differentiable(tensor, forward, lambda grad: all_reduce(grad, group, op))


def all_gather(tensor: Any, group: Group) -> Tensor:
    """Join the tensors of all members along the first axis, in the order of their devices.

    Args:
        tensor: this member's tensor, of at least one dimension; all have one shape and dtype.
        group: the members.
    """
    return _differentiable(
        tensor, lambda x: group.node(_no_tokens(raw.CollectiveGatherV2), x), lambda grad: reduce_scatter(grad, group)
    )


def reduce_scatter(tensor: Any, group: Group, op: str = "sum") -> Tensor:
    """Reduce the tensors of all members; each gets its part of the result along the first axis.

    Args:
        tensor: this member's tensor, whose number of rows is divisible by that of members.
        group: the members; the first gets the first part.
        op: see ``all_reduce``; sum and mean have gradients.
    """
    how = _reduction(op)

    def forward(x: Tensor) -> Tensor:
        return group.node(_no_tokens(raw.CollectiveReduceScatterV2), x, **how)

    def back(grad: Tensor) -> Tensor:
        gathered = all_gather(grad, group)
        return gathered / float(group.size) if op == "mean" else gathered

    if op not in ("sum", "mean"):
        return forward(_at_device(tensor))
    return _differentiable(tensor, forward, back)


def all_to_all(tensor: Any, group: Group) -> Tensor:
    """Send the i-th part of a tensor along its first axis to member i, and join what arrives.

    Args:
        tensor: this member's tensor, whose number of rows is divisible by that of members.
        group: the members.
    """
    return _differentiable(
        tensor, lambda x: group.node(_no_tokens(raw.CollectiveAllToAllV2), x), lambda grad: all_to_all(grad, group)
    )


def broadcast(tensor: Any, group: Group, *, sends: bool) -> Tensor:
    """Give all members the tensor of one of them.

    Args:
        tensor: this member's tensor; where ``sends`` is false it only gives shape and dtype.
        group: the members.
        sends: whether this member's tensor is the one; exactly one member's is.

    Returns:
        The tensor of the sending member. Its gradient is the sum of all gradients there, and zero elsewhere.
    """

    def forward(x: Tensor) -> Tensor:
        if sends:
            return group.node(raw.CollectiveBcastSendV2, x)

        def receive(x: Tensor, size: Tensor, key: Tensor, instance: Tensor, **more: Any) -> Tensor:
            received = raw.CollectiveBcastRecvV2(size, key, instance, raw.Shape(x), T=x.dtype, **more)
            received.set_shape(x.shape)
            return received

        return group.node(receive, x)

    def back(grad: Tensor) -> Tensor:
        total = all_reduce(grad, group)
        if sends:
            return total
        with control_dependencies([total]):  # the sender waits for this member's gradient
            return raw.Identity(zeros_like(grad))

    return _differentiable(tensor, forward, back)


def barrier(group: Group) -> Operation:
    """Return an operation that ends when every member has begun its own."""
    with group._graph.as_default():
        met = all_reduce(constant(0, int32), group, "max")
        with control_dependencies([met]):
            return no_op()


def _at_device(tensor: Any) -> Tensor:
    """Return a tensor as the output of a node on the device of the current scope."""
    return raw.Identity(convert_to_tensor(tensor))


def _no_tokens(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of an op type whose last input is a list of ordering tokens, without any."""
    return lambda value, size, key, instance, **attrs: make(value, size, key, instance, [], **attrs)
