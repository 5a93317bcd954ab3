"""Refusal of results that are larger than the memory of the machine, before they are allocated.

Linux grants more memory than there is and kills a process that uses too much. ``bind`` checks the kernels
whose results are as large as an input value says (``OpDef.sized_by``).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from actorsession.errors import ResourceExhaustedError
from actorsession.graph.device_kernels import arrays_of
from actorsession.graph.node import TensorSpec
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext, OpDef

__all__ = ["memory_limit", "within_memory"]

# Elements below which results are not checked: they fit, and the check would take longer than most.
_FEW = 1 << 22


@functools.cache
def memory_limit() -> int:
    """Return the most bytes of memory that this process can have: of the machine or of its control group."""
    try:
        known = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, OSError, ValueError):  # the system does not provide it
        return 1 << 62
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            said = Path("/sys/fs/cgroup", name).read_text(encoding="ascii").strip()
        except OSError:
            continue
        known += [int(said)] if said.isdigit() else []
    return min(known)


def within_memory(context: KernelContext, definition: OpDef, kernel: Kernel) -> Kernel:
    """Return a kernel that refuses to make more than there is memory for.

    Args:
        context: of its node.
        definition: of its type.
        kernel: the kernel.

    Returns:
        A kernel that raises ResourceExhaustedError instead; the given one where its results always fit.
    """
    if not definition.sized_by:
        return kernel
    known = all(spec.shape.is_fully_defined() for spec in context.outputs)
    if known and all(map(_has_room, context.outputs)):
        return kernel
    sizing = [k for k in range(len(context.inputs)) if k in definition.sized_by]
    arrays = arrays_of(context.device)

    def checked(*values: Any) -> Any:
        sizes = {k: np.asarray(values[k] if arrays is None else arrays.to_host(values[k])) for k in sizing}
        if known or _asks_for_much(sizes.values()):
            given = tuple(map(sizes.get, range(len(values))))
            try:
                outputs = definition.infer(InferContext(context.op, tuple(context.inputs), context.attrs, given))
            except (TypeError, ValueError):
                outputs = ()  # the kernel raises a better error
            for spec in outputs:
                if not _has_room(spec):
                    raise ResourceExhaustedError(
                        f"{context.op}: a result of shape {spec.shape} and type {spec.dtype.name} "
                        f"takes {_bytes(spec)} bytes; the memory limit of this process is "
                        f"{memory_limit()}"
                    )
        return kernel(*values)

    return checked


def _asks_for_much(values: Iterable[Array]) -> bool:
    """Return whether values could mean a large size; values that are no numbers do not count."""
    total = 1.0
    for array in values:
        if array.dtype.kind == "f":
            return True
        if array.dtype.kind in "iu" and array.size:
            few = array.ravel().tolist() if array.size < 16 else [int(array.max())]
            total *= prod(max(abs(float(n)), 1.0) for n in few)
    return total >= _FEW


def _bytes(spec: TensorSpec) -> int:
    """Return the bytes of a tensor according to its static type."""
    return (spec.shape.num_elements() or 0) * spec.dtype.itemsize


def _has_room(spec: TensorSpec) -> bool:
    return _bytes(spec) <= memory_limit()
