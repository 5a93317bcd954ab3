"""How whole programs begin and end: without a main guard, in silence, and without leaving a process.

Each is a script as somebody would write it, run by an interpreter of its own with warnings switched on.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from actorsession import LocalCluster
from actorsession.errors import UnavailableError
from tests.cluster.kit import W0
from tests.cluster.script import script
from tests.cluster.test_local_cluster import pids, wait_for_end

pytestmark = pytest.mark.process

BEGIN = """
    import asyncio, json, sys, warnings
    import numpy as np
    import actorsession as acts

    warnings.simplefilter("always")

    def tell(cluster):
        print(json.dumps([p.pid for p in cluster.processes.values()]), flush=True)

    graph = acts.Graph()
    with graph.as_default(), acts.device("/job:worker/task:1"):
        x = acts.placeholder("float32", [800, 800])
        long = x
        for _ in range(500):
            long = acts.matmul(long, x)
        short = acts.reduce_sum(x)
    feeds = {x: np.zeros([800, 800], "float32")}
"""

# Steps are under way in the cluster when the last line of each is reached.
IN_FLIGHT = """
            session = acts.AsyncSession(cluster.target("worker", 0), graph=graph)
            await session.run(short, feeds)
            steps = [start(session.run(long, feeds)) for _ in range(3)]
            while not (await cluster.statistics())["/job:worker/replica:0/task:1"].steps:
                await asyncio.sleep(0.01)
"""


def outcome(process: Any) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=100)
    return process.returncode, out, err


GOOD = """
    async def main():
        async with acts.LocalCluster({"worker": 2}) as cluster:
            tell(cluster)
            async with acts.AsyncSession(cluster.target("worker", 0), graph=graph) as session:
                assert await session.run(short, feeds) == 0.0
            def sync():
                with acts.Session(cluster.target("worker", 1), graph=graph) as session:
                    return session.run(short, feeds)
            assert await asyncio.to_thread(sync) == 0.0

    asyncio.run(main())
    print("the end")
"""


def test_a_good_run_without_a_main_guard_says_nothing_on_stderr(tmp_path: Path) -> None:
    with script(tmp_path, BEGIN + GOOD) as process:
        workers = pids(process)
        assert outcome(process) == (0, "the end\n", "")
        wait_for_end(workers, 2.0)


# Whoever starts steps in a group and leaves it early has them cancelled before the cluster stops.
GROUP_LEFT = """
    async def main():
        async with acts.LocalCluster({"worker": 2}) as cluster, asyncio.TaskGroup() as group:
            tell(cluster)
            start = group.create_task
%s
            print("the end")
            sys.exit(0)

    asyncio.run(main())
"""

CLUSTER_LEFT = """
    async def main():
            start = asyncio.ensure_future
            cluster = acts.LocalCluster({"worker": 2})
            await cluster.start()
            tell(cluster)
%s
    asyncio.run(main())
    print("the end")
"""

INTERPRETER_LEFT = """
    async def main():
            start = asyncio.ensure_future
            cluster = acts.LocalCluster({"worker": 2})
            await cluster.start()
            tell(cluster)
%s
            print("the end")
            sys.exit(0)

    asyncio.run(main())
"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(GROUP_LEFT, id="the group of the steps is left"),
        pytest.param(CLUSTER_LEFT, id="the cluster is left to itself", marks=pytest.mark.whole),
        pytest.param(INTERPRETER_LEFT, id="the interpreter is left from inside"),
    ],
)
def test_leaving_asyncio_run_amid_steps_prints_nothing_and_leaves_no_process(tmp_path: Path, text: str) -> None:
    with script(tmp_path, BEGIN + text % IN_FLIGHT) as process:
        workers = pids(process)
        assert outcome(process) == (0, "the end\n", "")
        wait_for_end(workers, 4.0)


PROCESSES_LEFT = """
    import os, signal

    async def main():
        cluster = acts.LocalCluster({"worker": 2})
        await cluster.start()
        tell(cluster)
        killed = cluster.process("worker", 1)
        killed.send_signal(signal.SIGKILL)
        await killed.wait_ended()
        return [process.pid for process in cluster.processes.values()]

    def exists(pid):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True

    print([pid for pid in asyncio.run(main()) if exists(pid)])
"""


def test_processes_left_to_themselves_have_ended_when_their_loop_has(tmp_path: Path) -> None:
    """Nothing can wait for them afterwards; asyncio warns of a transport that outlives its loop."""
    with script(tmp_path, BEGIN + PROCESSES_LEFT) as process:
        pids(process)
        assert outcome(process) == (0, "[]\n", "")


async def test_a_worker_that_fails_on_import_is_reported_with_its_last_lines(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "msgpack.py").write_text("raise ImportError('this msgpack is broken')\n")
    path = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{path}")
    cluster = LocalCluster({"worker": 2})
    with pytest.raises(UnavailableError, match="did not come up: exit code 1") as info:
        await cluster.start()
    assert "; its last lines:\n" in info.value.message
    assert info.value.message.endswith(
        "actorsession worker: this msgpack is broken; actorsession doctor shows what is missing"
    )
    assert info.value.task == W0
    assert not any(process.alive for process in cluster.processes.values())


SYNC = """
    import json, sys
    import actorsession as acts

    with acts.Session(sys.argv[1] if sys.argv[1:] else "") as session:
        print(json.dumps(float(session.run(acts.constant(2.0) * 3.0))))
"""


def test_a_script_with_a_local_session_says_nothing_on_stderr(tmp_path: Path) -> None:
    with script(tmp_path, SYNC) as process:
        code, out, err = outcome(process)
    assert (code, json.loads(out), err) == (0, 6.0, "")
