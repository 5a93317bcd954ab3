"""Datasets on the tasks of a cluster: where iterators live, what travels, and what does not."""

from __future__ import annotations

from collections.abc import AsyncIterator

import numpy as np
import pytest

from actorsession import AsyncSession, ConfigProto, Graph, Server, data, int64, ops, sparse, string
from actorsession.errors import DeadlineExceededError, FailedPreconditionError, OutOfRangeError
from tests.cluster.kit import soon
from tests.rows import refused_later

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


@pytest.fixture
def graph() -> Graph:
    return Graph()


@pytest.fixture
async def target() -> AsyncIterator[str]:
    """The target of a worker beside a parameter server, both in this process."""
    cluster = {"ps": ["inproc://ps"], "worker": ["inproc://worker"]}
    async with Server(cluster, "ps", 0), Server(cluster, "worker", 0) as worker:
        yield worker.target


async def test_an_iterator_lives_on_its_task_and_its_elements_travel(target: str, graph: Graph) -> None:
    with graph.as_default():
        with graph.device(PS):
            made = data.Dataset.range(10).map(lambda x: x * 2, 2).batch(3).prefetch(1)
            iterator = made.make_initializable_iterator()
            following = iterator.get_next()
            handle = data.Dataset.range(5, 7).make_one_shot_iterator().string_handle()
            given = ops.placeholder(string, [])
            chosen = data.Iterator.from_string_handle(given, int64, []).get_next()
        with graph.device(WORKER):
            total = ops.reduce_sum(following)
            once = data.Dataset.from_generator(lambda: [7, 8], int64, []).make_one_shot_iterator()
            generated = once.get_next()
    async with AsyncSession(target, graph) as session:
        await soon(session.run(iterator.initializer))
        found, summed = await soon(session.run([following, total]))
        assert (found.tolist(), summed, (await soon(session.run(following))).tolist()) == ([0, 2, 4], 6, [6, 8, 10])
        text = await soon(session.run(handle))
        assert await soon(session.run(chosen, {given: text})) == 5
        assert [await soon(session.run(generated)) for _ in range(2)] == [7, 8]
        await refused_later(soon(session.run(generated)), OutOfRangeError, "End of sequence")
    async with AsyncSession(target, graph) as session:
        await refused_later(soon(session.run(following)), FailedPreconditionError)


async def test_a_step_that_waits_for_another_task_s_element_ends_in_time(target: str, graph: Graph) -> None:
    with graph.as_default(), graph.device(PS):
        queue = ops.FIFOQueue(2, int64, [])
        iterator = data.Dataset.range(4).map(lambda x: x + queue.dequeue()).make_initializable_iterator()
        following, put = iterator.get_next(), queue.enqueue(np.int64(3))
        with graph.device(WORKER):
            result = ops.identity(following)
    async with AsyncSession(target, graph, ConfigProto(operation_timeout_in_ms=100)) as session:
        await soon(session.run(iterator.initializer))
        await refused_later(soon(session.run(result)), DeadlineExceededError)
        await soon(session.run(put))
        assert await soon(session.run(result)) == 3


async def test_a_dataset_may_be_on_another_task_than_its_iterator(target: str, graph: Graph) -> None:
    with graph.as_default():
        with graph.device(WORKER):
            offset = ops.constant(5, int64)
            made = data.Dataset.range(6).map(lambda x: x + offset).shuffle(9, seed=1).batch(2)
        with graph.device(PS):
            iterator = data.Iterator.from_structure(int64, [None])
        start, following = iterator.make_initializer(made), iterator.get_next()
        with graph.device(PS):
            beside = made.make_initializable_iterator()
        other = beside.get_next()
    assert beside.initializer.device == made._dataset_tensor.device
    async with AsyncSession(target, graph) as session:
        await soon(session.run([start, beside.initializer]))
        for _ in range(3):
            one, same = await soon(session.run([following, other]))
            assert one.tolist() == same.tolist()
        await refused_later(soon(session.run(following)), OutOfRangeError)


async def test_sparse_elements_travel(target: str, graph: Graph) -> None:
    with graph.as_default():
        with graph.device(PS):
            whole = sparse.SparseTensor([[0, 1], [1, 2]], [5, 6], [2, 3])
            iterator = data.Dataset.from_tensor_slices(whole).batch(2).make_initializable_iterator()
        with graph.device(WORKER):
            dense = sparse.to_dense(iterator.get_next())
    async with AsyncSession(target, graph) as session:
        await soon(session.run(iterator.initializer))
        assert (await soon(session.run(dense))).tolist() == [[0, 5, 0], [0, 0, 6]]
