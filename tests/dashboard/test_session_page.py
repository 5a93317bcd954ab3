"""The page of a training: of a session in this process, and of one that a master runs."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, ConfigProto, Graph, Session
from actorsession.errors import OpError
from tests.actors.kit import PATIENCE
from tests.cluster.kit import in_process
from tests.dashboard.kit import quoted

BATCHES = [None] * 5


@pytest.fixture
def graph() -> Iterator[Graph]:
    """A variable that is trained, and a loss."""
    with Graph().as_default() as made:
        weights = acts.get_variable("weights", initializer=np.ones([2, 3], np.float32))
        acts.identity(acts.reduce_sum(weights), name="loss")
        acts.identity(weights.assign_sub(0.1 * acts.ones([2, 3])), name="train")
        acts.global_variables_initializer()
        yield made


def node(graph: Graph, name: str) -> Any:
    return graph.get_tensor_by_name(f"{name}:0")


def read(link: str, path: str) -> Any:
    """The JSON of a path of the page."""
    base, _, token = link.partition("/?token=")
    with urllib.request.urlopen(f"{base}{path}{'&' if '?' in path else '?'}token={token}", timeout=PATIENCE) as answer:
        return json.load(answer)


def link_in(text: str) -> str:
    assert text.startswith("the page of the session: http://127.0.0.1:")
    return text.partition(": ")[2].strip()


def check_local_page(link: str, graph: Graph) -> None:
    (task,) = read(link, "/api/cluster")["tasks"]
    assert task["task"] == "/job:localhost/replica:0/task:0"
    assert (task["state"], task["errors"]) == ("up", 0)
    (session,) = read(link, "/api/sessions")
    assert session["client"] == "this process"
    shown = read(link, f"/api/graphs/{session['handle']}")
    assert len(shown["nodes"]) == len(graph.get_operations())
    assert next(n["device"] for n in shown["nodes"] if n["name"] == "loss").endswith("CPU:0")
    (variable,) = read(link, "/api/variables")
    where = "&".join(f"{part}={quoted(variable[part])}" for part in ("device", "container", "session"))
    summary = read(link, f"/api/variables/{quoted(variable['task'])}/weights?{where}")
    assert sum(summary["histogram"]["counts"]) == 6
    steps = read(link, "/api/steps")["last"]
    assert [step["fetches"] for step in steps if "loss:0" in step["fetches"]]
    assert read(link, f"/api/steps/{quoted(steps[0]['key'])}")["session"] == session["handle"]
    explained = read(link, f"/api/explain?session={session['handle']}&fetches=loss:0")
    assert explained["fetches"] == ["loss:0"]
    assert read(link, "/api/why")["waits"] == []
    assert read(link, f"/api/logs/{quoted(task['task'])}")["task"] == task["task"]
    assert read(link, "/api/errors") == read(link, "/api/queues") == []


def test_a_training_of_this_process_has_a_page_while_it_runs(graph: Graph, capsys: pytest.CaptureFixture[str]) -> None:
    with Session(graph=graph, config=ConfigProto(kept_steps=100)) as session:
        session.run(graph.get_operation_by_name("init"))
        loop = acts.train.fit(session, node(graph, "train"), BATCHES, loss=node(graph, "loss"), every=2, dashboard=True)
        reports = iter(loop)
        assert next(reports).step == 2
        link = link_in(capsys.readouterr().out)
        check_local_page(link, graph)
        assert [report.step for report in reports] == [4, 5]
        with pytest.raises(OSError, match="refused"):
            read(link, "/api/cluster")


async def test_a_training_that_is_left_ends_its_page(graph: Graph, capsys: pytest.CaptureFixture[str]) -> None:
    async with AsyncSession(graph=graph, config=ConfigProto(kept_steps=100)) as session:
        await session.run(graph.get_operation_by_name("init"))
        loop = acts.train.fit(session, node(graph, "train"), BATCHES, loss=node(graph, "loss"), every=1, dashboard=True)
        reports = aiter(loop)
        assert (await anext(reports)).step == 1
        link = link_in(capsys.readouterr().out)
        await asyncio.to_thread(check_local_page, link, graph)
        await reports.aclose()
        with pytest.raises(OSError, match="refused"):
            await asyncio.to_thread(read, link, "/api/cluster")
        assert (await session.run(node(graph, "loss"))) < 6.0


async def test_a_training_on_a_cluster_shows_that(graph: Graph, capsys: pytest.CaptureFixture[str]) -> None:
    async with in_process({"worker": 2}) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        await session.run(graph.get_operation_by_name("init"))
        loop = acts.train.fit(session, node(graph, "train"), BATCHES, loss=node(graph, "loss"), every=3, dashboard=True)
        tasks: list[Any] = []
        async for _ in loop:
            if not tasks:
                link = link_in(capsys.readouterr().out)
                tasks = (await asyncio.to_thread(read, link, "/api/cluster"))["tasks"]
        assert [task["task"] for task in tasks] == [server.task for server in cluster.servers]


async def test_a_page_that_does_not_come_up_is_an_error_before_the_first_step(graph: Graph) -> None:
    async with in_process({"worker": 1}) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        await session.run(graph.get_operation_by_name("init"))
        await cluster.servers[0].stop()
        with pytest.raises(OpError, match="the page did not come up"):
            await acts.train.fit(session, node(graph, "train"), BATCHES, loss=node(graph, "loss"), dashboard=True)
