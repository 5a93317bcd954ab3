"""The page as a process: the command, and the clusters that start it."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from actorsession import LocalCluster
from actorsession.errors import OpError, UnavailableError
from tests.actors.kit import PATIENCE, eventually
from tests.cluster.kit import in_process
from tests.transports.authority import Authority


def tasks_at(link: str) -> list[str]:
    """The names of the tasks that a page shows."""
    base, _, token = link.partition("/?token=")
    with urllib.request.urlopen(f"{base}/api/cluster?token={token}", timeout=PATIENCE) as answer:
        return [task["task"] for task in json.load(answer)["tasks"]]


async def test_a_cluster_shows_its_page_and_ends_it(capsys: pytest.CaptureFixture[str]) -> None:
    async with LocalCluster({"ps": 1, "worker": 1}, dashboard=True) as cluster:
        link = cluster.dashboard_link
        assert capsys.readouterr().out == f"the page of the cluster: {link}\n"
        assert await asyncio.to_thread(tasks_at, link) == list(cluster.processes)
    with pytest.raises(OSError, match="refused"):
        await asyncio.to_thread(tasks_at, link)


async def test_a_cluster_over_tls_gives_its_page_the_files(tmp_path: Path) -> None:
    files = Authority(tmp_path / "ca").files()
    async with LocalCluster({"worker": 1}, security=files, dashboard=True) as cluster:
        assert cluster.target("worker").startswith("tls://")
        assert await asyncio.to_thread(tasks_at, cluster.dashboard_link) == list(cluster.processes)


def test_a_cluster_of_a_program_without_a_loop_does_so_too() -> None:
    with LocalCluster({"worker": 1}, dashboard=True) as cluster:
        assert tasks_at(cluster.dashboard_link) == list(cluster.processes)


async def test_a_cluster_without_a_page_has_no_link() -> None:
    assert LocalCluster({"worker": 1}).dashboard_link == ""


async def test_a_page_that_does_not_come_up_leaves_no_cluster() -> None:
    cluster = LocalCluster({"worker": 1}, dashboard=True, start_timeout=PATIENCE)
    page = cluster._page
    assert page is not None
    page.close()  # so that its start is refused
    with pytest.raises(UnavailableError, match="the page was closed"):
        await cluster.start()
    assert not any(process.alive for process in cluster.processes.values())
    await cluster.stop()


def test_a_page_without_a_cluster_says_why_it_does_not_come_up() -> None:
    page = LocalCluster({"worker": 1}, dashboard=True)._page
    assert page is not None
    with pytest.raises(UnavailableError, match="did not come up: actorsession dashboard: no state of unix:///tmp/none"):
        page.start("unix:///tmp/none-of-these")
    page.close()


def test_the_start_of_a_page_has_a_limit_and_leaves_no_process() -> None:
    page = LocalCluster({"worker": 1}, dashboard=True)._page
    assert page is not None
    with pytest.raises(OpError, match=re.escape("did not come up within 0.001 s")):
        page.start("unix:///tmp/none-of-these", 0.001)
    page.close()


async def run_page(*words: str, **how: Any) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "actorsession", "dashboard", *words, stdout=-1, stderr=-1, **how
    )


async def test_the_command_prints_its_link_and_ends_with_a_signal() -> None:
    async with in_process({"worker": 1}) as cluster:
        process = await run_page(cluster.target())
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode()
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line)
        assert found is not None
        assert await asyncio.to_thread(tasks_at, found[0]) == [cluster.servers[0].task]
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0
        process._transport.close()  # type: ignore[attr-defined]


async def test_the_command_ends_with_its_parent() -> None:
    async with in_process({"worker": 1}) as cluster:
        process = await run_page(cluster.target(), "--json", "--with-parent", stdin=-1)
        assert process.stdin is not None
        assert process.stdout is not None
        assert set(json.loads(await process.stdout.readline())) == {"link", "pid"}
        process.stdin.close()
        assert await process.wait() == 0
        process._transport.close()  # type: ignore[attr-defined]
        await eventually(lambda: all(not server.statistics().links for server in cluster.servers))


async def test_a_task_that_does_not_answer_is_an_error_of_one_line() -> None:
    process = await run_page("unix:///tmp/none-of-these")
    _, errors = await process.communicate()
    assert process.returncode == 1
    assert errors.decode().startswith("actorsession dashboard: no state of unix:///tmp/none-of-these: ")
    assert errors.count(b"\n") == 1
