"""What the tests of the page share: a page over a cluster, and a client that asks it as a browser does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import aiohttp

from actorsession.dashboard import ClusterPoller, DashboardServer
from tests.actors.kit import PATIENCE


class Page:
    """A browser that has opened the page.

    Attributes:
        poller: that of the page.
        server: its server.
    """

    def __init__(self, poller: ClusterPoller, server: DashboardServer, http: aiohttp.ClientSession) -> None:
        self.poller, self.server, self._http = poller, server, http
        self.base = server.link.partition("/?")[0]

    async def get(self, path: str, expected: int = 200, **more: Any) -> Any:
        """The JSON of a path."""
        async with self._http.get(f"{self.base}{path}", **more) as response:
            body = await response.text()
            assert response.status == expected, (path, response.status, body)
            assert response.content_type == "application/json"
            return json.loads(body)

    async def until(self, path: str, true: Any) -> Any:
        """The JSON of a path, once something is true of it."""
        async with asyncio.timeout(PATIENCE):
            while not true(value := await self.get(path)):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        return value


def quoted(name: str) -> str:
    """A name as a part of a path."""
    return quote(name, safe="")


@asynccontextmanager
async def opened(address: str, *, interval: float = 0.05, token: str | None = None, **more: Any) -> AsyncIterator[Page]:
    """A page of the cluster of a task, opened by its link."""
    poller = ClusterPoller(address, interval=interval, token=token, **more)
    server = DashboardServer(poller, "the cluster", token=token)
    try:
        await poller.start()
        await server.start()
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
            async with http.get(server.link, allow_redirects=False) as response:
                assert response.status == 303
                assert response.headers["Location"] == "/"
            yield Page(poller, server, http)
    finally:
        await server.aclose()
        await poller.aclose()
