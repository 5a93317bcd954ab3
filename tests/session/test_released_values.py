"""The values of a step are released when it ends, without waiting for a garbage collection."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession.ops.flow import dataflow
from tests.cluster.kit import eventually, soon
from tests.ops.queues.kit import started, waiting


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def plain(value: acts.Tensor) -> acts.Tensor:
    return value + 1.0


def of_primitives(value: acts.Tensor) -> acts.Tensor:
    """A value that passes through a Switch and a Merge, which another engine runs."""
    switched = dataflow.switch(value, acts.placeholder_with_default(True, []))
    return dataflow.merge([switched.output_true, switched.output_false]).output + 1.0


@pytest.mark.parametrize("build", [plain, of_primitives])
async def test_a_step_that_has_waited_for_an_element_keeps_none_of_its_values(no_collection: None, build: Any) -> None:
    with acts.Graph().as_default() as graph:
        queue = acts.FIFOQueue(1, ["float32"], [[1000]])
        end = build(queue.dequeue())
        put = queue.enqueue(np.ones(1000, np.float32))
    async with acts.AsyncSession(graph=graph) as session:
        step = started(session, end)
        await waiting(session)
        await session.run(put)
        value = await soon(step)
        assert value.sum() == 2000.0
        seen = weakref.ref(value)
        del value, step
        await eventually(lambda: seen() is None)
