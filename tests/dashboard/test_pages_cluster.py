"""The page of a cluster of processes in a browser: somebody clicks through every view and finds what was made slow."""

from __future__ import annotations

import asyncio
import re
import sys
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, Graph
from tests.cluster.kit import in_process, patient_cluster
from tests.cluster.script import ROOT, environment, running
from tests.dashboard.chromium import EXECUTABLE, Page, connected
from tests.dashboard.kit import opened
from tests.dashboard.test_pages_views import LOOKS

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(EXECUTABLE is None, reason="needs a browser: apt-get install chromium"),
]

SIZE = 700

# The poller keeps on asking: after a rest, which comes soon at this interval, a page may hear that there is no session,
# when the machine is too busy for the first round.
AWAKE: dict[str, Any] = {"interval": 0.5, "keep_history": True}


async def test_somebody_clicks_through_a_cluster_whose_second_worker_is_slow(chromium: str) -> None:
    with Graph().as_default() as graph:
        x = acts.placeholder(acts.float32, [None, SIZE], name="x")
        with acts.device("/job:worker/task:0"):
            weights = acts.get_variable("layer/weights", initializer=np.eye(SIZE, dtype=np.float32))
            first = acts.add(x, 1.0, name="first")
            jobs = acts.FIFOQueue(7, [acts.float32], shapes=[[]], name="jobs")
            take = jobs.dequeue(name="take")
        with acts.device("/job:worker/task:1"):
            slow = first
            for _ in range(8):
                slow = acts.matmul(slow, weights, name="tower/slow")
        with acts.device("/job:worker/task:0"):
            loss = acts.reduce_sum(slow, name="loss")
            refused = acts.reshape(first, [-1, 13], name="refused")
        init = acts.global_variables_initializer()
    async with (
        patient_cluster({"worker": 2}) as cluster,
        AsyncSession(cluster.target("worker", 0), graph=graph) as session,
        opened(cluster.target("worker", 0), **AWAKE) as served,
        connected(chromium) as browser,
    ):
        await session.run(init)
        for _ in range(12):
            await session.run(loss, {x: np.ones([SIZE, SIZE])})
        with pytest.raises(acts.errors.InvalidArgumentError):
            await session.run(refused, {x: np.ones([1, SIZE])})
        stuck = asyncio.create_task(session.run(take))
        try:
            for dark, width in LOOKS.values():
                page = await browser.page()
                await page.look(dark=dark, width=width)
                await page.open(served.server.link)
                await click_through(page, phone=width < 600)
                assert page.complaints == []
                assert {each for each in page.requests if not each.startswith(served.base)} == set()
        finally:
            stuck.cancel()
            await asyncio.wait([stuck])


async def click_through(page: Page, *, phone: bool) -> None:
    # The first view says which worker is slow, and of which run.
    await page.wait_for_text("worker:1: its kernels take", ".findings")
    await page.wait_for_text("Most time of the last steps: loss:0")
    await page.click(".findings a[href*='task%3A1']")
    await page.wait_for_text("Devices by kernel time")
    await fits(page)

    await page.click("nav a[href='#/steps']")
    await page.wait_for_text("1 step running")
    await page.click("input[aria-label='Filter steps']")
    await page.type("loss:0")
    await page.wait("document.querySelectorAll('[role=grid] .rows [role=row]').length === 12")
    await page.click("[role=grid] [aria-rowindex='1']")
    await page.wait_for_text("Partitions and what they send")
    await page.wait_for_text("worker:1 CPU:0", ".over-time")
    await page.wait("document.querySelectorAll('.drawing .box').length >= 2")
    tips = await page.value("[...document.querySelectorAll('.drawing .edge title')].map((tip) => tip.textContent)")
    assert any(re.search(r"first:0 .*\n/job:worker/.*;edge_\d+_first:0;0:0", tip) for tip in tips)
    await page.wait_for_text("The generated code of each part")
    await page.click(".play")
    await page.wait("document.querySelector('.play').textContent.includes('Pause')")
    await fits(page)

    await page.click("nav a[href='#/stuck']")
    await page.wait_for_text("The root cause")
    await page.wait_for_text("take")
    await page.wait("document.querySelector('.box.cause') !== null")
    await fits(page)

    await page.click("nav a[href='#/graph']")
    await page.wait("document.querySelectorAll('.drawing .box').length > 3")
    await page.click("input[type=search]")
    await page.type("loss")
    await page.wait("document.querySelectorAll('.results button').length > 0")
    await page.press("Enter")
    await page.wait_for_text("test_pages_cluster.py", ".details")
    colours = "document.querySelectorAll('select')[1]"
    for kind, shown in (("op", "MatMul"), ("device", "worker:1 CPU:0"), ("time", "measured or else expected")):
        await page.value(f"{colours}.value = '{kind}'; {colours}.dispatchEvent(new Event('change'))")
        await page.wait_for_text(shown, ".legend")
    await page.wait("document.querySelector('.box.heat') !== null")
    await fits(page)

    await page.click("nav a[href='#/variables']")
    await page.wait_for_text("layer/weights")
    await page.click("[role=grid] [aria-rowindex='1']")
    await page.wait_for_text("standard deviation")
    await page.wait("document.querySelectorAll('.histogram rect').length > 1")
    await fits(page)

    await page.click("nav a[href='#/queues']")
    await page.wait_for_text("empty: its readers wait" if not phone else "0 of 7")
    await fits(page)

    await page.click("nav a[href='#/sessions']")
    await page.wait("document.querySelectorAll('.rows [role=row]').length === 1")
    await page.click(".rows a")
    await page.wait("location.hash.startsWith('#/graph/')")

    await page.click("nav a[href='#/errors']")
    await page.wait_for_text("InvalidArgumentError 1")
    await page.click("[role=grid] [aria-rowindex='1']")
    await page.wait_for_text("Input to reshape", ".details")
    await fits(page)
    await page.click(".details a")
    await page.wait_for_text("Input to reshape", ".callout.bad")

    await page.click("nav a[href='#/logs']")
    await page.wait_for_text("from level")
    await fits(page)


