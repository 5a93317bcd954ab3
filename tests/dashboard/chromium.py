"""Debian's Chromium without a window, driven over its DevTools protocol: JSON over one WebSocket.

``aiohttp`` is the client, so tests need nothing but the browser itself. What a page requested, what it wrote
to its console and which exceptions it had is kept for tests to look at.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

EXECUTABLE = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

# Without the flags on background traffic it looks up hosts of its maker; as root it has no sandbox.
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)
PATIENCE = 60.0

# Whether an element is there: then with the place of its middle, and a look at what the next press hits, of which the
# element alone hears.
_AIM = """(() => {
    const element = FOUND;
    if (!element?.getClientRects().length) return false;
    element.scrollIntoView({block: "center", inline: "nearest", behavior: "instant"});
    const box = element.getClientRects()[0]; // of a link over two lines the first
    window.aim?.ended.abort();
    const place = [box.left + box.width / 2, box.top + box.height / 2];
    const aim = window.aim = {place, ended: new AbortController()};
    const look = (event) => {
        aim.hit ??= Boolean(FOUND?.contains(event.target));
        if (aim.hit) return;
        event.preventDefault();
        event.stopImmediatePropagation();
    };
    for (const kind of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"])
        addEventListener(kind, look, {capture: true, signal: aim.ended.signal});
    return true;
})()"""

# Keys that are not what they type.
_CODES = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "End": 35}


@dataclass
class Page:
    """One tab.

    Attributes:
        requests: the addresses that the page has requested.
        complaints: what it wrote to its console as a warning or error, and its exceptions.
    """

    _browser: Browser
    _session: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    _mouse: tuple[float, float] = (0.0, 0.0)

    def heard(self, method: str, params: dict[str, Any]) -> None:
        """Keep what an event says."""
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.requests.append(params["url"])
        elif method == "Runtime.exceptionThrown":
            detail = params["exceptionDetails"]
            self.complaints.append(str(detail.get("exception", {}).get("description", detail["text"])))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(each.get("value", each)) for each in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Return what the tab answers to a command of the protocol."""
        return await self._browser.call(method, params, self._session)

    async def open(self, url: str) -> None:
        """Open an address, and wait until the page has its first view."""
        await self.call("Page.navigate", url=url)
        await self.wait("document.readyState === 'complete' && document.querySelector('main section') !== null")

    async def value(self, script: str) -> Any:
        """Return the value of an expression of JavaScript, which may be a promise."""
        answer = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{script}: {answer['exceptionDetails']['exception'].get('description')}")
        return answer["result"].get("value")

    async def wait(self, condition: str) -> None:
        """Wait until an expression of JavaScript is true."""
        script = f"""new Promise((done, late) => {{
            const limit = setTimeout(() => late(new Error(document.body?.innerText.slice(0, 3000))), {PATIENCE * 1000});
            const look = () => ({condition}) ? done(clearTimeout(limit)) : setTimeout(look, 20);
            look();
        }})"""
        try:
            await self.value(script)
        except AssertionError as error:
            raise AssertionError(f"{condition} did not come true: {error}; {self.complaints}") from None

    async def text(self, selector: str = "main") -> str:
        """Return the text of an element as it is seen."""
        return str(await self.value(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    async def wait_for_text(self, text: str, selector: str = "main") -> None:
        """Wait until an element shows a text."""
        await self.wait(f"document.querySelector({json.dumps(selector)})?.innerText.includes({json.dumps(text)})")

    async def click(self, selector: str) -> None:
        """Click in the middle of an element, as a hand does."""
        await self.press_mouse(selector)
        await self.release_mouse()

    async def press_mouse(self, selector: str) -> None:
        """Press the mouse in the middle of an element.

        The page may move it after it was measured: a press that hits another one is kept from the page and aimed anew.
        """
        found = f"document.querySelector({json.dumps(selector)})"
        async with asyncio.timeout(PATIENCE):
            while True:
                await self.wait(_AIM.replace("FOUND", found))
                self._mouse = await self.value("aim.place")
                await self._button("mousePressed")
                if await self.value("aim.hit"):
                    return
                await self.release_mouse()
                await self.value("new Promise(requestAnimationFrame)")  # in which the page draws what waited for it

    async def release_mouse(self) -> None:
        """Release the mouse where it was pressed."""
        await self._button("mouseReleased")

    async def _button(self, kind: str) -> None:
        x, y = self._mouse
        await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def press(self, key: str) -> None:
        """Press a key."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        code = _CODES.get(key, ord(key.upper()) if len(key) == 1 else 0)
        await self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, windowsVirtualKeyCode=code)
        await self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    async def type(self, text: str) -> None:
        """Type a text into what has the focus."""
        await self.call("Input.insertText", text=text)

    async def look(self, *, dark: bool = False, width: int = 1400, height: int = 900) -> None:
        """Set the size and the scheme of colours; below 600 pixels it is a phone's."""
        phone = width < 600
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])

    async def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Write what is seen, or the whole page, as PNG."""
        answer = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))


class Browser:
    """A connection to one process of Chromium."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._calls: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}

    async def read(self) -> None:
        """Hand answers and events on until the browser ends."""
        async for message in self._socket:
            said = json.loads(message.data)
            if "id" in said:
                call = self._calls.pop(said["id"])
                if call.done():
                    continue
                if "error" in said:
                    call.set_exception(AssertionError(said["error"]["message"]))
                else:
                    call.set_result(said["result"])
            elif page := self._pages.get(said.get("sessionId", "")):
                page.heard(said["method"], said["params"])

    async def call(self, method: str, params: dict[str, Any], session: str = "") -> dict[str, Any]:
        """Return the answer to a command."""
        number = next(self._numbers)
        self._calls[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": params}
        await self._socket.send_json({**message, "sessionId": session} if session else message)
        async with asyncio.timeout(2 * PATIENCE):
            return await self._calls[number]

    async def page(self) -> Page:
        """Open a tab that shares no cookie and no storage with others."""
        context = (await self.call("Target.createBrowserContext", {"disposeOnDetach": True}))["browserContextId"]
        target = await self.call("Target.createTarget", {"url": "about:blank", "browserContextId": context})
        attached = await self.call("Target.attachToTarget", {"targetId": target["targetId"], "flatten": True})
        page = self._pages[attached["sessionId"]] = Page(self, attached["sessionId"])
        for domain in ("Page", "Runtime", "Network", "Log"):
            await page.call(f"{domain}.enable")
        await page.look()
        return page


@contextlib.contextmanager
def started(folder: Path) -> Iterator[str]:
    """Start the browser with its files in ``folder``, give the address of its protocol, and end it."""
    assert EXECUTABLE is not None
    command = [EXECUTABLE, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(command, stderr=said, stdout=said, start_new_session=True)
    try:
        yield _address(process, folder)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its helpers are of its group
        process.wait()


def _address(process: subprocess.Popen[bytes], folder: Path) -> str:
    """Return the address that the browser writes to a file when it listens."""
    port = folder / "DevToolsActivePort"
    limit = time.monotonic() + PATIENCE
    while not (port.exists() and len(lines := port.read_text().splitlines()) == 2):
        alive = process.poll() is None and time.monotonic() < limit
        assert alive, (folder / "said").read_text(errors="replace")
        time.sleep(0.01)
    return f"ws://127.0.0.1:{lines[0]}{lines[1]}"


@contextlib.asynccontextmanager
async def connected(address: str) -> AsyncIterator[Browser]:
    """Use a browser that is started; the pages that are opened here are closed at the end."""
    async with aiohttp.ClientSession() as client, client.ws_connect(address, max_msg_size=0) as socket:
        browser = Browser(socket)
        reading = asyncio.create_task(browser.read())
        try:
            yield browser
        finally:
            reading.cancel()
            await asyncio.wait([reading])
