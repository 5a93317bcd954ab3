"""The page's server over worker processes: each path, who may ask, and what is left behind."""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import aiohttp
import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, Graph, LocalCluster
from actorsession.dashboard import HEADERS, DashboardServer
from tests.actors.kit import PATIENCE, eventually
from tests.cluster.kit import PS0, W0, W1, in_process, patient_cluster
from tests.dashboard.kit import Page, opened, quoted

HOSTILE = '<script>alert("1")</script>\u202e\x1b[31m'


@pytest.fixture
async def processes() -> AsyncIterator[LocalCluster]:
    async with patient_cluster({"ps": 1, "worker": 2}) as cluster:
        yield cluster


async def test_every_path_answers_with_what_the_processes_do(processes: LocalCluster) -> None:
    with Graph().as_default() as graph:
        with acts.device("/job:ps/task:0"):
            weights = acts.get_variable("layer/weights", initializer=np.arange(6.0, dtype=np.float32).reshape(2, 3))
        queue = acts.FIFOQueue(7, [acts.float32], shapes=[[]], name="queue")
        put, take = queue.enqueue(1.0), queue.dequeue(name="take")
        with acts.device("/job:worker/task:1"):
            doubled = acts.multiply(weights, 2.0, name="doubled")
            factor = acts.placeholder(acts.float32, [], name="factor")
            tripled = acts.multiply(weights, factor, name="tripled")
            refused = acts.reshape(weights, acts.cast(weights[0], acts.int32), name="refused")
        init = acts.global_variables_initializer()
    async with (
        AsyncSession(processes.target("worker", 0), graph=graph) as session,
        opened(processes.target("ps", 0)) as page,
    ):
        await session.run(init)
        await session.run(put)
        await session.run(put)
        for _ in range(20):
            await session.run(doubled)
        await session.run(tripled, {factor: 3.0})
        with pytest.raises(acts.errors.InvalidArgumentError):
            await session.run(refused)

        await check_cluster_and_history(page)
        (one,) = await page.until("/api/sessions", bool)
        assert one["task"] == W0
        assert one["runs"] >= 22
        assert one["nodes"] == len(graph.get_operations())

        shown = await page.get(f"/api/graphs/{quoted(one['handle'])}")
        assert shown["more"] == 0
        nodes = {node["name"]: node for node in shown["nodes"]}
        assert nodes["doubled"]["device"].startswith(W1)
        assert nodes["doubled"]["op"] == "Mul"
        assert nodes["doubled"]["shape"] == [2, 3]
        assert nodes["tripled"]["seconds"] > 0.0
        assert nodes["take"]["seconds"] is None  # no step has run it
        assert nodes["doubled"]["line"].startswith(__file__)
        read = {name for node in shown["nodes"] for name in node["inputs"]}
        assert {name.removeprefix("^").partition(":")[0] for name in read} <= set(nodes)
        assert len(nodes["doubled"]["inputs"]) == 2
        part = await page.get(f"/api/graphs/{one['handle']}?nodes=3")
        assert (len(part["nodes"]), part["more"]) == (3, len(nodes) - 3)

        device = f"{PS0}/device:CPU:0"
        summary = await page.get(f"/api/variables/{quoted(PS0)}/layer%2Fweights?device={quoted(device)}&bins=5")
        assert (summary["min"], summary["max"], summary["mean"]) == (0.0, 5.0, 2.5)
        assert summary["histogram"]["counts"] == [1, 1, 1, 1, 2]
        assert (summary["shape"], summary["dtype"], summary["bytes"]) == ([2, 3], "float32", 24)

        (listed,) = await page.get("/api/variables")
        assert (listed["name"], listed["task"], listed["device"]) == ("layer/weights", PS0, device)
        assert (listed["shape"], listed["dtype"]) == ([2, 3], "float32")
        assert (listed["bytes"], listed["initialised"]) == (24, True)

        (found,) = await page.get("/api/queues")
        assert (found["name"], found["size"], found["capacity"]) == ("queue", 2, 7)
        assert found["session"] == one["handle"]

        await check_steps(page, one["handle"])
        await check_errors_and_logs(page)
        await session.run(take)
        await session.run(take)
        stuck = asyncio.create_task(session.run(take))
        try:
            why = await page.until("/api/why", lambda why: why["cause"])
            assert "take" in why["cause"][0]
            assert "QueueDequeue" in why["text"]
            assert {wait["node"] for wait in why["waits"]} == {"take"}
            assert why["silent"] == []
            assert [edge[1].partition(" ")[0] for edge in why["edges"]] == ["take"]
        finally:
            stuck.cancel()


