"""Tensors of GPUs with CUDA, lent to other processes of the host by torch's functions for CUDA IPC.

A ticket is what ``_share_cuda_`` of a storage returns and the place of the tensor in it, packed as plain values, with
the GPU by its unique id, because processes may see different ones and number them differently. The event in it has the
other process wait for what was launched before. Nothing here was tried on a GPU.

torch counts the readers of a storage that is shared, in a file that both processes map, and keeps its memory while
there are any, also beyond the tensor. The reader counts down when it drops the storage; it may never have opened it, or
have been killed. So the lender counts down as well when a loan ends, after which nobody reads it: below zero is as good
as zero.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import msgpack

from actorsession.devices.torch.arrays import TORCH_TYPES, Tensor, TorchArrays
from actorsession.devices.torch.loading import torch
from actorsession.errors import InvalidArgumentError

__all__ = ["CudaLending", "cuda_lending"]

_log = logging.getLogger(__name__)
_DTYPES = {dtype.name: known for dtype, known in TORCH_TYPES.items()}
_NAME_OF = {known: name for name, known in _DTYPES.items()}
# Torch's names of the files of counters, and how many there are in one.
_COUNTERS, _COUNTERS_OF_FILE = re.compile(rb"/torch_\d+_\d+_\d+"), 10_000
_MAX_RANK = 64
_MAX_HANDLE = 4096  # bytes; a handle of CUDA has 64, and torch puts some before them


class _Ticket(NamedTuple):
    """What a ticket says; the last seven are what ``_share_cuda_`` returns, but for the number of the GPU."""

    dtype: str
    shape: list[int]
    strides: list[int]
    start: int  # in elements of the storage
    gpu: str
    handle: bytes
    nbytes: int
    offset: int
    counters: bytes
    counter: int
    event: bytes
    waits: bool

    @classmethod
    def read(cls, data: bytes) -> _Ticket:
        """Read a ticket.

        Raises:
            InvalidArgumentError: for anything but one.
        """
        try:
            ticket = cls(*msgpack.unpackb(data))
            ticket._check()
        except Exception as exc:
            raise InvalidArgumentError(f"this is no ticket for a tensor of a GPU: {exc}") from exc
        return ticket

    def _check(self) -> None:
        kinds = (str, list, list, int, str, bytes, int, int, bytes, int, bytes, bool)
        if tuple(map(type, self)) != kinds or {*map(type, self.shape), *map(type, self.strides)} - {int}:
            raise ValueError("its parts are of other types")
        numbers = (*self.shape, *self.strides, self.start, self.nbytes, self.offset, self.counter)
        if not all(0 <= number < 2**63 for number in numbers) or self.counter >= _COUNTERS_OF_FILE:
            raise ValueError("a number is out of range")
        if len(self.shape) != len(self.strides) or len(self.shape) > _MAX_RANK:
            raise ValueError("it has as many strides as sizes")
        last = self.start + sum((size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True))
        if prod(self.shape) == 0 or (last + 1) * _DTYPES[self.dtype].itemsize > self.nbytes:
            raise ValueError("the tensor is not in its storage")
        if not _COUNTERS.fullmatch(self.counters) or max(len(self.handle), len(self.event)) > _MAX_HANDLE:
            raise ValueError("it names no memory of torch's")


class CudaLending:
    """Lends the tensors of GPUs with CUDA (the ``Lending`` protocol).

    Args:
        arrays: returns the arrays of the device with a full name.
    """

    def __init__(self, arrays: Callable[[str], TorchArrays]) -> None:
        self._arrays = arrays
        self._has_told = False

    def lend(self, array: Tensor) -> bytes | None:
        """See ``Lending.lend``; nothing is lent where CUDA refuses it, as in some containers, and no lazy conjugate."""
        if array.is_conj() or array.is_neg() or not array.numel():
            return None
        try:
            number, *shared = self._share(array)
            place = list(array.shape), list(array.stride()), array.storage_offset()
            data: bytes = msgpack.packb([_NAME_OF[array.dtype], *place, self._name_of(number), *shared])
        except Exception as exc:
            self._tell("lent to", exc)
            return None
        return data

    def take(self, device: str, ticket: bytes) -> Tensor | None:
        """See ``Lending.take``.

        Raises:
            InvalidArgumentError: for what is no ticket.
        """
        known = _Ticket.read(ticket)
        try:
            number = self._number_of(known.gpu)
            if number is None:
                raise ValueError(f"this process does not see the GPU {known.gpu}")
            storage = self._open(number, known)
        except Exception as exc:
            self._tell("read from", exc)
            return None
        lent = torch.empty(0, dtype=_DTYPES[known.dtype], device=storage.device)
        lent = lent.set_(storage, known.start, known.shape, known.strides)
        target = self._arrays(device).device
        copy = torch.empty(known.shape, dtype=lent.dtype, device=target).copy_(lent)
        for where in {storage.device, target}:
            self._wait(where)  # the memory may be written to as soon as this returns
        return copy

    def release(self, ticket: bytes) -> None:
        """See ``Lending.release``."""
        known = _Ticket.read(ticket)
        self._count_down(known.counters, known.counter)

    # What is torch's; a test has others.

    def _share(self, array: Tensor) -> tuple[Any, ...]:
        shared: tuple[Any, ...] = array.untyped_storage()._share_cuda_()
        return shared

    def _open(self, number: int, ticket: _Ticket) -> Any:
        torch.cuda.init()
        return torch.UntypedStorage._new_shared_cuda(number, *ticket[5:])

    def _count_down(self, counters: bytes, counter: int) -> None:
        torch.UntypedStorage._release_ipc_counter_cuda(counters, counter)

    def _wait(self, device: Any) -> None:
        torch.cuda.current_stream(device).synchronize()

    def _name_of(self, number: int) -> str:
        return str(torch.cuda.get_device_properties(number).uuid)

    def _number_of(self, name: str) -> int | None:
        return next((n for n in range(torch.cuda.device_count()) if self._name_of(n) == name), None)

    def _tell(self, what: str, exc: Exception) -> None:
        if not self._has_told:
            self._has_told = True
            words = "tensors of a GPU cannot be %s another process by CUDA, and go by the host: %s"
            _log.warning(words, what, exc)


def cuda_lending(arrays: Callable[[str], TorchArrays]) -> CudaLending | None:
    """Return what lends tensors of GPUs with CUDA; ``None`` where they cannot be lent."""
    return CudaLending(arrays) if sys.platform == "linux" else None
