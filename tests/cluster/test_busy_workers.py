"""Workers whose interpreter is held by one kernel: busy is told from stopped, stuck and gone.

Leases are short here, so that a kernel lasts for several of them. No run has a limit in time of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, Server, ServerSettings, ops
from actorsession.cli import _parser
from actorsession.cluster import read_statistics
from actorsession.errors import InvalidArgumentError, UnavailableError
from actorsession.rpc import BEAT_SECONDS, LEASE_SECONDS
from actorsession.rpc.liveness.verdict import PATIENCE as PATIENCE_LEASES
from tests.cluster.gil_worker import hold
from tests.cluster.kit import PATIENCE, W0, W1, eventually, on, soon
from tests.cluster.script import is_running, running
from tests.cluster.test_child import ONE, line_of, worker
from tests.loops import run_to_end
from tests.ports import held_ports

pytestmark = [pytest.mark.process, pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")]

# How another task's process is seen: in /proc, or by asking its sidecar as other hosts do.
WAYS = {"local": (), "sidecar": ("--sidecar",)}
# The default is five seconds. A sidecar is a process that has to have its turn within a lease, on a machine
# whose cores are all busy; looking into /proc waits for nobody.
LEASES = {"local": 0.4, "sidecar": 1.0}
each_way = pytest.mark.parametrize("more", WAYS.values(), ids=WAYS)


@dataclass
class Pair:
    """Two worker processes; sessions are opened at the first."""

    processes: list[subprocess.Popen[str]]
    addresses: list[str]
    lease: float

    @property
    def target(self) -> str:
        return self.addresses[0]


@contextmanager
def pair(lease: float, *more: str) -> Iterator[Pair]:
    words = ["--lease", str(lease), "--beat", str(lease / 4), *more]

    def command(index: int, ports: list[int]) -> list[str]:
        start = [sys.executable, "-m", "tests.cluster.gil_worker", "worker", "--job", "worker"]
        spec = json.dumps({"worker": [f"127.0.0.1:{port}" for port in ports]})
        return [*start, "--task", str(index), "--cluster", spec, *words]

    with held_ports(2) as ports, running(command(0, ports)) as first, running(command(1, ports)) as second:
        addresses = [line_of(process).split()[3].rstrip(";") for process in (first, second)]
        yield Pair([first, second], addresses, lease)


@pytest.fixture(scope="module", params=WAYS)
def workers(request: Any) -> Iterator[Pair]:
    """A pair for the tests that leave it alive."""
    with pair(LEASES[request.param], *WAYS[request.param]) as made:
        yield made


class Model:
    """A kernel on W1 that holds the interpreter, whose value W0 needs; and a step of W0 alone."""

    def __init__(self, folder: Path, seconds: float, *, asleep: bool = False) -> None:
        self.marker = folder / "begun"
        x = ops.constant(2.0)
        held = on(W1, lambda: hold(x, seconds, marker=self.marker, asleep=asleep))
        with on(W0):
            self.end = held + 1.0
            self.short = ops.constant(2.0) * 3.0

    async def begin(self, session: AsyncSession) -> asyncio.Task[Any]:
        """Starts the kernel, and returns when it holds the interpreter."""
        run = asyncio.create_task(session.run(self.end))
        await eventually(self.marker.exists)
        return run


def test_a_worker_busy_for_many_leases_in_one_kernel_is_waited_for(graph: Graph, tmp_path: Path, workers: Pair) -> None:
    """1. A kernel on W1 holds the interpreter for four leases: no beat comes from there. 2. Meanwhile W0 serves other
    steps. 3. The step ends right, and so does the next one."""

    async def main() -> None:
        model = Model(tmp_path, 4 * workers.lease)
        async with AsyncSession(workers.target, graph=graph) as session:
            run = await model.begin(session)
            others = 0
            while not run.done():
                assert await soon(session.run(model.short)) == 6.0
                others += 1
            assert await run == 3.0
            assert others > 10

    run_to_end(main())


@each_way
def test_a_worker_that_is_stopped_in_the_middle_of_a_kernel_is_lost_within_two_leases(
    graph: Graph, tmp_path: Path, more: tuple[str, ...]
) -> None:
    async def main() -> None:
        with pair(1.5, *more) as workers:
            model = Model(tmp_path, 60.0)
            async with AsyncSession(workers.target, graph=graph) as session:
                run = await model.begin(session)
                stopped = workers.processes[1]
                stopped.send_signal(signal.SIGSTOP)
                start = time.monotonic()
                with pytest.raises(UnavailableError) as info:
                    await soon(run)
                assert time.monotonic() - start < 2 * workers.lease
                assert info.value.task == W1
                found = re.escape(f"{W1}: process {stopped.pid} is stopped (SIGSTOP?)")
                assert re.match(
                    rf"{found}; nothing came from it for \d.* s; the connection to it at .* was given up; "
                    r"step \d+ was to compute ",
                    str(info.value),
                )
                assert await soon(session.run(model.short)) == 6.0

    run_to_end(main())


def test_a_worker_that_sleeps_with_the_interpreter_lock_is_lost_after_some_leases(graph: Graph, tmp_path: Path) -> None:
    """A call that returns after two leases is waited for; one that does not return is a deadlock."""

    async def main() -> None:
        with pair(1.0) as workers:
            short = Model(tmp_path, (PATIENCE_LEASES - 1) * workers.lease, asleep=True)
            (tmp_path / "second").mkdir()
            for_ever = Model(tmp_path / "second", 300.0, asleep=True)
            async with AsyncSession(workers.target, graph=graph) as session:
                run = await short.begin(session)
                assert await soon(run) == 3.0
                run = await for_ever.begin(session)
                with pytest.raises(UnavailableError, match="does not answer and uses no processor"):
                    await soon(run)

    run_to_end(main())


CLIENT = """
    import sys, time
    import actorsession as acts

    with acts.device("/job:worker/task:1"):
        v = acts.Variable(1.0)
        more = v.assign_add(1.0)
    with acts.Session(sys.argv[1]) as session:
        session.run(v.initializer)
        session.run(more)
        sys.setswitchinterval(1e6)  # the session's own thread does not run from here on
        end = time.monotonic() + float(sys.argv[2])
        while time.monotonic() < end:
            pass
        sys.setswitchinterval(0.005)
        print(session.run(more), flush=True)
