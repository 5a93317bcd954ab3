"""``trace``, ``variables`` and ``logs``: what is remembered of a cluster, as its commands show it."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, Session, io, ops
from actorsession.errors import NotFoundError
from tests.cli.kit import asked, called, line_of, ran, serving
from tests.cluster.kit import PATIENCE, W0, W1, on
from tests.cluster.script import command, environment, running

pytestmark = pytest.mark.process
X = np.ones((8, 8), np.float32)


@pytest.fixture(scope="module")
def cluster() -> Iterator[dict[str, Any]]:
    """Two workers, over which three steps have run and one has failed: address and process by task."""
    with serving("cluster", "--jobs", "worker=2") as (_, said):
        tasks: dict[str, Any] = said["tasks"]
        with Graph().as_default() as graph:
            x = ops.placeholder("float32", [8, 8], name="x")
            with on(W1):
                weights = ops.Variable(X, name="weights")
                there = ops.matmul(x, weights, name="there")
                missing = io.read_file("/no/such/\x1b[31mfile", name="missing")
            end = on(W0, lambda: ops.add(there, 1.0, name="end"))
        with Session(tasks[W0]["address"], graph) as session:
            session.run(weights.initializer)
            for _ in range(2):
                session.run(end, {x: X})
            with pytest.raises(NotFoundError):
                session.run(missing)
        yield tasks


@pytest.fixture
def address(cluster: dict[str, Any]) -> str:
    text: str = cluster[W0]["address"]
    return text


def test_the_last_steps_are_shown_with_who_worked_and_who_waited(address: str) -> None:
    code, out, err = ran("trace", address)
    assert (code, err) == (0, "")
    heading, *rows = out.splitlines()
    assert heading.split() == ["STEP", "BEGAN", "TOOK", "WORKED", "WAITED", "SENT", "RUN"]
    assert [row.split()[-1] for row in rows[1:3]] == ["end:0", "end:0"]
    assert "missing:0: NotFoundError: " in rows[3]
    assert "\x1b" not in out
    for row in rows[1:3]:
        _, began, took, worked, waited, sent, _ = re.split(r" {2,}", row)
        assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3}", began)
        assert re.fullmatch(r"[\d.]+ (s|ms|us)", took)
        assert worked.startswith("worker/")
        assert waited.startswith("worker/0 ")
        assert sent == "256 B"


def test_any_task_answers_and_the_number_of_steps_is_what_is_asked_for(cluster: dict[str, Any]) -> None:
    steps = asked("trace", cluster[W1]["address"])["steps"]
    assert len(steps) == 4
    latest = asked("trace", cluster[W1]["address"], "--last", "2")["steps"]
    assert [step["step_id"] for step in latest] == [step["step_id"] for step in steps[2:]]
    assert steps[1]["task"] == W0
    assert len(steps[1]["parts"]) == 2


def test_only_slow_steps_and_those_of_one_session_are_shown_if_asked_for(address: str) -> None:
    steps = asked("trace", address)["steps"]
    took = sorted(step["took"] for step in steps)
    slow = asked("trace", address, "--slower-than", f"{(took[-2] + took[-1]) / 2 * 1e6}us")["steps"]
    assert [step["took"] for step in slow] == took[-1:]
    assert asked("trace", address, "--slower-than", "100s")["steps"] == []
    assert len(asked("trace", address, "--session", steps[0]["session"])["steps"]) == 4
    assert asked("trace", address, "--session", "nobody")["steps"] == []
    code, out, _ = called("trace", address, "--session", "nobody")
    assert (code, out) == (0, "no step is remembered that was asked for\n")


def test_one_step_is_shown_with_its_parts_and_transfers(address: str) -> None:
    number = str(asked("trace", address)["steps"][1]["step_id"])
    code, out, err = called("trace", address, "--step", number[-9:])
    assert (code, err) == (0, "")
    assert out.startswith(f"step {number}, a run of session ")
    assert "at worker/0: end:0" in out
    assert "fed: x:0" in out
    assert re.search(r"^DEVICE +BEGAN AFTER +TOOK +WAITED +WORKED$", out, re.M)
    assert re.search(r"send +worker/1 +worker/0 +there:0 +256 B$", out, re.M)
    assert re.search(r"recv +worker/0 +worker/1 +there:0 +256 B$", out, re.M)


def test_the_trace_of_a_step_is_a_file_that_perfetto_opens(address: str, tmp_path: Path) -> None:
    step = asked("trace", address)["steps"][1]
    path = tmp_path / "step.json"
    code, out, err = called("trace", address, "--step", str(step["step_id"]), "--out", str(path))
    assert (code, err) == (0, "")
    assert f"is in {path}" in out
    events = json.loads(path.read_text())["traceEvents"]
    names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert {"worker/0", "worker/1"} <= names
    assert {f"step {step['step_id']}", "waited"} <= {event["name"] for event in events if event["ph"] == "X"}
    assert {event["ph"] for event in events} >= {"s", "f"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--slower-than", "soon"], "expected a time such as 50ms"),
        (["--slower-than=-1s"], "expected a time such as 50ms"),
        (["--last", "0"], "expected a positive integer"),
        (["--step", "first"], "expected the number of a step"),
        (["--step", "123456789123456789123"], "0 steps that are remembered have a number that ends so"),
    ],
)
def test_wrong_arguments_are_refused_in_words(address: str, words: list[str], says: str) -> None:
    code, out, err = called("trace", address, *words)
    assert (code, out) == (2, "")
    assert says in err


def test_the_variables_of_all_tasks_are_listed_with_their_sum(cluster: dict[str, Any], address: str) -> None:
    code, out, err = called("variables", address, "--all")
    assert (code, err) == (0, "")
    heading, row, total = out.splitlines()
    assert heading.split() == ["VARIABLE", "DEVICE", "TYPE", "SHAPE", "CONTAINER", "SESSION", "INITIALISED", "BYTES"]
    cells = re.split(r" {2,}", row)
    assert cells == ["weights", "worker/1", "float32", "[8, 8]", "localhost", "-", "yes", "256 B"]
    assert total == "1 variable at 2 tasks, 256 B"
    assert called("variables", address)[1] == "0 variables at 1 task, 0 B\n"
    (found,) = asked("variables", cluster[W1]["address"])["variables"]
    assert (found["name"], found["nbytes"], found["shape"]) == ("weights", 256, [8, 8])


def test_the_log_of_a_task_is_read_through_its_server_whatever_its_standard_error_is(address: str) -> None:
    code, out, err = called("logs", address)
    assert (code, err) == (0, "")
    assert f"{W0} serves at {address}" in out
    assert "has opened session" in out
    assert len(called("logs", address, "--lines", "2")[1].splitlines()) == 2
    read = asked("logs", address, "--lines", "2")
    assert (read["task"], read["level"], len(read["lines"])) == (W0, "INFO", 2)


def test_new_lines_of_a_log_are_shown_as_they_come(address: str) -> None:
    words = command("logs", address, "--follow", "--lines", "1")
    with running(words, env=environment()) as process:
        assert line_of(process)
        with Graph().as_default() as graph:
            one = ops.constant(1.0)
        with Session(address, graph) as session:
            session.run(one)
        assert process.stdout is not None
        # Not ``line_of``: several lines may have come together.
        assert any("has opened session" in line for line in iter(process.stdout.readline, ""))
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0


def test_the_last_errors_of_a_task_are_shown(cluster: dict[str, Any]) -> None:
    code, out, err = called("logs", cluster[W1]["address"], "--errors")
    assert (code, err) == (0, "")
    heading, row, total = out.splitlines()
    assert heading.split() == ["WHEN", "OF", "TASK", "ERROR", "STEP", "MESSAGE"]
    assert re.split(r" {2,}", row)[1:4] == ["step", "worker/1", "NotFoundError"]
    assert r"/no/such/\x1b[31mfile" in row
    assert total.startswith(f"{W1} since 20")
    assert total.endswith(": 1 NotFoundError")


def test_a_task_that_is_stopped_is_named_and_does_not_hold_up_the_others(cluster: dict[str, Any], address: str) -> None:
    os.kill(cluster[W1]["pid"], signal.SIGSTOP)
    try:
        code, out, err = called("trace", address, "--timeout", "1")
        assert code == 1
        assert out.count("end:0\n") == 2
        assert err.startswith(f"actorsession trace: {W1}: ")
        code, out, err = called("variables", address, "--all", "--timeout", "1")
        assert (code, out) == (1, "0 variables at 1 task, 0 B\n")
        assert err.startswith(f"actorsession variables: {W1}: ")
        code, out, err = called("logs", cluster[W1]["address"], "--timeout", "1")
        assert (code, out) == (1, "")
        assert err.startswith("actorsession logs: ")
    finally:
        os.kill(cluster[W1]["pid"], signal.SIGCONT)


@pytest.mark.parametrize("name", ["trace", "variables", "logs"])
def test_where_nobody_answers_the_command_fails_in_one_line(name: str) -> None:
    code, out, err = called(name, "127.0.0.1:1", "--timeout", "1")
    assert (code, out) == (1, "")
    assert err.startswith(f"actorsession {name}: ")
    assert err.count("\n") == 1


def test_follow_goes_with_neither_errors_nor_json(address: str) -> None:
    for word in ("--errors", "--json"):
        code, _, err = called("logs", address, "--follow", word)
        assert code == 2
        assert "--follow shows the lines of the log" in err