async def check_steps(page: Page, handle: str) -> None:
    steps = await page.get("/api/steps?count=200")
    assert steps["running"] == []
    assert len(steps["last"]) >= 23
    assert {step["session"] for step in steps["last"]} == {handle}
    row = next(step for step in steps["last"] if step["fetches"] == ["tripled:0"])
    assert (row["feeds"], row["kind"], row["error"], row["task"]) == (["factor:0"], "run", "", W0)
    step = await page.get(f"/api/steps/{quoted(row['key'])}")
    assert step["step_id"] == row["step_id"] == row["key"].rpartition("/")[2]
    parts = {part["device"]: part for part in step["partitions"]}
    assert {part["task"] for part in parts.values()} >= {PS0, W1}
    assert all(part["ended"] >= part["began"] >= row["began"] - 1.0 for part in parts.values() if part["began"])
    (tripled,) = [n for part in parts.values() for n in part["planned"] if n["name"] == "tripled"]
    assert (tripled["op"], tripled["line"].partition(":")[0]) == ("Mul", __file__)
    crossed = [t for t in step["transfers"] if t["source"].startswith(PS0) and t["target"].startswith(W1)]
    assert [transfer["bytes"] for transfer in crossed] == [24]
    assert crossed[0]["sent"] is not None
    assert crossed[0]["received"] is not None
    assert await page.get("/api/steps?slower_than=1000") == {"running": [], "last": []}
    assert "ID" in (await page.get("/api/steps/none", 400))["error"]
    assert "remembers" in (await page.get(f"/api/steps/{quoted(f'{W0}/{handle}/1')}", 404))["error"]

    explained = await page.get(f"/api/explain?session={handle}&fetches=tripled:0&feeds=factor:0")
    assert [feed["name"] for feed in explained["feeds"]] == ["factor:0"]
    assert {part["task"] for part in explained["partitions"]} >= {PS0, W1}
    assert "fetches" in (await page.get(f"/api/explain?session={handle}", 400))["error"]
    assert "no task" in (await page.get("/api/explain?session=none&fetches=x:0", 404))["error"]


async def check_errors_and_logs(page: Page) -> None:
    errors = await page.get("/api/errors")
    assert errors[0]["code"] == "InvalidArgumentError"
    assert "reshape" in errors[0]["message"]
    assert errors[0]["task"] in (W0, W1)
    tasks = {task["task"]: task for task in (await page.get("/api/cluster"))["tasks"]}
    assert tasks[W0]["errors"] >= 1
    log = await page.get(f"/api/logs/{quoted(W0)}?lines=5")
    assert log["task"] == W0
    assert len(log["lines"]) <= 5
    after = await page.get(f"/api/logs/{quoted(W0)}?after={log['next']}")
    assert after["next"] >= log["next"]


async def check_cluster_and_history(page: Page) -> None:
    cluster = await page.until(
        "/api/cluster", lambda found: all(task.get("rate") is not None for task in found["tasks"])
    )
    tasks = {task["task"]: task for task in cluster["tasks"]}
    assert list(tasks) == [PS0, W0, W1]
    for task in tasks.values():
        assert task["memory"] > 0
        assert (task["whole_rate"] > 0.0) <= (task["task"] == W0)  # the others run parts of the steps of its master
        assert task["devices"][0]["type"] == "CPU"
        assert task["findings"] == []
    assert {link["peer"] for link in tasks[PS0]["links"]} >= {W1, "client"}
    history = await page.get("/api/history?seconds=60")
    assert set(history["tasks"]) == set(tasks)
    assert len(history["tasks"][PS0]["memory"]) == len(history["times"]) > 0


