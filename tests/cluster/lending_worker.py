"""A worker process with devices ``SHELF``, whose arrays lie in files in memory, so that other processes can open them.

Run as ``python -m tests.cluster.lending_worker worker ...``: the command line of the package, with one more device
type and one more op registered first. A file of the folder ``SHELF_FOLDER`` is a fault, by its name.
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from actorsession import Tensor
from actorsession.cli import main
from actorsession.extend import (
    DeviceFactory,
    DeviceKernel,
    DeviceKernels,
    Lending,
    TensorShape,
    register_device_factory,
)
from tests.nodes import make_one, op_type

__all__ = ["COUNTED", "FOLDER", "REFUSED_TO_LEND", "STUCK", "TAKE_FAILS", "UNREADABLE", "Shelf", "counts"]

FOLDER = "SHELF_FOLDER"
# What is counted: arrays that were made of the host's and made the host's; loans that began, ended, and were copied.
COUNTED = ("came", "went", "lent", "ended", "taken")
REFUSED_TO_LEND, TAKE_FAILS, UNREADABLE, STUCK = "refused to lend", "take fails", "unreadable", "stuck"

_counts: Counter[str] = Counter()


def _has(fault: str) -> bool:
    return (Path(os.environ[FOLDER]) / fault).exists()


class Shelf:
    """A tensor of the device."""

    def __init__(self, array: Any) -> None:
        array = np.asarray(array)
        self.descriptor = os.memfd_create("shelf")
        os.ftruncate(self.descriptor, max(1, array.nbytes))
        self.array: Any = _mapped(self.descriptor, array.dtype, array.shape)
        self.array[...] = array
        self.shape, self.nbytes, self.dtype = array.shape, array.nbytes, array.dtype

    def __bool__(self) -> bool:
        return bool(self.array)

    def __del__(self) -> None:
        os.close(self.descriptor)


def _mapped(descriptor: int, dtype: Any, shape: Any) -> Any:
    return np.frombuffer(mmap.mmap(descriptor, 0), dtype, int(np.prod(shape))).reshape(shape)


class ShelfArrays:
    def holds(self, dtype: Any) -> bool:
        return bool(dtype == "float32")

    def to_device(self, value: Any) -> Shelf:
        _counts["came"] += not isinstance(value, Shelf)
        return value if isinstance(value, Shelf) else Shelf(value)

    def to_host(self, value: Any) -> Any:
        _counts["went"] += isinstance(value, Shelf)
        return value.array.copy()[()] if isinstance(value, Shelf) else value

    def own(self, value: Any) -> Shelf:
        return Shelf(value.array)


class ShelfLending:
    """Tickets are the process and the descriptor of an array, its dtype and its shape, as JSON."""

    def lend(self, array: Shelf) -> bytes | None:
        if _has(REFUSED_TO_LEND):
            return None
        _counts["lent"] += 1
        return json.dumps([os.getpid(), array.descriptor, array.dtype.str, array.shape]).encode()

    def take(self, device: str, ticket: bytes) -> Any:
        if _has(TAKE_FAILS):
            raise ValueError("the shelf is locked")
        if _has(UNREADABLE):
            return None
        if _has(STUCK):
            (Path(os.environ[FOLDER]) / "taking").touch()
            signal.pause()
        pid, descriptor, dtype, shape = json.loads(ticket)
        opened = os.open(f"/proc/{pid}/fd/{descriptor}", os.O_RDWR)
        try:
            copy = Shelf(_mapped(opened, np.dtype(dtype), shape))
        finally:
            os.close(opened)
        _counts["taken"] += 1
        return copy

    def release(self, ticket: bytes) -> None:
        _counts["ended"] += 1


def _computed(function: Any) -> DeviceKernel:
    def kernel(*shelves: Shelf) -> Shelf:
        assert all(type(shelf) is Shelf for shelf in shelves)
        return Shelf(function(*[shelf.array for shelf in shelves]))

    return DeviceKernel(kernel=lambda context: kernel, takes=lambda context: context.inputs[0].dtype == "float32")


class Shelves(DeviceFactory):
    """Devices with shelves."""

    lending: Lending = ShelfLending()
    kernels = DeviceKernels(
        arrays=lambda device: ShelfArrays(),
        rows={"AddV2": _computed(np.add), "Mul": _computed(np.multiply)},
        transparent=frozenset({"Identity", "NoOp", "Switch", "Merge", "Enter", "Exit", "NextIteration"}),
        family="shelves",
        lending=lending,
    )

    def list_physical_devices(self) -> list[str]:
        return ["/physical_device:SHELF:0"]


def counts(x: Tensor) -> Tensor:
    """The counters of the process that it runs in; ``x`` is a feed, so that it is no constant."""
    return make_one("TestShelfCounts", (x,))


def _kernel(context: Any) -> Callable[[Any], Any]:
    return lambda x: np.array([_counts[name] for name in COUNTED], np.int64)


def _infer(context: Any) -> Any:
    spec = context.inputs[0]
    return [replace(spec, shape=TensorShape([len(COUNTED)]))]


op_type("TestShelfCounts", _kernel, infer=_infer)

if __name__ == "__main__":
    register_device_factory("SHELF", Shelves())
    sys.exit(main())
