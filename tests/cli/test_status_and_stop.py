"""``status`` and ``stop``: whom they ask, what they show, and who does not answer."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from actorsession import cli, ops
from actorsession.actors.loops import run as run_to_end
from actorsession.graph.graph import Graph
from actorsession.rpc.security import TOKEN_VARIABLE
from actorsession.session import AsyncSession
from tests.cli.kit import asked, called, ran, rest, serving
from tests.cluster.kit import PS0, W0, W1, is_empty, long_product, on, until_all

pytestmark = pytest.mark.process

ONE = json.dumps({"worker": ["127.0.0.1:0"]})
EVERYBODY = [PS0, W0, W1]


@pytest.fixture(scope="module")
def cluster() -> Iterator[dict[str, Any]]:
    """One ps and two workers: address and process by task."""
    with serving("cluster", "--jobs", "ps=1,worker=2") as (_, said):
        yield said["tasks"]


def test_status_shows_one_task_as_a_table(cluster: dict[str, Any]) -> None:
    address = cluster[W1]["address"]
    code, out, err = ran("status", address.removeprefix("tcp://"))
    assert (code, err) == (0, "")
    heading, row = out.splitlines()
    assert heading.split() == [
        "TASK", "ADDRESS", "SESSIONS", "SIDES", "GRAPHS", "STEPS", "RUNS", "PARTITIONS",
        "KERNELS", "PUSHES", "PEERS",
    ]  # fmt: skip
    assert row.split()[0] == W1
    assert row.split()[2:6] == ["0", "0", "0", "0"]


def test_status_of_all_goes_through_any_task(cluster: dict[str, Any]) -> None:
    for task in (PS0, W1):
        seen = asked("status", "--all", cluster[task]["address"])
        assert {t: s["address"] for t, s in seen["tasks"].items()} == {
            t: s["address"] for t, s in cluster.items()
        }
        assert seen["silent"] == {}


def test_status_answers_while_the_tasks_are_busy(cluster: dict[str, Any]) -> None:
    graph = Graph()
    with graph.as_default(), on(W1):
        x = ops.placeholder("float32", [700, 700])
        end = long_product(x, 4000)  # takes longer than commands do; it is given up

    async def main() -> None:
        async with AsyncSession(cluster[W0]["address"], graph=graph) as session:
            running = asyncio.create_task(session.run(end, {x: np.zeros([700, 700], np.float32)}))
            await until_all([cluster[W1]["address"]], lambda seen: seen.steps == 1)
            seen = await asyncio.to_thread(asked, "status", "--all", cluster[PS0]["address"])
            assert not running.done()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        assert [task for task in EVERYBODY if seen["tasks"][task]["steps"]] == [W1]

    run_to_end(main())


def test_those_who_do_not_answer_are_named_with_the_reason(cluster: dict[str, Any]) -> None:
    stopped = cluster[W1]
    os.kill(stopped["pid"], signal.SIGSTOP)
    try:
        words = ["status", cluster[PS0]["address"], "--all", "--timeout", "2"]
        code, out, err = called(*words)
        assert code == 1
        assert [line.split()[0] for line in out.splitlines()] == ["TASK", PS0, W0]
        (line,) = err.splitlines()
        assert line.startswith(
            f"actorsession status: {W1} at {stopped['address']} does not answer:"
        )
        assert "no answer within" in line
        code, out, _ = called(*words, "--json")
        assert code == 1
        assert json.loads(out)["silent"][stopped["address"]]["task"] == W1
        assert sorted(json.loads(out)["tasks"]) == [PS0, W0]
    finally:
        os.kill(stopped["pid"], signal.SIGCONT)
    run_to_end(until_all([stopped["address"]], is_empty))
    assert not asked("status", cluster[PS0]["address"], "--all")["silent"]


@pytest.mark.parametrize("more", [[], ["--all"]])
def test_nobody_at_the_address_is_one_line_and_status_1(
    more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("status", "stop"):
        assert cli.main([command, "127.0.0.1:1", *more]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"actorsession {command}: ")
        assert "127.0.0.1:1" in err
        assert "refused" in err
        assert err.count("\n") == 1


def test_stop_ends_a_server_and_says_which() -> None:
    with serving("worker", "--cluster", ONE) as (process, said):
        code, out, err = ran("stop", said["address"])
        assert (code, out, err) == (0, f"{W0} at {said['address']} has ended\n", "")
        assert rest(process) == (0, "", "")


def test_stop_needs_the_token_of_a_server_that_has_one() -> None:
    token = {TOKEN_VARIABLE: "secret"}
    with serving("worker", "--cluster", ONE, **token) as (process, said):
        code, out, err = called("stop", said["address"])
        assert (code, out) == (1, "")
        assert "token" in err
        assert asked("status", said["address"], **token)["tasks"][W0]["task"] == W0
        assert asked("stop", said["address"], **token)["ended"] == {W0: said["address"]}
        code, out, err = rest(process)
        assert (code, out, err.count("refused a connection")) == (0, "", err.count("\n")), err


def test_a_server_that_hangs_is_not_said_to_have_ended() -> None:
    with serving("worker", "--cluster", ONE) as (process, said):
        process.send_signal(signal.SIGSTOP)
        code, out, err = called("stop", said["address"], "--timeout", "0.5")
        assert (code, out) == (1, "")
        assert said["address"] in err
