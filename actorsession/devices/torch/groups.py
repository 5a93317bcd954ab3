"""Groups of torch devices that exchange tensors by torch's process groups: Gloo on the processor, NCCL between GPUs.

The members meet at a store that the first one opens. Nothing of NCCL was tried: no GPU was at hand.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from functools import partial
from typing import Any

from actorsession.devices.torch.arrays import TORCH_TYPES
from actorsession.devices.torch.loading import torch
from actorsession.graph.collective_call import (
    ALL_TO_ALL,
    BROADCAST,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    Collective,
    DeviceGroup,
    DeviceGroups,
)
from actorsession.graph.dtypes import DType, bfloat16, float16, float32, float64

__all__ = ["TorchGroups", "gloo", "nccl"]

distributed = torch.distributed

_LIMIT = timedelta(seconds=30)
"""How long members wait for each other: to meet, and for each part of a value."""

# Not the least and the greatest: libraries differ in what they are where a number is NaN.
_MERGES = {"Add": "SUM", "Mul": "PRODUCT"}
# What torch reads when it makes a group of NCCL. By default an error in it ends the process; with the first of these,
# whoever waits for an exchange gets the error, and waits for the GPU as well.
_WAITS = "TORCH_NCCL_BLOCKING_WAIT"
_ERRORS_OF_NCCL = frozenset({_WAITS, "TORCH_NCCL_ASYNC_ERROR_HANDLING"})
_TYPES = frozenset({bfloat16, float16, float32, float64})


class TorchGroup:
    """One member's end of a process group of torch (the ``DeviceGroup`` protocol).

    Args:
        group: the process group.
        device: torch's name of the member's device.
        opened: what the group exists as long as.
    """

    def __init__(self, group: Any, device: str, opened: Any) -> None:
        self._group = group
        self._device = device
        self._opened = opened

    def exchange(self, collective: Collective, value: Any, shape: Sequence[int], dtype: DType, source: int) -> Any:
        """See ``DeviceGroup.exchange``."""
        given = torch.empty(tuple(shape), dtype=TORCH_TYPES[dtype], device=self._device) if value is None else value
        result, work = _EXCHANGES[collective.kind](self._group, given.contiguous(), collective, source)
        work.wait()
        return result.div_(collective.size) if collective.final == "Div" else result


def _reduce(group: Any, value: Any, collective: Collective, source: int) -> tuple[Any, Any]:
    options = distributed.AllreduceOptions()
    options.reduceOp = getattr(distributed.ReduceOp, _MERGES[collective.merge])
    result = value.clone()
    return result, group.allreduce([result], options)


def _gather(group: Any, value: Any, collective: Collective, source: int) -> tuple[Any, Any]:
    result = value.new_empty((collective.size * value.shape[0], *value.shape[1:]))
    return result, group._allgather_base(result, value)


def _reduce_scatter(group: Any, value: Any, collective: Collective, source: int) -> tuple[Any, Any]:
    options = distributed.ReduceScatterOptions()
    options.reduceOp = getattr(distributed.ReduceOp, _MERGES[collective.merge])
    result = value.new_empty((value.shape[0] // collective.size, *value.shape[1:]))
    return result, group._reduce_scatter_base(result, value, options)


def _all_to_all(group: Any, value: Any, collective: Collective, source: int) -> tuple[Any, Any]:
    result = torch.empty_like(value)
    return result, group.alltoall_base(result, value, [], [], distributed.AllToAllOptions())


def _broadcast(group: Any, value: Any, collective: Collective, source: int) -> tuple[Any, Any]:
    options = distributed.BroadcastOptions()
    options.rootRank, options.rootTensor = source, 0
    return value, group.broadcast([value], options)


_EXCHANGES: dict[str, Callable[[Any, Any, Collective, int], tuple[Any, Any]]] = {
    REDUCE: _reduce,
    GATHER: _gather,
    REDUCE_SCATTER: _reduce_scatter,
    ALL_TO_ALL: _all_to_all,
    BROADCAST: _broadcast,
}


class TorchGroups:
    """A library of torch's process groups (the ``DeviceGroups`` protocol).

    Args:
        make: makes a process group of a store, a rank, a size, the member's device and its host.
        device: returns torch's name of a device with a full name.
    """

    def __init__(self, make: Callable[[Any, int, int, Any, str], Any], device: Callable[[str], Any]) -> None:
        self._make = make
        self._device = device

    def takes(self, collective: Collective, dtype: DType) -> bool:
        """See ``DeviceGroups.takes``."""
        return dtype in _TYPES and (not collective.merge or collective.merge in _MERGES)

    def begin(self, host: str) -> tuple[str, Any]:
        """See ``DeviceGroups.begin``: a store at a free port of that address alone."""
        family = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0][0]
        with closing(socket.socket(family, socket.SOCK_STREAM)) as listener:
            listener.bind((host, 0))
            listener.listen()
            port = listener.getsockname()[1]
            store = _store(host, port, is_master=True, master_listen_fd=listener.detach())
        return f"{host}:{port}", store

    def join(self, address: str, device: str, rank: int, size: int, host: str) -> DeviceGroup:
        """See ``DeviceGroups.join``."""
        where, _, port = address.rpartition(":")
        store, name = _store(where, int(port)), self._device(device)
        return TorchGroup(self._make(store, rank, size, name, host), name, store)


def _store(host: str, port: int, **more: Any) -> Any:
    # Without libuv, whose signal pipe stays open for ever.
    return distributed.TCPStore(host, port, timeout=_LIMIT, wait_for_workers=False, use_libuv=False, **more)


def _gloo(store: Any, rank: int, size: int, device: Any, host: str) -> Any:
    group = distributed.ProcessGroupGloo
    options = group._Options()
    options._timeout, options._threads = _LIMIT, 1
    options._devices = [group.create_device(hostname=host)]
    return group(store, rank, size, options)


def _nccl(library: Any, store: Any, rank: int, size: int, device: Any, host: str) -> Any:
    library.cuda.set_device(device)  # of this thread
    group = library.distributed.ProcessGroupNCCL
    options = group.Options()
    options._timeout = _LIMIT
    is_chosen = not _ERRORS_OF_NCCL.isdisjoint(os.environ)
    if not is_chosen:
        os.environ[_WAITS] = "1"
    try:
        return group(store, rank, size, options)
    finally:
        if not is_chosen:
            os.environ.pop(_WAITS, None)


def gloo() -> Mapping[str, DeviceGroups]:
    """Return Gloo, for devices on the processor, by the hint that asks for it; nothing if torch was built without."""
    there = distributed.is_available() and distributed.is_gloo_available()
    return {"gloo": TorchGroups(_gloo, lambda device: "cpu")} if there else {}


def nccl(device: Callable[[str], Any], library: Any = torch) -> Mapping[str, DeviceGroups]:
    """Return NCCL likewise, for GPUs.

    Args:
        device: returns torch's name of a device with a full name.
        library: torch.
    """
    there = library.distributed.is_available() and library.distributed.is_nccl_available()
    return {"nccl": TorchGroups(partial(_nccl, library), device)} if there else {}