"""


def test_a_client_that_is_busy_for_many_leases_keeps_its_session(tmp_path: Path, workers: Pair) -> None:
    path = tmp_path / "client.py"
    path.write_text(textwrap.dedent(CLIENT), encoding="utf-8")
    words = [sys.executable, str(path), workers.target, str(4 * workers.lease)]
    with running(words) as client:
        out, err = client.communicate(timeout=PATIENCE)
    assert (client.returncode, out, err) == (0, "3.0\n", "")


# -- sidecars ------------------------------------------------------------------------------------
def children_of(pid: int) -> list[int]:
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()]


def wait_for_end(pid: int) -> None:
    """Waits for a process that is not our child; its end is nobody's event."""
    end = time.monotonic() + PATIENCE
    while is_running(pid):
        assert time.monotonic() < end, f"process {pid} does not end"
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_sidecar_and_a_guard_end_with_their_server_however_that_ends(number: int) -> None:
    with worker(0, ONE, "--sidecar") as (process, _):
        children = children_of(process.pid)
        assert [is_sidecar(child) for child in children] == [False, True]
        assert all(map(is_running, children))
        process.send_signal(number)
        process.wait(PATIENCE)
        for child in children:
            wait_for_end(child)


def test_a_server_on_loopback_has_a_guard_and_no_sidecar() -> None:
    with worker(0, ONE) as (process, _):
        (guard,) = children_of(process.pid)
        assert not is_sidecar(guard)


def is_sidecar(pid: int) -> bool:
    """Whether a process was started with what servers start their sidecars with; guards are forked."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:3] == [b"-I", b"-S"]


async def test_a_server_that_other_hosts_can_reach_has_a_sidecar() -> None:
    before = children_of(os.getpid())
    async with Server({"worker": ["0.0.0.0:0"]}, "worker", settings=ServerSettings(token="sixteen or more.")) as server:
        (sidecar,) = set(children_of(os.getpid())) - set(before)
        # In the middle of exec nothing is to be seen.
        await eventually(lambda: is_sidecar(sidecar))
        assert (await read_statistics(server.target, token="sixteen or more.")).task == W0
    assert children_of(os.getpid()) == before


# -- settings --------------------------------------------------------------------------------------
@pytest.mark.parametrize(("beat", "lease"), [(0.0, 5.0), (3.0, 5.0)])
def test_a_lease_of_less_than_two_beats_is_refused(beat: float, lease: float) -> None:
    told = "at least two beats" if beat else "a beat is more than 0 seconds, got 0.0"
    with pytest.raises(InvalidArgumentError, match=told):
        Server({"worker": ["127.0.0.1:0"]}, "worker", settings=ServerSettings(beat=beat, lease=lease))


def test_the_command_line_has_the_defaults_of_servers() -> None:
    parser, _ = _parser(with_demo=False)
    options = parser.parse_args(["worker"])
    assert (options.beat, options.lease, options.sidecar) == (BEAT_SECONDS, LEASE_SECONDS, False)


def test_a_client_gives_signs_of_life_as_often_as_the_server_asks(graph: Graph, workers: Pair) -> None:
    """The client's own beat is 1 s, longer than the server's whole lease."""

    async def main() -> None:
        async with AsyncSession(workers.target, graph=graph) as session:
            one = ops.constant(1.0)
            assert await session.run(one) == 1.0
            beats = frames_sent(session) + 10
            await eventually(lambda: frames_sent(session) >= beats)
            assert await session.run(one) == 1.0

    run_to_end(main())


def frames_sent(session: AsyncSession) -> int:
    link: Any = session.statistics().link
    return link.frames_sent
