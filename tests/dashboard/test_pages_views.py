"""The page in a browser, over a cluster that does not run: every view, names of any kind, sizes, a lost server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import quote

import pytest

from tests.dashboard.chromium import EXECUTABLE, Page, connected
from tests.dashboard.synthetic import HOSTILE, Synthetic, serve

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(EXECUTABLE is None, reason="needs a browser: apt-get install chromium"),
]

STEP = quote("/job:worker/task:0/trainer/12", safe="")
TASK = quote("/job:worker/task:1", safe="")

# The address of each view, and what it shows of the cluster.
VIEWS = {
    "overview": "its kernels take",
    f"overview/{TASK}": "Last lines of the log",
    "steps": "2 steps running",
    f"steps/{STEP}": "83 % of the time: 597 ms working at worker:1",
    "stuck": "The root cause",
    "graph": "200 nodes",
    "variables": "24 variables",
    "queues": "empty: its readers wait",
    "sessions": "trainer",
    "errors": "InvalidArgumentError 6",
    "logs": "ERROR it failed",
}
LOOKS = {"light": (False, 1400), "dark": (True, 1400), "phone": (True, 390)}


@asynccontextmanager
async def opened(cluster: Synthetic, chromium: str, *, dark: bool = False, width: int = 1400) -> AsyncIterator[Page]:
    """The page of a cluster in a browser, which at the end has complained of nothing and asked nobody else."""
    async with serve(cluster) as address, connected(chromium) as browser:
        page = await browser.page()
        await page.look(dark=dark, width=width)
        await page.open(address)
        yield page
        assert page.complaints == []
        assert {each for each in page.requests if not each.startswith(address)} == set()


async def go(page: Page, view: str) -> None:
    await page.value(f"location.hash = {json.dumps('#/' + view)}")


@pytest.mark.parametrize("look", LOOKS)
async def test_every_view_shows_the_cluster(look: str, chromium: str) -> None:
    dark, width = LOOKS[look]
    async with opened(Synthetic(), chromium, dark=dark, width=width) as page:
        for view, text in VIEWS.items():
            await go(page, view)
            await page.wait_for_text(text)
            assert await page.value("document.documentElement.scrollWidth <= innerWidth"), f"{view} is too wide"


async def test_every_view_is_reached_by_its_link_and_by_its_key(chromium: str) -> None:
    async with opened(Synthetic(), chromium) as page:
        names = await page.value("[...document.querySelectorAll('nav a')].map((link) => link.hash)")
        assert len(names) == 9
        for number, name in enumerate(names, start=1):
            await page.click(f"nav a[href='{name}']")
            await page.wait(f"document.querySelector('nav [aria-current=page]').hash === '{name}'")
            await page.press(str(number % 9 + 1))
            await page.wait(f"location.hash.startsWith('{names[number % 9]}')")
        await page.press("?")
        await page.wait("document.querySelector('#keys').open")
        await page.click("#keys button")
        await page.wait("!document.querySelector('#keys').open")


async def test_a_step_is_opened_and_played_by_the_keyboard(chromium: str) -> None:
    async with opened(Synthetic(), chromium) as page:
        await go(page, "steps")
        await page.wait("document.querySelectorAll('[role=grid] .rows [role=row]').length > 10")
        await page.value("document.querySelector('[role=grid]').focus()")
        for key in ("ArrowDown", "ArrowDown", "Enter"):
            await page.press(key)
        await page.wait_for_text("Critical path, longest first")
        await page.wait_for_text("Put both on one device.")
        await page.click("summary")
        await page.wait_for_text("v1 = k0(v0)", "pre.code")
        slider = "document.querySelector('input[type=range]')"
        await page.value(f"{slider}.focus()")
        await page.press("ArrowLeft")
        await page.wait(f"{slider}.value === '990'")
        assert "713 ms of 720 ms" in await page.text("output")
        await page.value(f"{slider}.value = '50'; {slider}.dispatchEvent(new Event('input'))")
        # A tensor is on its way to the second task, whose partition has begun.
        await page.wait("document.querySelectorAll('.dot.moves').length === 1")
        assert await page.value("document.querySelectorAll('.box.running').length") == 2
        await page.click(".play")
        await page.wait(f"Number({slider}.value) > 60 && document.querySelector('.play').textContent.includes('Pause')")
        await page.click(".play")
        await page.wait("document.querySelector('.play').textContent.includes('Play')")


async def test_steps_that_run_are_lanes_that_move_between_two_answers(chromium: str) -> None:
    async with opened(Synthetic(), chromium) as page:
        await go(page, "steps")
        await page.wait_for_text("2 steps running")
        await page.value("void (window.fetch = () => new Promise(() => {}))")
        picture = "document.querySelector('canvas.lanes').toDataURL()"
        for _ in range(5):  # an answer that is under way draws them, too
            before = await page.value(picture)
            await page.wait(f"{picture} !== {json.dumps(before)}")


async def test_a_task_that_is_chosen_shows_its_log_and_its_lines_alone(chromium: str) -> None:
    async with opened(Synthetic(), chromium) as page:
        await page.wait_for_text("worker:1")
        await page.value("document.querySelector('[role=grid]').focus()")
        for key in ("ArrowDown", "ArrowDown", "Enter"):
            await page.press(key)
        await page.wait_for_text("Last lines of the log")
        await page.wait_for_text("ERROR it failed", ".tail")
        assert await page.value("decodeURIComponent(location.hash)") == "#/overview//job:worker/task:1"


async def test_a_variable_shows_its_values_when_it_is_opened(chromium: str) -> None:
    async with opened(Synthetic(), chromium) as page:
        await go(page, "variables")
        await page.wait("document.querySelectorAll('.rows [role=row]').length > 5")
        await page.click(".rows [role=row]")
        await page.wait_for_text("standard deviation 0.13")
        assert await page.value("document.querySelectorAll('.histogram rect').length") == 10
        await page.click("input[type=search]")
        await page.type("layer_3 worker:2")
        await page.wait("document.querySelector('[role=grid]').getAttribute('aria-rowcount') === '1'")


async def test_a_node_is_found_by_its_name_and_shows_the_line_of_the_user(chromium: str) -> None:
    async with opened(Synthetic(), chromium) as page:
        await go(page, "graph")
        await page.wait_for_text("200 nodes")
        await page.click("input[type=search]")
        await page.type("relu_186")
        await page.wait_for_text("train.py:186", ".results")
        await page.press("Enter")
        await page.wait_for_text("train.py:186: y = x @ w", ".details")
        await page.wait("document.querySelector('.box.marked') !== null")
        # The frame around it closes it again.
        shown = await page.value("document.querySelectorAll('.drawing .box').length")
        await page.click("[aria-label='Show all']")
        await page.click("[aria-label='Close layer_7']")
        await page.wait(f"document.querySelectorAll('.drawing .box').length < {shown}")


async def test_hostile_names_and_lines_stay_text_in_every_view(chromium: str) -> None:
    async with opened(Synthetic(name=HOSTILE), chromium) as page:
        for view in VIEWS:
            await go(page, view)
            await page.wait_for_text("onerror=", "main, h1")
            await page.wait("document.querySelector('main').textContent.includes('<script>')")
            assert await page.value("document.querySelectorAll('main img, main script').length") == 0
        await go(page, f"variables/{TASK}/{quote(HOSTILE + 'layer_1/w', safe='')}")
        await page.wait_for_text("standard deviation")
        await go(page, "graph")
        await page.wait_for_text("201 nodes")
        await page.click("input[type=search]")
        await page.type("onerror")
        await page.wait("document.querySelectorAll('.results button').length > 0")
        await page.press("Enter")
        await page.wait("document.querySelector('.details').textContent.includes('<script>')")
        assert await page.value("window.hurt === undefined")


async def test_a_lost_server_is_said_and_found_again(chromium: str) -> None:
    cluster = Synthetic()
    async with serve(cluster) as address, connected(chromium) as browser:
        page = await browser.page()
        await page.open(address)
        await page.wait_for_text("worker:1")
        cluster.down = True
        await page.wait_for_text("The server does not answer", "#connection")
        assert "worker:1" in await page.text()
        cluster.down = False
        await page.click("#connection button")
        await page.wait("document.querySelector('#connection').hidden")
        exceptions = [each for each in page.complaints if "ERR_EMPTY_RESPONSE" not in each]
        assert exceptions == []


async def test_of_a_thousand_tasks_the_rows_in_sight_alone_are_elements(chromium: str) -> None:
    async with opened(Synthetic(tasks=1000), chromium) as page:
        await page.wait("document.querySelector('[role=grid]').getAttribute('aria-rowcount') === '1000'")
        await page.wait("document.querySelectorAll('.rows [role=row]').length > 10")
        await page.value("document.querySelector('[role=grid]').focus()")
        await page.press("End")
        await page.wait_for_text("worker:999")
        assert await page.value("document.querySelectorAll('.rows [role=row]').length") < 40
        await page.click("input[type=search]")
        await page.type("worker:77")
        await page.wait("document.querySelector('[role=grid]').getAttribute('aria-rowcount') === '11'")


async def test_of_twenty_thousand_nodes_what_is_open_alone_is_drawn(chromium: str) -> None:
    async with opened(Synthetic(nodes=20_000), chromium) as page:
        await go(page, "graph")
        await page.wait_for_text("20,000 nodes")
        boxes = "document.querySelectorAll('.drawing .box').length"
        await page.wait(f"{boxes} > 0")
        assert await page.value(boxes) < 100
        await page.click("input[type=search]")
        await page.type("layer_500/")
        await page.wait("document.querySelectorAll('.results button').length > 0")
        await page.press("Enter")
        await page.wait("document.querySelector('.box.marked') !== null")
        assert await page.value(boxes) < 300
