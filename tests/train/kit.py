"""Variables, files and disks of tests that save."""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
from pathlib import Path
from typing import Any

import actorsession as acts
from actorsession import Session, ops
from actorsession.ops.variables.save_slices import SaveSliceInfo

__all__ = ["SlowDisk", "names", "parts_of", "started"]


def started(session: Session) -> Session:
    """The session, once all variables have values."""
    session.run(ops.global_variables_initializer())
    return session


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def parts_of(whole: Any, cuts: list[int], name: str = "w") -> acts.variables.PartitionedVariable:
    """A variable in parts along its first axis, as a partitioner makes it."""
    found = []
    for i, (start, end) in enumerate(itertools.pairwise(cuts)):
        part = ops.Variable(whole[start:end], name=f"{name}/part_{i}")
        offset = [start] + [0] * (whole.ndim - 1)
        part._set_save_slice_info(SaveSliceInfo(name, whole.shape, offset, (end - start, *whole.shape[1:])))
        found.append(part)
    cut = [len(found)] + [1] * (whole.ndim - 1)
    return acts.variables.PartitionedVariable(name, whole.shape, found[0].dtype, found, cut)


class SlowDisk:
    """``os.fsync`` that says when it is called, and waits until it may go on."""

    def __init__(self) -> None:
        self.loop, self.fsync = asyncio.get_running_loop(), os.fsync
        self.writing, self.go_on = asyncio.Event(), threading.Event()

    def sync(self, descriptor: int) -> None:
        self.loop.call_soon_threadsafe(self.writing.set)
        assert self.go_on.wait(20)
        self.fsync(descriptor)
