"""Runs of elementwise nodes in blocks: of small arrays too, and a record of them."""

from __future__ import annotations

from collections.abc import Callable
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


def process_small_arrays(monkeypatch: pytest.MonkeyPatch, shared: int | None = None, least: int = 1) -> None:
    """Process arrays from two elements on in blocks, as short as they may be.

    Args:
        monkeypatch: undoes it.
        shared: number of elements times nodes above which threads share the work.
        least: number of elements up to which each node is called by itself.
    """
    limits = {"LEAST": least, "_BUFFERS": 1} | ({} if shared is None else {"SHARED": shared})
    for module, name in [(fusion, "LEAST"), *((blockwise, name) for name in limits)]:
        monkeypatch.setattr(module, name, limits[name])


def record_runs(monkeypatch: pytest.MonkeyPatch, before: Callable[[], object] = lambda: None) -> list[BlockRun]:
    """Return a list to which each run in blocks is added, after a function was called."""
    runs: list[BlockRun] = []
    call = blockwise.Blockwise.__call__

    def recorded(run: Any, check: Any, *operands: Any) -> Any:
        before()
        runs.append(BlockRun(run._nodes, operands[0].size))
        return call(run, check, *operands)

    monkeypatch.setattr(blockwise.Blockwise, "__call__", recorded)
    return runs
