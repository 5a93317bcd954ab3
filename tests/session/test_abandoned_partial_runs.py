"""A partial run that is abandoned leaves nothing: not what waits in its rendezvous, nor what it was fed."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, ops
from actorsession.errors import InvalidArgumentError
from tests.session.partial_kit import collect, run_of, set_clock


class Late:
    """A clock by which every run has been idle for long."""

    def now(self) -> float:
        return 1e9


async def collect_all(face: Any) -> None:
    """Has the runs collected that nobody continues, and waits until they are."""
    set_clock(face.session, Late())
    collect(face.session)
    while face.session.statistics().partial_runs:  # noqa: ASYNC110 - an actor is told
        await asyncio.sleep(0)


@pytest.mark.parametrize("fed", [["a"], ["a", "b"]], ids=["the step waits", "the step has ended"])
async def test_its_rendezvous_is_emptied(session: Any, graph: Graph, fed: list[str]) -> None:
    """1. A run is fed, in part or wholly. 2. Nobody takes its values, which wait. 3. It is collected."""
    a, b = ops.placeholder("float32", [], name="a"), ops.placeholder("float32", [], name="b")
    first = a + 1.0
    second = first + b
    handle = await session.partial_run_setup([first, second], [a, b])
    rendezvous = run_of(session.session, handle).step.rendezvous
    await session.partial_run(handle, [], {f"{name}:0": 1 for name in fed})
    assert sum(rendezvous.pending) == 2
    await collect_all(session)
    assert rendezvous.pending == (0, 0)
    with pytest.raises(InvalidArgumentError, match="given up"):
        await session.partial_run(handle, first)


async def test_what_it_was_fed_is_let_go(session: Any, graph: Graph) -> None:
    x, y = ops.placeholder("float32", [1000]), ops.placeholder("float32", [])
    kept = ops.identity(x) * y
    handle = await session.partial_run_setup(kept, [x, y])
    fed = np.ones(1000, np.float32)
    fed.flags.writeable = False  # so that it is kept as it is
    await session.partial_run(handle, [], {x: fed})
    held = weakref.ref(fed)
    del fed
    gc.collect()
    assert held() is not None
    await collect_all(session)
    while held() is not None:  # a thread may hold what it worked on last a moment longer
        await session.run(ops.constant(1.0))
        gc.collect()