async def test_a_partial_run_shows_its_feeds_and_fetches_so_far() -> None:
    async with in_process({"worker": 2}) as cluster:
        with Graph().as_default() as graph:
            first, second = acts.placeholder(acts.float32, [], name="a"), acts.placeholder(acts.float32, [], name="b")
            half = acts.add(first, 1.0, name="half")
            with acts.device("/job:worker/task:1"):
                whole = acts.add(half, second, name="whole")
        async with AsyncSession(cluster.target(), graph=graph) as session, opened(cluster.target()) as page:
            handle = await session.partial_run_setup([half, whole], [first, second])
            assert await session.partial_run(handle, half, {first: 1.0}) == 2.0
            (running,) = (await page.get("/api/steps"))["running"]
            assert (running["kind"], running["took"]) == ("partial", 0.0)
            assert sorted(running["feeds"]) == ["a:0", "b:0"]
            step = await page.get(f"/api/steps/{quoted(running['key'])}")
            assert step["fed"]["b:0"] is step["fetched"]["whole:0"] is None
            assert running["began"] - 1.0 <= step["fed"]["a:0"] == step["fetched"]["half:0"]
            why = await page.until("/api/why", lambda why: why["cause"])
            assert "not fed b:0" in why["cause"][0]
            assert await session.partial_run(handle, whole, {second: 3.0}) == 5.0
            ended = await page.get(f"/api/steps/{quoted(running['key'])}")
            assert ended["took"] > 0.0
            assert ended["fed"] == ended["fetched"] == {}


async def test_only_who_has_the_token_is_answered_and_nothing_is_changed() -> None:
    token = "secret of the cluster"
    async with in_process({"worker": 1}, token=token) as cluster, opened(cluster.target(), token=token) as page:
        base, token = page.server.link.split("/?token=")
        assert "secret" not in token
        async with aiohttp.ClientSession() as http:
            for path in [
                "/",
                "/api/cluster",
                "/api/none",
                "/assets/index.html",
                "/?token=wrong",
                "/?token=secret of the cluster",
            ]:
                async with http.get(f"{base}{path}") as response:
                    assert response.status == 403
                    assert "token" in (await response.json())["error"]
            async with http.get(f"{base}/api/cluster?token={token}") as response:
                assert response.status == 200
                assert {name: response.headers[name] for name in HEADERS} == HEADERS
        for host in ["evil.example", "evil.example:80", ""]:
            answer = await page.get("/api/cluster", 421, headers={"Host": host})
            assert "host" in answer["error"]
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"]:
            async with page._http.request(method, f"{base}/api/cluster") as response:
                assert response.status == 405
                assert response.headers["Allow"] == "GET"
        cookies = {cookie.key: cookie for cookie in page._http.cookie_jar}
        (cookie,) = cookies.values()
        assert cookie["httponly"]
        assert cookie["samesite"] == "Lax"


async def test_what_is_not_there_is_told_in_words(processes: LocalCluster) -> None:
    async with opened(processes.target("ps", 0)) as page:
        for path, words in {
            "/api/none": "Not Found",
            "/assets/..%2fserver.py": "no file",
            "/api/graphs/none": "no task has a session 'none'",
            f"/api/variables/{quoted('/job:none/replica:0/task:0')}/v": "no task '/job:none",
            f"/api/variables/{quoted(PS0)}/{quoted(HOSTILE)}": "no variable",
        }.items():
            answer = await page.get(path, 404)
            assert words in answer["error"], answer
        for path in ["/api/history?seconds=x&points=-1&task=none", "/api/history?seconds=99999999999999999999"]:
            assert (await page.get(path))["times"] is not None


