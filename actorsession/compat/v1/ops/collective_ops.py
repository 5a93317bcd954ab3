"""``tensorflow.python.ops.collective_ops``: collectives whose keys the program gives itself."""

from __future__ import annotations

from typing import Any

from actorsession.graph.dtypes import as_dtype
from actorsession.graph.operation import Tensor
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor

__all__ = [
    "all_gather",
    "all_gather_v2",
    "all_reduce",
    "all_reduce_v2",
    "all_to_all_v2",
    "broadcast_recv",
    "broadcast_recv_v2",
    "broadcast_send",
    "broadcast_send_v2",
]


def all_reduce(
    t: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    merge_op: str = "Add",
    final_op: str = "Id",
    subdiv_offsets: tuple[int, ...] = (0,),
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """Return the tensors of all members, merged by ``merge_op`` and finished by ``final_op``.

    Raises:
        ValueError: if the group has fewer than 2 members.
    """
    _check_size(group_size)
    return raw.CollectiveReduce(
        convert_to_tensor(t),
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        merge_op=merge_op,
        final_op=final_op,
        subdiv_offsets=list(subdiv_offsets),
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def all_gather(
    t: Any, group_size: int, group_key: int, instance_key: int, communication_hint: str = "auto", timeout: float = 0
) -> Tensor:
    """Return the tensors of all members, joined along the first axis.

    Raises:
        ValueError: if the group has fewer than 2 members, or the tensor's shape is not known.
    """
    _check_size(group_size)
    value = convert_to_tensor(t)
    rows, *others = value.shape.as_list()
    return raw.CollectiveGather(
        value,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        shape=[None if rows is None else rows * group_size, *others],
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def broadcast_send(
    t: Any,
    shape: Any,
    dtype: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """Send a tensor to all other members, and return it.

    Raises:
        ValueError: if the group has fewer than 2 members, or the tensor has another dtype.
    """
    _check_size(group_size)
    return raw.CollectiveBcastSend(
        convert_to_tensor(t, as_dtype(dtype)),
        shape=shape,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def broadcast_recv(
    shape: Any,
    dtype: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """Return the tensor of the member that sends.

    Raises:
        ValueError: if the group has fewer than 2 members.
    """
    _check_size(group_size)
    return raw.CollectiveBcastRecv(
        T=as_dtype(dtype),
        shape=shape,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def all_reduce_v2(
    t: Any,
    group_size: Any,
    group_key: Any,
    instance_key: Any,
    merge_op: str = "Add",
    final_op: str = "Id",
    communication_hint: str = "auto",
    timeout: float = 0,
    ordering_token: Any = None,
    max_subdivs_per_device: int = -1,
    name: str | None = None,
) -> Tensor:
    """Return the tensors of all members, merged; size and keys may be tensors."""
    return raw.CollectiveReduceV2(
        t,
        group_size,
        group_key,
        instance_key,
        _tokens(ordering_token),
        merge_op=merge_op,
        final_op=final_op,
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
        max_subdivs_per_device=max_subdivs_per_device,
        name=name,
    )


def all_gather_v2(
    t: Any,
    group_size: Any,
    group_key: Any,
    instance_key: Any,
    communication_hint: str = "auto",
    timeout: float = 0,
    ordering_token: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return the tensors of all members, joined along the first axis; size and keys may be tensors."""
    return raw.CollectiveGatherV2(
        t,
        group_size,
        group_key,
        instance_key,
        _tokens(ordering_token),
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
        name=name,
    )


def all_to_all_v2(
    t: Any,
    group_size: Any,
    group_key: Any,
    instance_key: Any,
    communication_hint: str = "auto",
    timeout: float = 0,
    ordering_token: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return what the members have sent to this one: the i-th part of each tensor goes to member i."""
    return raw.CollectiveAllToAllV2(
        t,
        group_size,
        group_key,
        instance_key,
        _tokens(ordering_token),
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
        name=name,
    )


def broadcast_send_v2(
    t: Any, group_size: Any, group_key: Any, instance_key: Any, communication_hint: str = "auto", timeout: float = 0
) -> Tensor:
    """Send a tensor to all other members, and return it; size and keys may be tensors."""
    return raw.CollectiveBcastSendV2(
        t, group_size, group_key, instance_key, communication_hint=communication_hint.lower(), timeout_seconds=timeout
    )


def broadcast_recv_v2(
    shape: Any,
    dtype: Any,
    group_size: Any,
    group_key: Any,
    instance_key: Any,
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """Return the tensor of the member that sends; shape, size and keys may be tensors."""
    return raw.CollectiveBcastRecvV2(
        group_size,
        group_key,
        instance_key,
        shape,
        T=as_dtype(dtype),
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def _check_size(group_size: int) -> None:
    """Refuse a group without a second member, as TensorFlow does where the size is an attribute."""
    if group_size < 2:
        raise ValueError(f"a collective has a group_size of at least 2, got {group_size}")


def _tokens(ordering_token: Any) -> list[Any]:
    return [] if ordering_token is None else [ordering_token]
