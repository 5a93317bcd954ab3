"""What may not be fed or fetched any more is refused by the next run, whatever was run in between."""

from __future__ import annotations

from typing import Any

import pytest

from actorsession import ops
from actorsession.errors import InaccessibleTensorError
from tests.rows import for_each


@for_each("between", ["nothing", "a run", "a partial run", "a callable"])
async def test_a_feed_that_was_forbidden_after_it_was_fed(session: Any, between: str) -> None:
    x = ops.placeholder("float32", [])
    y = x + 1.0
    z = y * 2.0
    call = session.callable(z, [x])
    assert await session.run(z, {y: 5}) == 10
    assert await call(1) == 4
    x.graph.prevent_feeding(y)
    if between == "a run":
        await session.run(z, {x: 1})
    elif between == "a partial run":
        handle = await session.partial_run_setup(z, x)
        assert await session.partial_run(handle, z, {x: 1}) == 4
    elif between == "a callable":
        assert await call(1) == 4
    with pytest.raises(ValueError, match="may not be fed"):
        await session.run(z, {y: 5})


async def test_a_fetch_that_was_forbidden_after_it_was_fetched(session: Any) -> None:
    x = ops.placeholder("float32", [])
    y = x + 1.0
    assert await session.run(y, {x: 1}) == 2
    handle = await session.partial_run_setup(y, x)
    y.graph.prevent_fetching(y.op)
    with pytest.raises(InaccessibleTensorError):
        await session.partial_run_setup(y, x)
    with pytest.raises(InaccessibleTensorError):
        await session.run(y, {x: 1})
    with pytest.raises(InaccessibleTensorError):
        await session.partial_run(handle, y, {x: 1})
