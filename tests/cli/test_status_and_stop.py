"""``status`` and ``stop``: whom they ask, what they show, and who does not answer."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, ConfigProto, Graph, __version__, cli, ops
from actorsession.cli import status
from actorsession.cluster import ServerStatistics
from actorsession.config import Experimental, SessionMetadata
from actorsession.durations import short_duration
from tests.cli.kit import asked, called, line_of, ran, rest, serving
from tests.cluster.kit import PATIENCE, PS0, W0, W1, is_empty, long_product, on, until_all
from tests.cluster.script import command, running
from tests.loops import run_to_end
from tests.test_prometheus import read, value

pytestmark = pytest.mark.process

ONE = json.dumps({"worker": ["127.0.0.1:0"]})
EVERYBODY = [PS0, W0, W1]


@pytest.fixture(scope="module")
def cluster() -> Iterator[dict[str, Any]]:
    """One ps and two workers: address and process by task."""
    with serving("cluster", "--jobs", "ps=1,worker=2") as (_, said):
        yield said["tasks"]


def tables(out: str) -> list[list[list[str]]]:
    """The tables that are printed, by row and cell; the first row of each has the headings."""
    return [[re.split(r" {2,}", line.strip()) for line in block.splitlines()] for block in out.split("\n\n")]


def test_status_shows_the_process_of_one_task_and_its_counters(cluster: dict[str, Any]) -> None:
    address = cluster[W1]["address"]
    code, out, err = ran("status", address.removeprefix("tcp://"))
    assert (code, err) == (0, "")
    (process_headings, process), (headings, counters) = tables(out)
    assert process_headings == ["TASK", "ADDRESS", "PID", "VERSION", "UPTIME", "MEMORY", "PEAK", "SNAPSHOT"]
    assert process[:4] == [W1, address, str(cluster[W1]["pid"]), __version__]
    assert re.fullmatch(r"[\d.]+s|\d+m\d\ds", process[4])
    assert all(re.fullmatch(r"\d+MiB", memory) for memory in process[5:7])
    assert process[7] == "-"
    assert " ".join(headings) == "TASK SESSIONS SIDES GRAPHS STEPS RUNS PARTITIONS KERNELS PUSHES PEERS"
    assert counters[:5] == [W1, "0", "0", "0", "0"]


def test_status_shows_the_sessions_with_their_names_or_the_addresses_of_their_clients(cluster: dict[str, Any]) -> None:
    named = ConfigProto(experimental=Experimental(session_metadata=SessionMetadata(name="a\x1b[2Jb", version=1)))

    async def main() -> str:
        async with (
            AsyncSession(cluster[W0]["address"], graph=Graph(), config=named) as first,
            AsyncSession(cluster[W0]["address"], graph=Graph()) as second,
        ):
            await first.list_devices()
            await second.list_devices()
            return (await asyncio.to_thread(called, "status", cluster[W0]["address"]))[1]

    (headings, *rows) = tables(run_to_end(main()))[2]
    assert headings == ["SESSION", "TASK", "CLIENT", "STEPS", "WAITING", "RUNS", "PARTIAL"]
    assert [row[1] for row in rows] == [W0, W0]
    assert rows[0][2].startswith(r"a\x1b[2Jb at unix://")
    assert rows[1][2].startswith("unix://")
    assert [row[3:] for row in rows] == [["0"] * 4] * 2


def test_as_prometheus_reads_it_each_task_is_up_and_has_its_counters(cluster: dict[str, Any]) -> None:
    code, out, err = called("status", "--all", cluster[W0]["address"], "--format", "prometheus")
    assert (code, err) == (0, "")
    samples, types = read(out)
    for task, about in cluster.items():
        assert value(samples, "actorsession_server_up", task=task, address=about["address"]) == 1
        assert value(samples, "actorsession_server_sessions", task=task) == 0
        assert value(samples, "actorsession_server_memory_bytes", task=task) > 2**20
        info = {"task": task, "version": __version__, "pid": str(about["pid"])}
        assert value(samples, "actorsession_server_info", **info) == 1
    assert types["actorsession_server_runs_total"] == "counter"


def test_watching_shows_the_tables_again_and_again_until_ctrl_c_which_is_success(cluster: dict[str, Any]) -> None:
    address = cluster[W0]["address"]
    lines: list[str] = []
    with running(command("status", address, "--watch", "0.01")) as process:
        while len(rounds := [at for at, line in enumerate(lines) if line.endswith(f" {address}\n")]) < 3:
            lines.append(line_of(process))
            assert lines[-1], process.communicate(timeout=PATIENCE)
        process.send_signal(signal.SIGINT)
        code, _, err = rest(process)
    assert (code, err) == (0, "")
    for begin, end in pairwise(rounds):
        assert re.fullmatch(r"\d\d:\d\d:\d\d unix://.*\n", lines[begin])
        processes, rates, counters = tables("".join(lines[begin + 1 : end]))
        assert [row[0] for row in (*processes, *rates, *counters)] == ["TASK", W0] * 3
        assert rates[0][1:] == ["STEPS/S", "P50", "P99", "CPU", "SENT/S", "RECEIVED/S", "ERRORS"]
    first, second = [tables("".join(lines[begin + 1 : end]))[1][1] for begin, end in pairwise(rounds)]
    assert first[1:] == ["-"] * 7
    assert second[1] == "0.0"
    assert second[-1] == "0"


def test_rounds_that_are_json_have_the_rates_since_the_last_one(cluster: dict[str, Any]) -> None:
    with running(command("status", cluster[W0]["address"], "--watch", "0.01", "--json")) as process:
        first, second = [json.loads(line_of(process))["tasks"][W0] for _ in range(2)]
    assert first["rates"] is None
    assert second["rates"]["errors"] == 0
    assert second["rates"]["cpu"] > 0
    assert "rates" not in asked("status", cluster[W0]["address"])["tasks"][W0]


def test_status_of_all_goes_through_any_task(cluster: dict[str, Any]) -> None:
    for task in (PS0, W1):
        seen = asked("status", "--all", cluster[task]["address"])
        assert {t: s["address"] for t, s in seen["tasks"].items()} == {t: s["address"] for t, s in cluster.items()}
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
        processes, counters = tables(out)
        assert [row[0] for row in processes] == ["TASK", PS0, W0, f"x {W1}"]
        assert processes[-1][1:3] == [stopped["address"], "-"]
        assert [row[0] for row in counters] == ["TASK", PS0, W0]
        (line,) = err.splitlines()
        assert line.startswith(f"actorsession status: {W1} at {stopped['address']} does not answer:")
        assert "no answer within" in line
        code, out, _ = called(*words, "--json")
        assert code == 1
        assert json.loads(out)["silent"][stopped["address"]]["task"] == W1
        assert sorted(json.loads(out)["tasks"]) == [PS0, W0]
        code, out, _ = called(*words, "--format", "prometheus")
        assert code == 1
        up = {"task": W1, "address": stopped["address"]}
        assert value(read(out)[0], "actorsession_server_up", **up) == 0
    finally:
        os.kill(stopped["pid"], signal.SIGCONT)
    run_to_end(until_all([stopped["address"]], is_empty))
    assert not asked("status", cluster[PS0]["address"], "--all")["silent"]


@pytest.mark.parametrize("more", [[], ["--all"]])
def test_nobody_at_the_address_is_one_line_and_status_1(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("status", "stop"):
        assert cli.main([name, "127.0.0.1:1", *more]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"actorsession {name}: ")
        assert "127.0.0.1:1" in err
        assert "refused" in err
        assert err.count("\n") == 1


def test_stop_ends_a_server_and_says_which() -> None:
    with serving("worker", "--cluster", ONE) as (process, said):
        code, out, err = ran("stop", said["address"])
        assert (code, out, err) == (0, f"{W0} at {said['address']} has ended\n", "")
        assert rest(process) == (0, "", "")


def test_stop_needs_the_token_of_a_server_that_has_one() -> None:
    token = {"ACTORSESSION_TOKEN": "secret"}
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


SOUND = ServerStatistics(
    task=W0, sessions=0, worker_sessions=0, graphs=0, steps=0, rendezvous=0, runs=0, pushes=0,
    links=(), version="0.9.2", pool_threads=4, snapshot_every=60.0, snapshot_age=90.0, loop_lag=0.1,
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "versions", "found"),
    [
        ({}, {"0.9.2"}, []),
        ({}, {"0.9.2", "0.9.1", "0.9", "0.9.2rc1", ""}, []),
        ({}, {"0.9.2", "0.9.10"}, ["it runs version 0.9.2, and another task 0.9.10"]),
        ({"version": ""}, {"", "1.0"}, ["it runs version unknown, and another task 1.0"]),
        ({"version": "1.0rc1"}, {"1.0rc1", "1.0"}, ["it runs version 1.0rc1, and another task 1.0"]),
        ({"loop_lag": 0.7}, (), ["its event loop was 0.7 s late; a kernel or callback holds it"]),
        ({"overdue": 1, "overdue_kernels": "one thread"}, (), ["one thread"]),
        (
            {"overdue": 4, "overdue_kernels": "all threads"},
            (),
            ["all threads; other kernels wait until the task is restarted"],
        ),
        (
            {"snapshot_age": 7300.0},
            (),
            ["its last snapshot is 2h01m old, with one every 1m00s; its log has the reason"],
        ),
        ({"snapshot_every": 0.0, "snapshot_age": 7300.0}, (), []),
    ],
)
def test_what_is_wrong_with_a_task_is_found(change: dict[str, Any], versions: Any, found: list[str]) -> None:
    assert replace(SOUND, **change).findings(versions) == found


def test_what_is_wrong_is_marked_in_its_row_and_explained(answers: Callable[..., None]) -> None:
    seen = {
        "tcp://h:1": replace(SOUND, loop_lag=3.0),
        "tcp://h:2": replace(SOUND, task=W1, version="0.8"),
        "tcp://h:3": replace(SOUND, task=PS0),
    }

    async def ask(*_: Any, **__: Any) -> list[Any]:
        return [status.TaskAnswer(seen[where].task, where, seen[where]) for where in seen]

    answers(ask_cluster=ask)
    code, out, err = called("status", "tcp://h:1", "--all")
    assert (code, err) == (0, "")
    processes, counters, (late, old) = tables(out)
    for rows in (processes, counters):
        assert [row[0] for row in rows] == ["TASK", f"! {W0}", f"! {W1}", PS0]
    assert late == [f"{W0}: its event loop was 3.0 s late; a kernel or callback holds it"]
    assert old == [f"{W1}: it runs version 0.8, and another task 0.9.2"]
    tasks = asked("status", "tcp://h:1", "--all")["tasks"]
    assert [len(tasks[task]["findings"]) for task in (W0, W1, PS0)] == [1, 1, 0]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.25, "0.25s"), (59.0, "59s"), (61.0, "1m01s"), (3_720.0, "1h02m"), (90_000.0, "1d01h")]
)
def test_times_are_shown_in_the_two_largest_units(seconds: float, text: str) -> None:
    assert short_duration(seconds) == text
