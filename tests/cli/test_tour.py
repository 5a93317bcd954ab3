"""``actorsession tour``: steps of a small cluster, and the page on which they are seen."""

from __future__ import annotations

import json
import signal
import urllib.request
from typing import Any

import pytest

from actorsession.actors import Deadline
from tests.cli.kit import line_of, ran, rest
from tests.cluster.kit import PATIENCE
from tests.cluster.script import command, environment, running

pytest.importorskip("aiohttp")
pytestmark = pytest.mark.process


def answer_of(link: str, path: str) -> Any:
    """What the page answers to a request, with the token of its address."""
    address, _, query = link.partition("?")
    with urllib.request.urlopen(f"{address}{path}?{query}", timeout=PATIENCE) as answer:
        return json.load(answer)


def test_runs_and_partial_runs_take_turns() -> None:
    status, out, err = ran("tour", "--no-open", "--steps", "3", "--pause", "0.01")
    page, *told = out.splitlines()
    assert (status, err) == (0, "")
    assert page.startswith("the page of the cluster: http://127.0.0.1:")
    assert told == [
        "step 1: a run over both workers",
        "step 2: a partial run: x is fed, and hidden is there",
        "step 2: a partial run: factor is fed, and the answer is there",
        "step 3: a run over both workers",
    ]


def test_the_page_shows_the_tasks_and_the_session_until_a_signal_ends_the_tour() -> None:
    with running(command("tour", "--no-open", "--pause", "1000"), env=environment()) as process:
        link = line_of(process).split()[-1]
        assert line_of(process) == "step 1: a run over both workers\n"
        tasks = answer_of(link, "api/cluster")["tasks"]
        assert [task["task"] for task in tasks] == [f"/job:worker/replica:0/task:{number}" for number in (0, 1)]
        deadline = Deadline.after(PATIENCE)
        while "tour" not in (handles := {one["name"]: one["handle"] for one in answer_of(link, "api/sessions")}):
            assert not deadline.expired
            answer_of(link, "api/cluster")  # which asks the tasks
        nodes = answer_of(link, f"api/graphs/{handles['tour']}")["nodes"]
        assert all("/cli/tour.py:" in node["line"] for node in nodes)
        process.send_signal(signal.SIGINT)
        assert rest(process) == (0, "", "")