async def test_hostile_names_stay_data() -> None:
    name = "<img src=x onerror=alert(1)>"
    async with in_process({"worker": 1}) as cluster:
        with Graph().as_default() as graph:
            queue = acts.FIFOQueue(2, [acts.float32], shapes=[[]], shared_name=f"{name}\u202e")
            put = queue.enqueue(1.0)
        async with AsyncSession(cluster.target(), graph=graph) as session, opened(cluster.target()) as page:
            await session.run(put)
            (found,) = await page.get("/api/queues")
            assert found["name"] == f"{name}\u202e"
            async with page._http.get(f"{page.base}/api/queues") as response:
                assert response.headers["X-Content-Type-Options"] == "nosniff"
                assert (await response.read()).isascii()


async def test_a_task_that_is_killed_and_one_that_is_stopped_are_told_apart_and_delay_nobody() -> None:
    async with patient_cluster({"ps": 1, "worker": 2}) as cluster, opened(cluster.target("ps", 0)) as page:
        await page.until("/api/cluster", lambda found: all(t["state"] == "up" for t in found["tasks"]))
        cluster.process("worker", 0).kill_now()
        cluster.process("worker", 1).send_signal(signal.SIGSTOP)
        try:

            def are_told_apart(found: dict) -> bool:
                return [t["state"] for t in found["tasks"]] == ["up", "gone", "silent"]

            found = await page.until("/api/cluster", are_told_apart)
            assert all(t["fault"] for t in found["tasks"][1:])
            begun = asyncio.get_running_loop().time()
            why = await page.get("/api/why")
            await page.get("/api/queues")
            assert asyncio.get_running_loop().time() - begun < PATIENCE
            assert set(why["silent"]) == {W0, W1}
            cluster.process("worker", 1).send_signal(signal.SIGCONT)
            await cluster.restart("worker", 0)
            await page.until("/api/cluster", lambda found: all(t["state"] == "up" for t in found["tasks"]))
        finally:
            cluster.process("worker", 1).send_signal(signal.SIGCONT)


async def test_the_task_that_was_named_may_die_and_tasks_may_come_and_go() -> None:
    async with patient_cluster({"ps": 1, "worker": 1}) as cluster, opened(cluster.target("ps", 0)) as page:
        await page.until("/api/cluster", lambda found: len(found["tasks"]) == 2)
        await cluster.add("worker")
        await page.until("/api/cluster", lambda found: [t["state"] for t in found["tasks"]] == ["up"] * 3)
        await cluster.remove("worker", 1)
        await page.until("/api/cluster", lambda found: len(found["tasks"]) == 2)
        cluster.process("ps", 0).kill_now()
        await page.until("/api/cluster", lambda found: [t["state"] for t in found["tasks"]] == ["gone", "up"])
        await cluster.add("worker")
        await page.until("/api/cluster", lambda found: len(found["tasks"]) == 3)


async def test_nothing_is_asked_while_nobody_looks() -> None:
    async with in_process() as cluster, opened(cluster.target(), interval=0.01) as page:
        await page.get("/api/cluster")

        def links() -> int:
            return sum(len(server.statistics().links) for server in cluster.servers)

        assert links() >= 2
        await eventually(lambda: page.poller.resting)
        await eventually(lambda: links() == 0)
        rounds = page.poller.rounds
        found = await page.get("/api/cluster")
        assert [t["state"] for t in found["tasks"]] == ["up", "up"]
        assert page.poller.rounds > rounds


async def test_the_history_is_kept_on_if_asked_for() -> None:
    async with in_process() as cluster, opened(cluster.target(), interval=0.01, keep_history=True) as page:
        await eventually(lambda: page.poller.rounds > 30)
        assert not page.poller.resting


async def test_a_page_that_stays_open_collects_nothing() -> None:
    paths = ["/api/cluster", "/api/history", "/api/sessions", "/api/steps", "/api/errors", "/api/variables", "/api/why"]
    with Graph().as_default() as graph:
        total = acts.add(1.0, 2.0)
    async with (
        in_process({"worker": 2}, kept_steps=5) as cluster,
        AsyncSession(cluster.target(), graph=graph) as session,
        opened(cluster.target(), keep_history=True) as page,  # or it rests while the test is held up
    ):

        async def look(times: int) -> int:
            """The least number of objects after one of some looks and rounds; others have requests under way."""
            counts = []
            for _ in range(times):
                await session.run(total)
                for path in paths:
                    await page.get(path)
                rounds = page.poller.rounds
                await page.until("/api/cluster", lambda _, rounds=rounds: page.poller.rounds > rounds)
                gc.collect()
                counts.append(len(gc.get_objects()))
            return min(counts)

        await look(10)
        before, size = await look(5), page.poller.history.nbytes
        await look(15)
        after = await look(5)
        assert page.poller.history.nbytes == size
        assert after - before < 100


