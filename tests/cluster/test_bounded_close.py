"""Ends that nobody can hold up: ``close`` beside stopped processes, and clients that are killed."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from actorsession import Graph, ops
from tests.cluster.kit import PATIENCE, W0, W1, is_empty, on, until_all
from tests.cluster.process_cluster import FACES, ProcessCluster, process_cluster
from tests.cluster.script import script
from tests.cluster.soak import resident

pytestmark = pytest.mark.process

# A session gives its workers 2 s to drop it, its master 5 s to answer, and its connection 2 s to end.
WORKER_STOPPED, MASTER_STOPPED = 2.0 + 2.0 + 2.0, 5.0 + 2.0 + 2.0
# What a killed client's session had on a worker, and what may be left of that: pages of the interpreter.
STATE, LEFT = 256 * 2**20, 64 * 2**20


@pytest.fixture
def three(mortal: ProcessCluster) -> ProcessCluster:
    """One ps and two workers."""
    return mortal


@pytest.mark.parametrize(("job", "index", "grace"), [("worker", 1, WORKER_STOPPED), ("worker", 0, MASTER_STOPPED)])
def test_close_ends_within_its_grace_beside_a_stopped_process(
    job: str, index: int, grace: float, three: ProcessCluster, graph: Graph
) -> None:
    """A worker that takes part in the session, or its master; and closing again is fine."""
    with on(W1):
        there = ops.placeholder("float32", [], name="x") + 1.0
    with on(W0):
        end = there * 2.0
    sessions = [three.session(face, three.target("worker"), graph=graph) for face in FACES]
    for session in sessions:
        assert session.run(end, {"x:0": 1.0}) == 4.0
    process = three.cluster.process(job, index)
    process.send_signal(signal.SIGSTOP)
    try:
        for session in sessions:
            start = time.monotonic()
            session.close()
            assert time.monotonic() - start < grace
            session.close()
    finally:
        process.send_signal(signal.SIGCONT)
    three.until_empty()


def test_a_cluster_with_a_stopped_process_stops_within_its_grace() -> None:
    with process_cluster({"worker": 2}) as held:
        held.cluster.process("worker", 1).send_signal(signal.SIGSTOP)
        start = time.monotonic()
        held.do(held.cluster.stop(grace=0.5))
        assert time.monotonic() - start < 0.5 + 5.0
        assert held.cluster.process("worker", 1).fate.startswith("killed by SIGKILL, by the program ")


CLIENT = """
    import asyncio, sys
    import numpy as np
    import actorsession as acts
    from actorsession import ops

    async def main():
        graph = acts.Graph()
        with graph.as_default():
            x = y = ops.placeholder("float32", [None, None])
            with graph.device("/job:worker/task:1"):
                state = acts.Variable(ops.fill([64, 2**20], 1.0))
                for _ in range(2000):
                    y = ops.matmul(y, x) * 0.01
            with graph.device("/job:worker/task:0"):
                y = y + 1.0
        config = acts.ConfigProto(isolate_session_state=True)
        target = sys.stdin.readline().strip()
        async with acts.AsyncSession(target, graph=graph, config=config) as session:
            await session.run(state.initializer)
            print("begins", flush=True)
            await session.run(y, {x: np.full([500, 500], 0.01)})

    asyncio.run(main())
"""


def test_what_a_killed_client_had_for_itself_is_freed_on_workers(three: ProcessCluster, tmp_path: Path) -> None:
    """Its session is isolated, holds a large variable on a worker, and is in the middle of a step."""
    pid = three.cluster.process("worker", 1).pid
    before, runs = resident(pid), three.do(three.cluster.statistics())[W1].runs
    with script(tmp_path, CLIENT) as client:
        assert client.stdin is not None
        client.stdin.write(three.target("worker") + "\n")
        client.stdin.flush()
        three.do(until_all([three.target("worker", 1)], lambda s: s.steps == 1 and s.runs >= runs + 2))
        # Of another process nothing but its memory shows that the variable is there, and is gone.
        assert resident(pid) > before + STATE - LEFT
        client.kill()
        client.wait(PATIENCE)
    three.do(until_all(three.cluster.spec.tasks().values(), is_empty))
    limit = time.monotonic() + PATIENCE
    while resident(pid) > before + LEFT:
        assert time.monotonic() < limit, f"{resident(pid) >> 20} MiB, was {before >> 20}"
        time.sleep(0.02)