async def fits(page: Page) -> None:
    """Check that nothing is wider than the window."""
    assert await page.value("document.documentElement.scrollWidth <= innerWidth"), await page.value("location.hash")


async def test_the_example_that_is_slow_on_purpose_is_understood_from_the_page_alone(chromium: str) -> None:
    """An expensive node, a link of 50 ms each way, and a tensor that crosses it to and fro: the first view says each,
    with the line that built it, and again of one step."""
    program = [sys.executable, str(ROOT / "examples" / "operate" / "slow_cluster.py"), "--hold", "--delay", "0.05"]
    with running(program, env=environment(PYTHONUNBUFFERED="1")) as process:
        assert process.stdout is not None
        said = iter(process.stdout.readline, "")
        address = await asyncio.to_thread(next, (line.split()[-1] for line in said if line.startswith("the cluster: ")))
        async with opened(address, **AWAKE) as served, connected(chromium) as browser:
            page = await browser.page()
            await page.open(served.server.link)
            for finding in ("worker:0: its kernels take", "worker:1: it answers in"):
                await page.wait_for_text(finding, ".findings")
            for words in (
                "Most time of the last steps: loss:0",
                "at worker:0 CPU:0: expensive (MatMul) [",
                "slow_cluster.py:36",
                "hidden:0 goes from worker:0/CPU:0 to worker:1/CPU:0, and activation:0",
                "slow_cluster.py:32",
                "the link to worker:1 answers after",
            ):
                await page.wait_for_text(words)
            await page.click(".callout.calm a")
            await page.wait_for_text("back: hidden:0 there, activation:0 back. On one device they would not cross.")
            await page.wait_for_text("Tensors take ", ".callout")
            assert page.complaints == []


async def test_a_partial_run_shows_what_was_fed_and_fetched_so_far(chromium: str) -> None:
    with Graph().as_default() as graph:
        first, second = acts.placeholder(acts.float32, [], name="a"), acts.placeholder(acts.float32, [], name="b")
        half = acts.add(first, 1.0, name="half")
        with acts.device("/job:worker/task:1"):
            whole = acts.add(half, second, name="whole")
    async with (
        in_process({"worker": 2}) as cluster,
        AsyncSession(cluster.target(), graph=graph) as session,
        opened(cluster.target(), **AWAKE) as served,
        connected(chromium) as browser,
    ):
        handle = await session.partial_run_setup([half, whole], [first, second])
        assert await session.partial_run(handle, half, {first: 1.0}) == 2.0
        page = await browser.page()
        await page.open(served.server.link)
        await page.click("nav a[href='#/steps']")
        await page.wait_for_text("1 step running")
        await page.click("[role=grid] [aria-rowindex='1']")
        await page.wait_for_text("a:0 fed after", ".partial")
        assert "half:0 fetched after" in await page.text(".partial")
        assert "b:0 not fed yet" in await page.text(".partial")
        assert await session.partial_run(handle, whole, {second: 3.0}) == 5.0
        await page.wait("!document.querySelector('h2').textContent.includes('runs for')")
        await page.wait_for_text("until b:0 is fed", ".callout")
        assert "would not cross" not in await page.text()
        boxes = await page.value("[...document.querySelectorAll('.drawing .box')].map((box) => box.textContent)")
        for box, name in zip(boxes, ("client", "worker:0 CPU:0", "worker:1 CPU:0"), strict=True):
            assert box.startswith(name)
        assert page.complaints == []
