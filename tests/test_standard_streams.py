"""Programs without standard input, output or error: they work, and nothing of ours gets a descriptor."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from actorsession.cluster import read_statistics
from tests.cluster.kit import PATIENCE, W0, eventually, soon
from tests.cluster.script import ROOT, command, environment

pytestmark = pytest.mark.process

# Results go to a file, since there may be no output. ``closed`` are the descriptors that were closed.
BEGIN = """
import json, os, sys
result, closed = sys.argv[1], json.loads(sys.argv[2])

def tell(said):
    with open(result, "w") as file:
        json.dump(said, file)
"""


@contextmanager
def started_without(
    closed: tuple[int, ...], words: list[str], stdout: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is started without some of the descriptors 0 to 2; the others are the null device."""
    shell = 'exec "$0" "$@"' + "".join([(" <&-", " >&-", " 2>&-")[number] for number in closed])
    process = subprocess.Popen(
        ["/bin/sh", "-c", shell, *words],
        env=environment(),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.DEVNULL,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def told(folder: Path, closed: tuple[int, ...], program: str) -> object:
    """What a program tells that is started without some descriptors and must end with status 0."""
    result = folder / "result"
    program = BEGIN + textwrap.dedent(program)
    words = [sys.executable, "-c", program, str(result), json.dumps(closed)]
    with started_without(closed, words) as process:
        assert process.wait(2 * PATIENCE) == 0
    return json.loads(result.read_text())


@pytest.mark.parametrize("closed", [(0,), (0, 1, 2)], ids=str)
def test_a_local_cluster_works_without_standard_descriptors(tmp_path: Path, closed: tuple[int, ...]) -> None:
    program = """
        import actorsession as acts

        with acts.LocalCluster({"worker": 1}) as cluster, acts.Session(cluster.target("worker")) as session:
            value = session.run(acts.debugging.Print(acts.constant(2.0), ["said"]) + 1.0)
        tell([float(value), [os.readlink(f"/proc/self/fd/{descriptor}") for descriptor in closed]])
    """
    assert told(tmp_path, closed, program) == [3.0, ["/dev/null"] * len(closed)]


def test_a_server_and_a_session_work_where_the_programs_own_loop_came_first(tmp_path: Path) -> None:
    """A program's own uvloop takes descriptors that are free; those that get free later are not ours either.

    1. The loop is made while all descriptors are open, then the program closes them.
    2. A server listens, a session connects and both close: uvloop would abort at a descriptor below 3.
    """
    pytest.importorskip("uvloop")
    program = """
        import asyncio, uvloop
        import actorsession as acts
        from actorsession.cluster import Server

        async def main():
            for descriptor in range(3):
                os.close(descriptor)
            async with Server({"worker": ["127.0.0.1:0"]}, "worker") as server:
                for descriptor in range(3):
                    os.close(descriptor)
                async with acts.AsyncSession(server.target) as session:
                    return await session.run(acts.constant(2.0) + 1.0)

        tell(float(asyncio.Runner(loop_factory=uvloop.new_event_loop).run(main())))
    """
    assert told(tmp_path, (), program) == 3.0


def test_importing_opens_no_descriptor(tmp_path: Path) -> None:
    program = """
        import actorsession, actorsession.cluster, actorsession.session, actorsession.cli

        def is_open(descriptor):
            try:
                os.fstat(descriptor)
            except OSError:
                return False
            return True

        tell([[is_open(descriptor) for descriptor in closed], sys.stdout is None])
    """
    assert told(tmp_path, (0, 1, 2), program) == [[False] * 3, True]


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
async def test_a_worker_works_without_standard_descriptors(tmp_path: Path, closed: tuple[int, ...]) -> None:
    address = tmp_path / "address"
    cluster = json.dumps({"worker": ["127.0.0.1:0"]})
    with started_without(closed, command("worker", "--cluster", cluster, "--port-file", str(address))) as process:
        await eventually(address.exists)
        found = await soon(read_statistics(address.read_text().strip()))
        assert found.task == W0
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0


def test_commands_end_with_their_usual_status_without_standard_descriptors(tmp_path: Path) -> None:
    """All in one process: each makes a loop of its own, if it makes one."""
    nobody = f"unix://{tmp_path}/nobody"
    program = f"""
        from actorsession.cli import main

        def status(*words):
            try:
                return main(words)
            except SystemExit as end:
                return end.code

        tell({{
            " ".join(words): status(*words)
            for words in [
                ("--help",), ("--version",), ("doctor",), ("token",), ("worker",), ("worker", "--nonsense"),
                *((command, {nobody!r}, "--timeout", "1") for command in ("status", "stop", "why")),
            ]
        }})
    """
    unreachable = {f"{name} {nobody} --timeout 1": 1 for name in ("status", "stop", "why")}
    assert told(tmp_path, (0, 1, 2), program) == {
        "--help": 0,
        "--version": 0,
        "doctor": 0,
        "token": 0,
        "worker": 2,
        "worker --nonsense": 2,
        **unreachable,
    }


def test_a_cluster_starts_and_ends_in_order_without_standard_input_and_error() -> None:
    words = command("cluster", "--jobs", "worker=1", "--json")
    with started_without((0, 2), words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert list(json.loads(process.stdout.readline())["tasks"]) == [W0]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