async def test_many_tasks_are_asked_at_once() -> None:
    async with in_process({"worker": 40}) as cluster, opened(cluster.target()) as page:
        tasks = await page.until("/api/cluster", lambda found: all(t["state"] == "up" for t in found["tasks"]))
        assert len(tasks["tasks"]) == 40
        for path in ("/api/queues", "/api/errors", "/api/steps"):
            await page.get(path)
        await page.until("/api/history", lambda found: len(found["tasks"]) == 40)
        # One link for each task, and that of the first question.
        clients = [link for s in cluster.servers for link in s.statistics().links if link.peer == "client"]
        assert len(clients) <= 41


async def test_requests_that_are_too_many_are_refused_and_not_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    async with in_process() as cluster, opened(cluster.target()) as page:
        hold = asyncio.Event()
        monkeypatch.setattr(page.poller, "wait_for_round", lambda seconds: hold.wait())
        held = [asyncio.create_task(page.get("/api/cluster")) for _ in range(64)]
        await eventually(lambda: page.server.under_way == 64)
        assert "under way" in (await page.get("/api/cluster", 503))["error"]
        hold.set()
        await asyncio.gather(*held)
        assert page.server.under_way == 0


async def test_a_number_of_a_peer_that_json_does_not_have_is_unknown() -> None:
    async with in_process({"worker": 1}) as cluster, opened(cluster.target(), interval=PATIENCE) as page:
        await page.get("/api/cluster")
        (state,) = page.poller.tasks.values()
        assert state.statistics is not None
        state.statistics = replace(state.statistics, loop_lag=float("nan"), uptime=float("inf"))
        (task,) = (await page.get("/api/cluster"))["tasks"]
        assert task["loop_lag"] is task["uptime"] is None
        assert task["state"] == "up"


async def test_an_error_of_ours_is_told_without_its_text(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("inner text")

    async with in_process() as cluster, opened(cluster.target()) as page:
        monkeypatch.setattr(page.poller, "wait_for_round", fail)
        answer = await page.get("/api/sessions", 500)
        assert "inner text" not in json.dumps(answer)
        assert "inner text" in caplog.text


async def test_a_port_that_is_taken_is_an_error_that_leaves_nothing() -> None:
    async with in_process() as cluster, opened(cluster.target()) as page:
        other = DashboardServer(page.poller, "other", port=page.server.port)
        with pytest.raises(OSError, match="in use"):
            await other.start()
        await other.aclose()


async def test_times_of_a_task_whose_clock_is_wrong_are_shown_by_the_clock_of_the_page() -> None:
    with Graph().as_default() as graph:
        total = acts.add(1.0, 2.0, name="total")
    async with in_process({"worker": 1}) as cluster, opened(cluster.target(), interval=PATIENCE) as page:
        async with AsyncSession(cluster.target(), graph=graph) as session:
            begun = time.time()
            await session.run(total)
            await page.get("/api/cluster")
            (state,) = page.poller.tasks.values()
            assert state.offset == 0.0
            for _ in range(3):  # as if its clock were an hour behind
                state.clock.learn(begun, begun - 3600.0, begun - 3600.0, begun + 1e-6)
            (row,) = (await page.get("/api/steps"))["last"]
            step = await page.get(f"/api/steps/{quoted(row['key'])}")
            assert 3590.0 < row["began"] - begun < 3600.0 + PATIENCE
            assert 3590.0 < step["partitions"][0]["began"] - begun < 3600.0 + PATIENCE
