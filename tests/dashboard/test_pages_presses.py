"""Presses and the focus in a browser while the page is drawn anew by answers that come by themselves."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.dashboard.chromium import EXECUTABLE, Page, connected
from tests.dashboard.synthetic import Restless, Synthetic, serve
from tests.dashboard.test_pages_views import STEP, TASK, go

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(EXECUTABLE is None, reason="needs a browser: apt-get install chromium"),
]

# The page asks again at once, and says how many answers it got of each path, and how many it had time to draw; what is
# pressed is kept as it is at that moment.
HURRY = """
const later = setTimeout, ask = fetch;
const came = {}, drawn = {};
let before = null, pressed = null, clicked = null;
window.setTimeout = (call, wait, ...rest) => later(call, wait > 15_000 ? wait : Math.min(wait, 50), ...rest);
function count(path) {
    const number = (came[path] = (came[path] ?? 0) + 1);
    later(() => (drawn[path] = number));
}
window.fetch = async (path, options) => {
    const [name] = path.split("?");
    const response = await ask(path, options).catch((error) => { count(name); throw error; });
    const read = response.json.bind(response);
    response.json = async () => {
        const answer = await read();
        count(name);
        return answer;
    };
    return response;
};
addEventListener("pointerdown", ({ target }) => {
    const row = target.closest(".rows [role=row]");
    const link = target.closest("a") ?? row?.querySelector("a");
    before = { ...came };
    pressed = { hash: link?.hash, text: (row ?? target).innerText?.split(/\\s/)[0] };
}, true);
addEventListener("click", ({ target }) => (clicked = target.textContent), true);
"""

FOLLOWED = "location.hash === pressed.hash"
CHOSEN = "document.querySelector('.rows [aria-selected=true]')?.innerText.startsWith(pressed.text)"
CHIP = "document.querySelector('.chips [aria-pressed=true]')?.innerText.startsWith(pressed.text)"
SORTED = "document.querySelector('[data-column={}]').ariaSort === '{}'"
SLID = "Math.abs(document.querySelector('input[type=range]').value - 500) < 100"
ZOOMED = "clicked === '+' && !document.querySelector('.drawing > g').getAttribute('transform').endsWith('scale(1.25)')"

# View, the path that it is drawn anew by, what is pressed, and what is true then.
PRESSES = [
    ("overview", "cluster", ".findings a[href*='task%3A1']", FOLLOWED),
    ("overview", "steps", ".callout.calm a", FOLLOWED),
    ("overview", "cluster", ".rows .bar", CHOSEN),
    ("overview", "cluster", "[data-column=rate] button", SORTED.format("rate", "descending")),
    (f"overview/{TASK}", "cluster", ".details button", "document.querySelector('.details').hidden"),
    (f"overview/{TASK}", "cluster", ".details a", FOLLOWED),
    ("steps", "steps", ".rows a[href$='F61']", FOLLOWED),
    ("steps", "steps", ".rows .bar", FOLLOWED),
    (f"steps/{STEP}", f"steps/{STEP}", ".play", "document.querySelector('.play').innerText.includes('Pause')"),
    (f"steps/{STEP}", f"steps/{STEP}", "input[type=range]", SLID),
    (f"steps/{STEP}", f"steps/{STEP}", "[aria-label='Zoom in']", ZOOMED),
    (f"steps/{STEP}", f"steps/{STEP}", "[data-column=bytes] button", SORTED.format("bytes", "descending")),
    (f"steps/{STEP}", f"steps/{STEP}", "summary", "document.querySelector('details').open"),
    ("stuck", "why", "[aria-label='Zoom in']", ZOOMED),
    ("stuck", "why", "[data-column=task] button", SORTED.format("task", "ascending")),
    ("stuck", "why", "summary", "document.querySelector('details').open"),
    ("graph", "sessions", ".drawing .box", "document.querySelector('.details h3') !== null"),
    ("graph", "sessions", ".bar-of-tools button", "clicked === 'Close all scopes'"),
    ("sessions", "sessions", ".rows a", FOLLOWED),
    ("sessions", "sessions", ".rows [role=row]", FOLLOWED),
    ("errors", "errors", ".chips button", CHIP),
    ("errors", "errors", ".rows [role=row]", CHOSEN),
    ("logs", "cluster", "input[type=checkbox]", "!document.querySelector('input[type=checkbox]').checked"),
    ("variables", "variables", ".rows .bar", CHOSEN),
    ("queues", "queues", "[data-column=name] button", SORTED.format("name", "descending")),
]
NAMES = [f"{view}-{selector}" for view, _, selector, _ in PRESSES]


@asynccontextmanager
async def hurried(cluster: Synthetic, chromium: str, view: str = "overview") -> AsyncIterator[Page]:
    """A view of a cluster, which asks again and again at once."""
    async with serve(cluster) as address, connected(chromium) as browser:
        page = await browser.page()
        await page.call("Page.addScriptToEvaluateOnNewDocument", source=HURRY)
        await page.open(f"{address}#/{view}")
        yield page


def drawn_since(count: str, path: str, times: int = 1) -> str:
    """The condition that more answers to a path came after a count of them was kept, and had time to be drawn."""
    name = json.dumps(f"/api/{path}")
    return f"(drawn[{name}] ?? 0) >= ({count}[{name}] ?? 0) + {times}"


@pytest.mark.parametrize(("view", "path", "selector", "done"), PRESSES, ids=NAMES)
async def test_focus_and_press_outlive_the_answers_that_are_drawn_meanwhile(
    view: str, path: str, selector: str, done: str, chromium: str
) -> None:
    async with hurried(Restless(), chromium, view) as page:
        await page.wait(f"(window.chosen = document.querySelector({json.dumps(selector)})) !== null")
        if await page.value("chosen.focus(), before = { ...came }, document.activeElement === chosen"):
            await page.wait(drawn_since("before", path, 2))
            assert await page.value("document.activeElement === chosen")
        await page.press_mouse(selector)
        await page.wait(drawn_since("before", path))
        await page.release_mouse()
        await page.wait(done)
        assert page.complaints == []


async def test_of_the_moving_lanes_the_step_opens_that_was_pressed(chromium: str) -> None:
    async with hurried(Synthetic(), chromium, "steps") as page:
        await page.value("""window.under = (x, y) => {
            document.querySelector(".lanes").dispatchEvent(new PointerEvent("pointermove", {clientX: x, clientY: y}));
            return /Step (\\d+)/.exec(document.querySelector(".moving p").textContent)?.[1];
        }""")
        find = """(() => {
            const box = document.querySelector(".lanes").getBoundingClientRect();
            for (let x = box.left; x < box.left + box.width / 2; x += 5)
                if (under(x, box.top + 11)) return [x + 10, box.top + 11];
            return null;
        })()"""
        await page.value("addEventListener('pointerdown', (at) => (aimed = under(at.x, at.y)), true)")
        aimed = None
        while aimed is None:  # what was found may have moved on before the press
            await page.wait(f"(window.place = {find}) !== null")
            x, y = await page.value("place")
            mouse = {"x": x, "y": y, "button": "left", "clickCount": 1}
            await page.call("Input.dispatchMouseEvent", type="mousePressed", **mouse)
            if aimed := await page.value("aimed"):
                await page.wait("under(...place) !== aimed")
            await page.call("Input.dispatchMouseEvent", type="mouseReleased", **mouse)
        await page.wait("location.hash.endsWith(`%2F${aimed}`)")


async def test_the_line_of_a_lost_connection_is_pressed_while_it_is_drawn(chromium: str) -> None:
    cluster = Restless()
    async with hurried(cluster, chromium) as page:
        cluster.down = True
        await page.press_mouse("#connection button")
        await page.wait(drawn_since("before", "cluster"))
        await page.release_mouse()
        await page.wait("clicked === 'Try now'")


async def test_a_button_that_is_pressed_by_the_space_bar_does_what_it_does_with_the_release(chromium: str) -> None:
    async with hurried(Restless(), chromium, "errors") as page:
        await page.wait("document.querySelectorAll('.chips button').length === 2")
        await page.value("window.chip = document.querySelector('.chips button'); chip.focus(); before = { ...came }")
        space = {"key": " ", "code": "Space", "windowsVirtualKeyCode": 32}
        await page.call("Input.dispatchKeyEvent", type="keyDown", text=" ", **space)
        await page.wait(drawn_since("before", "errors"))
        await page.call("Input.dispatchKeyEvent", type="keyUp", **space)
        await page.wait("chip.isConnected && chip.ariaPressed === 'true'")


async def test_what_came_once_while_something_was_pressed_is_drawn_with_the_release(chromium: str) -> None:
    async with hurried(Synthetic(), chromium) as page:
        await page.press_mouse("#cluster")
        await go(page, f"steps/{STEP}")
        await page.wait(drawn_since("before", f"steps/{STEP}"))
        assert "83 % of the time" not in await page.text()
        await page.release_mouse()
        await page.wait_for_text("83 % of the time")
