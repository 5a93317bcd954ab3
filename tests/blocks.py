"""Runs of elementwise nodes in blocks: of small arrays too, and a record of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from actorsession.ops import blockwise
from actorsession.plan.codegen import fusion


class BlockRun(NamedTuple):
    """A run in blocks.

    Attributes:
        nodes: how many nodes it computes.
        elements: how many elements its arrays have.
    """

    nodes: int
    elements: int


def process_small_arrays(monkeypatch: pytest.MonkeyPatch, shared: int | None = None) -> None:
    """Process arrays from two elements on in blocks, as short as they may be.

    Args:
        monkeypatch: undoes it.
        shared: number of elements times nodes above which threads share the work.
    """
    limits = {"LEAST": 1, "_BUFFERS": 1} | ({} if shared is None else {"_SHARED": shared})
    for module, name in [(fusion, "LEAST"), *((blockwise, name) for name in limits)]:
        monkeypatch.setattr(module, name, limits[name])


def record_runs(monkeypatch: pytest.MonkeyPatch) -> list[BlockRun]:
    """Return a list to which each run in blocks is added."""
    runs: list[BlockRun] = []
    call = blockwise.Blockwise.__call__

    def recorded(run: Any, check: Any, *operands: Any) -> Any:
        runs.append(BlockRun(run._nodes, operands[0].size))
        return call(run, check, *operands)

    monkeypatch.setattr(blockwise.Blockwise, "__call__", recorded)
    return runs
