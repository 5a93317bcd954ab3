"""``actorsession dashboard``: a page that shows what the tasks of a cluster are doing."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from actorsession.cli.console import SUCCESS, add_address, port, print_json, print_line, raw, seconds

if TYPE_CHECKING:
    from actorsession.dashboard.server import DashboardServer

__all__ = ["add_to"]

_EPILOG = """\
The page is read only, and asks the tasks nothing while no browser shows it, unless --keep-history is given.
Its address has a token, which is made of the cluster's; without one every request is refused. It is plain
HTTP: from another machine, reach it through a tunnel (ssh -L) or a server with TLS before it.

exit status: 0 Ctrl-C or SIGTERM ended it; 1 the task does not answer, or the port is taken; 2 invalid
arguments.
environment: ACTORSESSION_TOKEN is the secret that servers and clients share.
"""
_ENDING = (signal.SIGTERM, signal.SIGINT)
# Seconds between looks at the parent, whose pipe a fork of it may hold open.
_LOOK = 1.0


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "dashboard",
        help="show what a cluster is doing, in a browser",
        description=(
            "Serve a page with the tasks of a cluster, their load and rates over the last hour, the steps\n"
            "that run and the last ones, sessions, graphs, variables, queues, errors and logs. Prints the\n"
            "address of the page, and serves it until Ctrl-C."
        ),
        epilog=_EPILOG,
        formatter_class=raw,
    )
    add_address(parser, "any task")
    parser.add_argument(
        "--host", default="127.0.0.1", help="where to listen (default %(default)s, for this machine alone)"
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="another name by which the page is opened, such as that of a server before it; may be given several times",
    )
    parser.add_argument("--port", type=port, default=0, help="the port (default 0: one that is free)")
    parser.add_argument("--open", action="store_true", help="open the page in the browser of this machine")
    parser.add_argument(
        "--interval",
        type=seconds,
        default=2.0,
        metavar="SECONDS",
        help="how often tasks are asked for their state (default %(default)g)",
    )
    parser.add_argument("--keep-history", action="store_true", help="ask them while no browser shows the page, too")
    parser.add_argument("--json", action="store_true", help="print the address as JSON")
    parser.add_argument("--with-parent", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from actorsession.actors.loops import run
    from actorsession.extras import require

    require("aiohttp", "dashboard", "the page is served by aiohttp, which is not installed")
    run(_serve(options))
    return SUCCESS


async def _serve(options: argparse.Namespace) -> None:
    async with _serving(options) as server:
        if options.json:
            print_json({"link": server.link, "pid": os.getpid()})
        else:
            print_line(f"the page of the cluster of {options.address} is at {server.link} ; Ctrl-C ends it")
        if options.open:
            import webbrowser

            await asyncio.to_thread(webbrowser.open, server.link)
        await _until_ended(with_parent=options.with_parent)


@contextlib.asynccontextmanager
async def _serving(options: argparse.Namespace) -> AsyncIterator[DashboardServer]:
    """Serve the page inside the block."""
    from actorsession.dashboard.poller import ClusterPoller
    from actorsession.dashboard.server import DashboardServer
    from actorsession.rpc.security import shared_token

    token = shared_token(options.address)
    poller = ClusterPoller(options.address, token=token, interval=options.interval, keep_history=options.keep_history)
    server = DashboardServer(
        poller, options.address, host=options.host, port=options.port, token=token, names=options.allow_host
    )
    try:
        await poller.start()
        await server.start()
        yield server
    finally:
        await server.aclose()
        await poller.aclose()


async def _until_ended(*, with_parent: bool) -> None:
    """Wait for a signal, or for the end of the parent, which holds standard input open."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    before = signal.getsignal(signal.SIGINT)
    for number in _ENDING:
        loop.add_signal_handler(number, ended.set)
    if with_parent:
        os.set_blocking(sys.stdin.fileno(), False)
        loop.add_reader(sys.stdin.fileno(), ended.set)  # a parent writes nothing: this is the end of the pipe
    parent = os.getppid()
    try:
        while not ended.is_set() and (not with_parent or os.getppid() == parent):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK if with_parent else None):
                    await ended.wait()
    finally:
        if with_parent:
            loop.remove_reader(sys.stdin.fileno())
        for number in _ENDING:
            loop.remove_signal_handler(number)
        signal.signal(signal.SIGINT, before)
