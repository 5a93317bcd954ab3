"""The server of the page, over HTTP.

The ``Guard`` checks each request of ``DashboardServer``, and ``Answers`` has what is sent as JSON. Everything
is a GET and changes nothing; the files of ``assets`` are read once. Imports ``aiohttp``, the extra
``dashboard``; the command line imports this module when the page is asked for.

Invariant: at most ``_AT_ONCE`` requests are answered at a time, and others are refused.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import math
import mimetypes
import socket
from collections.abc import Sequence
from http import HTTPStatus
from importlib import resources
from typing import Any, NamedTuple

from aiohttp import web
from aiohttp.typedefs import Handler

from actorsession.actors.supervision import Children
from actorsession.dashboard.answers import Answer, Answers, Request
from actorsession.dashboard.guard import HEADERS, Guard
from actorsession.dashboard.poller import ClusterPoller
from actorsession.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ProtocolError,
    UnavailableError,
)

__all__ = ["DashboardServer"]

_log = logging.getLogger("actorsession.dashboard")

# Requests under way, and open connections, which are of browsers on few machines.
_AT_ONCE = 64
# Hosts that stand for all addresses of this machine, which nobody can open.
_EVERYWHERE = ("", "0.0.0.0", "::")
# Bytes of an answer from which it is compressed.
_COMPRESSED = 2048

_STATUS: tuple[tuple[type[OpError], HTTPStatus], ...] = (
    (NotFoundError, HTTPStatus.NOT_FOUND),
    (InvalidArgumentError, HTTPStatus.BAD_REQUEST),
    (PermissionDeniedError, HTTPStatus.FORBIDDEN),
    (DeadlineExceededError, HTTPStatus.GATEWAY_TIMEOUT),
    (UnavailableError, HTTPStatus.BAD_GATEWAY),
    (ProtocolError, HTTPStatus.BAD_GATEWAY),
)


class _Asset(NamedTuple):
    """A file of the page.

    Attributes:
        body: its bytes.
        content_type: their type.
        tag: identifies them.
    """

    body: bytes
    content_type: str
    tag: str


class DashboardServer:
    """Serves the page of one cluster.

    Args:
        poller: knows the tasks; started and ended by the caller.
        name: the name of the cluster, for people.
        host: the host or address to listen at.
        port: the port; 0 for any that is free.
        token: the cluster's token; ``None`` if it has none.
        names: other names of this host by which the page is opened, such as that of a server before it.

    Attributes:
        under_way: how many requests are being answered.
    """

    def __init__(
        self,
        poller: ClusterPoller,
        name: str,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        names: Sequence[str] = (),
    ) -> None:
        self._answers = Answers(poller, name)
        self._host, self._port = host, port
        self._guard = Guard(token, host, *names)
        self.under_way = 0
        self._assets = _read_assets()
        self._children = Children("page")
        self._runner = web.AppRunner(self._app(), access_log=None, handler_cancellation=True, keepalive_timeout=30.0)

    def _app(self) -> web.Application:
        app = web.Application(middlewares=[self._answer])
        for path, answer in self._answers.by_path().items():
            app.router.add_get(path, _as_json(answer), allow_head=False)
        app.router.add_get("/", self._page, allow_head=False)
        app.router.add_get("/assets/{name:.+}", self._asset, allow_head=False)
        return app

    # -- life ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen from now on.

        Raises:
            OSError: if the address cannot be bound.
        """
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port, backlog=_AT_ONCE)
        # Shielded: a site whose start is cancelled half-way loses its sockets.
        starting = self._children.start(site.start(), name="start of the page", awaited=True)
        try:
            await asyncio.shield(starting)
        except BaseException:
            await asyncio.wait({starting})
            await self._runner.cleanup()
            raise
        self._port = self._runner.addresses[0][1]

    @property
    def port(self) -> int:
        """The port at which it listens."""
        return self._port

    @property
    def link(self) -> str:
        """The address of the page, with the token that opens it."""
        host = socket.gethostname() if self._host in _EVERYWHERE else self._host
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self._port}/?token={self._guard.token}"

    async def aclose(self) -> None:
        """Listen no more, and end the requests that are under way."""
        await self._runner.cleanup()

    # -- every request -------------------------------------------------------------------------

    @web.middleware
    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check a request, answer it, and answer errors in words."""
        response = self._refusal(request) or await self._handled(request, handler)
        response.headers.update({name: text for name, text in HEADERS.items() if name not in response.headers})
        return response

    async def _handled(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.under_way += 1
        try:
            return await handler(request)
        except web.HTTPException as error:
            return _failed(HTTPStatus(error.status), error.reason)
        except OpError as error:
            status = next((s for kind, s in _STATUS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)
            return _failed(status, error.message)
        except Exception:
            _log.exception("the answer to %r has failed", request.path)
            return _failed(HTTPStatus.INTERNAL_SERVER_ERROR, "the page's server has failed; its log says how")
        finally:
            self.under_way -= 1

    def _refusal(self, request: web.Request) -> web.Response | None:
        """Return the answer to a request that must not be answered otherwise."""
        if not self._guard.knows_host(request.headers.get("Host", "")):
            return _failed(HTTPStatus.MISDIRECTED_REQUEST, "this host is not the name of the page's server")
        if request.method != "GET":
            refused = _failed(HTTPStatus.METHOD_NOT_ALLOWED, "the page is read only")
            refused.headers["Allow"] = "GET"
            return refused
        given = request.query.get("token")
        if not self._guard.knows_token(given or request.cookies.get(self._cookie)):
            return _failed(HTTPStatus.FORBIDDEN, "the token is missing or wrong; open the link that was printed")
        if self.under_way >= _AT_ONCE:
            return _failed(HTTPStatus.SERVICE_UNAVAILABLE, f"{_AT_ONCE} requests are under way")
        if given is not None and request.path == "/":
            return self._with_cookie()
        return None

    @property
    def _cookie(self) -> str:
        # Browsers send the cookies of all ports of a host.
        return f"actorsession-dashboard-{self._port}"

    def _with_cookie(self) -> web.Response:
        """Return the answer that keeps the token in a cookie, and leads to an address without it."""
        response = web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": "/"})
        # Lax: a link in a notebook or a mail is opened with it, and nothing else of another page sends it.
        response.set_cookie(self._cookie, self._guard.token, httponly=True, samesite="Lax", path="/")
        return response

    # -- files ---------------------------------------------------------------------------------

    async def _page(self, request: web.Request) -> web.StreamResponse:
        return self._file(request, "index.html")

    async def _asset(self, request: web.Request) -> web.StreamResponse:
        return self._file(request, request.match_info["name"])

    def _file(self, request: web.Request, name: str) -> web.StreamResponse:
        asset = self._assets.get(name)
        if asset is None:
            raise NotFoundError(f"the page has no file {name!r:.200}")
        headers = {"Cache-Control": "no-cache", "ETag": asset.tag}
        if request.headers.get("If-None-Match") == asset.tag:
            return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
        headers["Content-Type"] = asset.content_type
        return _compressed(web.Response(body=asset.body, headers=headers))


def _as_json(answer: Answer) -> Handler:
    """Return a handler that answers with the value of a function as JSON."""

    async def handle(request: web.Request) -> web.StreamResponse:
        query = {name: request.query.getall(name) for name in request.query}
        value = await answer(Request(request.match_info, query))
        # A large graph takes some 100 ms, in which others are answered.
        body = await asyncio.to_thread(_encoded, value)
        return _compressed(web.Response(body=body, content_type="application/json", charset="utf-8"))

    return handle


def _encoded(value: Any) -> bytes:
    # In ASCII: halves of surrogate pairs, which names may have, are no UTF-8.
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
    except ValueError:  # a peer has sent a number that JSON does not have
        return _encoded(_finite(value))


def _finite(value: Any) -> Any:
    """Return a value with ``None`` in place of numbers that JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _compressed(response: web.Response) -> web.Response:
    if len(response.body or b"") >= _COMPRESSED:  # type: ignore[arg-type]
        response.enable_compression()
    return response


def _failed(status: HTTPStatus, words: str) -> web.Response:
    return web.json_response({"error": words}, status=status)


def _read_assets() -> dict[str, _Asset]:
    """Return the files of the page by their paths below ``assets``."""
    assets: dict[str, _Asset] = {}
    folders = [("", resources.files("actorsession.dashboard") / "assets")]
    while folders:
        path, folder = folders.pop()
        for entry in folder.iterdir():
            name = f"{path}{entry.name}"
            if entry.is_dir():
                folders.append((f"{name}/", entry))
            elif entry.is_file():
                body = entry.read_bytes()
                kind = mimetypes.guess_type(entry.name)[0] or "application/octet-stream"
                text = kind.startswith("text/") or kind.endswith(("javascript", "json"))
                assets[name] = _Asset(
                    body, f"{kind}; charset=utf-8" if text else kind, f'"{hashlib.sha256(body).hexdigest()[:32]}"'
                )
    return assets
