"""Kernels that take long, or never end: they hold no loop, and no process when it should end."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from actorsession import AsyncSession, Graph, Session, ops, opsets, strings
from actorsession.cli import main
from actorsession.config import ConfigProto, RunOptions
from actorsession.errors import DeadlineExceededError, InvalidArgumentError, UnavailableError
from actorsession.runtime.hang_report import Cause
from actorsession.runtime.wait_graph import QUEUED
from tests.cluster.gil_worker import hold
from tests.cluster.kit import PATIENCE, W0, Gate, eventually, in_process, soon
from tests.cluster.script import is_running, running
from tests.cluster.test_busy_workers import children_of
from tests.cluster.test_child import ONE, line_of
from tests.loops import run_to_end

HOURS = 3600.0
# Seconds that a process has to end in order; a second more, and it is ended.
GRACE = 0.2


# -- in one process --------------------------------------------------------------------------------
async def test_threads_that_are_held_by_kernels_whose_steps_are_over_are_told_of(
    graph: Graph, capsys: pytest.CaptureFixture[str]
) -> None:
    """1. Steps run into their limit in kernels that do not end; they hold both threads of W0. 2. ``status`` and ``why``
    of the task say so, with the names of the kernels. 3. Another step waits for a thread; its session says what it
    waits for. 4. The kernels end, and so does that step."""
    gate = Gate("overdue")
    stuck = [gate(ops.constant(float(k))) for k in range(2)]
    other = Gate("in time")
    other.open()
    late = other(ops.constant(5.0))
    config = ConfigProto(inter_op_parallelism_threads=2)
    async with in_process({"worker": 1}, config=config) as cluster, AsyncSession(cluster.target(), graph) as session:
        server = cluster.server(W0)
        try:
            assert server.statistics().overdue == 0
            for k, node in enumerate(stuck):
                limit = 50
                while gate.entered <= k:  # on a busy machine a step may end before its kernel begins
                    with pytest.raises(DeadlineExceededError):
                        await soon(session.run(node, options=RunOptions(timeout_in_ms=limit)))
                    limit *= 2
            await eventually(lambda: server.statistics().overdue == 2)
            counters = server.statistics()
            assert counters.pool_threads == 2
            assert "2 of 2 threads of the kernel pool are held" in counters.overdue_kernels
            assert "'TestGate' (TestGate) for " in counters.overdue_kernels
            said = asyncio.to_thread(main, ["status", cluster.target()])
            assert await soon(said) == 0
            shown = capsys.readouterr().out.splitlines()[-1]
            assert shown.startswith(f"{W0}: 2 of 2 threads of the kernel pool are held by kernels")
            assert shown.endswith("other kernels wait until the task is restarted")
            another = asyncio.ensure_future(session.run(late))
            queued = await soon(_queued(session))
            assert "are held by kernels whose steps are over: 'TestGate" in str(queued)
        finally:
            gate.open()
        assert await soon(another) == 5.0
        await eventually(lambda: server.statistics().overdue == 0)


async def _queued(session: AsyncSession) -> Cause:
    """What keeps a kernel of a session from getting a thread, once there is one."""
    while True:
        causes = [cause for step in (await session.why()).steps for cause in step.causes]
        for cause in causes:
            if cause.kind == QUEUED:
                return cause
        await asyncio.sleep(0.005)


# -- in processes of their own ---------------------------------------------------------------------
@contextmanager
def holding_worker(*more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A worker that knows the op ``hold``, and where it listens."""
    words = [sys.executable, "-m", "tests.cluster.gil_worker", "worker", "--job", "worker", "--task", "0"]
    with running([*words, "--cluster", ONE, "--grace", str(GRACE), *more]) as process:
        line = line_of(process)
        yield process, json.loads(line)["address"] if more else line.split()[3].rstrip(";")


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("ending", ["SIGTERM", "SIGINT", "its parent"])
def test_a_process_ends_within_its_grace_whatever_its_kernels_do(graph: Graph, tmp_path: Path, ending: str) -> None:
    """A kernel in C keeps the interpreter lock for hours; no handler of Python runs meanwhile."""
    begun = tmp_path / "begun"
    held = hold(ops.constant(1.0), HOURS, marker=begun, asleep=True)

    async def held_until_ended(target: str, end: Callable[[], None]) -> None:
        async with AsyncSession(target, graph=graph) as session:
            step = asyncio.ensure_future(session.run(held))
            await eventually(begun.exists)
            end()
            with pytest.raises(UnavailableError):
                await soon(step)

    with holding_worker(*(["--announce"] if ending == "its parent" else [])) as (process, target):
        assert process.stdin is not None
        if ending == "its parent":
            process.stdin.write(json.dumps({"worker": [target]}) + "\n")
            process.stdin.flush()
            assert "ready" in line_of(process)
            end = process.stdin.close
        else:
            end = partial(process.send_signal, getattr(signal, ending))
        (guard,) = children_of(process.pid)
        run_to_end(held_until_ended(target, end))
        assert process.wait(PATIENCE) == -signal.SIGKILL
        run_to_end(eventually(lambda: not is_running(guard)))


@pytest.mark.process
def test_patterns_and_widths_of_any_kind_hold_no_worker(graph: Graph) -> None:
    """Each of them held the loop of the worker: for ever, for 18 s, and for as long as text doubles."""
    text = ops.placeholder("string", [], name="text")
    times = ops.placeholder("int32", [], name="times")
    matched = strings.regex_full_match(text, "a*a*a*a*a*a*a*a*b")
    _, doubled = ops.while_loop(lambda i, y: i < times, lambda i, y: (i + 1, opsets.string_join([y, y])), [0, text])
    length = strings.length(doubled)
    short = ops.constant(1.0) + 1.0
    with holding_worker() as (_, target), Session(target, graph=graph) as session:
        assert not session.run(matched, {text: "a" * 400})
        assert session.run(matched, {text: "a" * 400 + "b"})
        assert session.run(length, {text: "ab", times: 20}) == 2 << 20
        with pytest.raises(InvalidArgumentError, match="width is 4095 at most"):
            strings.as_string(ops.constant(1), width=2**27)
        assert session.run(short) == 2.0


@pytest.mark.process
def test_prints_that_nobody_reads_hold_no_worker_and_are_counted(graph: Graph) -> None:
    """1. Nobody reads the standard error of a worker; its steps print many times what a pipe takes. 2. They go on, and
    so do others. 3. Who reads then finds the first lines in order, how many are missing, and the last line."""
    x = ops.placeholder("string", [], name="x")
    printed = ops.Print(ops.constant(1.0), [x], "said: ")
    line = "z" * 60_000
    with holding_worker() as (process, target):
        with Session(target, graph=graph) as session:
            for number in range(100):
                assert session.run(printed, {x: f"{number} {line}"}) == 1.0
        assert process.stderr is not None
        lines: list[str] = []
        while "dropped" not in (lines[-1] if lines else ""):
            lines.append(process.stderr.readline())
        heard = [int(said.split()[1][1:]) for said in lines[:-1]]
        assert heard == list(range(len(heard)))
        assert lines[-1] == f"[{100 - len(heard)} lines were dropped: nobody read]\n"
        with Session(target, graph=graph) as session:
            session.run(printed, {x: "last"})
        assert process.stderr.readline() == "said: [last]\n"
