"""``actorsession tour``: a small cluster with a program that steps slowly, and its page in the browser.

``tour_graph`` is the program of docs/tour.md too, whose pictures are drawn from it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from actorsession.cli.console import SUCCESS, positive, print_line, raw, seconds

if TYPE_CHECKING:
    from actorsession import AsyncSession, Graph

__all__ = ["add_to", "tour_graph"]

_EPILOG = """\
Every other step is a run, the others are partial runs with pauses between their calls. The stages of both are
explained in docs/tour.md, with the class that does each and its name in TensorFlow's sources.

exit status: 0 the steps are over, or a signal ended the command; 1 the cluster or its page did not start.
"""
# Rows and columns of the matrices: a product takes long enough to be seen, and the page stays responsive.
_SIZE = 1200
_PAUSE = 1.5


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "tour",
        help="watch steps of a small cluster, slowly, in a browser",
        description=(
            "Start a cluster of two workers on this machine, step through a program slowly, and show on a\n"
            "page how its steps run, until Ctrl-C."
        ),
        epilog=_EPILOG,
        formatter_class=raw,
    )
    parser.add_argument("--no-open", action="store_true", help="print the address of the page, and open no browser")
    parser.add_argument("--steps", type=positive, metavar="N", help="end after N steps (default: at Ctrl-C)")
    parser.add_argument(
        "--pause",
        type=seconds,
        default=_PAUSE,
        metavar="SECONDS",
        help="between two steps, and between the calls of a partial run (default %(default)g)",
    )
    parser.set_defaults(run=_run)


def tour_graph(first: str = "", second: str = "", rows: int = 4, columns: int = 3) -> Graph:
    """Return the graph of the tour: a product on one task, and the sum of what comes of it on another.

    Args:
        first: device of the product, such as ``/job:worker/task:0``; the default device if empty.
        second: device of the sum.
        rows: of the weights.
        columns: likewise.
    """
    import actorsession as acts

    graph = acts.Graph()
    with graph.as_default():
        x = acts.placeholder("float32", [None, rows], name="x")
        factor = acts.placeholder("float32", [], name="factor")
        with acts.device(first):
            weights = acts.Variable(acts.ones([rows, columns]), name="weights")
            hidden = acts.nn.relu(acts.matmul(x, weights, name="product"), name="hidden")
        with acts.device(second):
            acts.reduce_sum(acts.multiply(hidden, factor, name="scaled"), name="answer")
        acts.global_variables_initializer()
    return graph


def _run(options: argparse.Namespace) -> int:
    from actorsession.actors.loops import run

    with contextlib.suppress(KeyboardInterrupt):  # before our own handler was installed
        run(_tour(options))
    return SUCCESS


async def _tour(options: argparse.Namespace) -> None:
    """Run the steps of the tour until they are over or a signal is received."""
    from actorsession import AsyncSession, LocalCluster

    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    async with LocalCluster({"worker": 2}, dashboard=True) as cluster:  # prints the address of its page
        if not options.no_open:
            import webbrowser

            await asyncio.to_thread(webbrowser.open, f"{cluster.dashboard_link}#/steps")
        graph = tour_graph("/job:worker/task:0", "/job:worker/task:1", _SIZE, _SIZE)
        async with AsyncSession(cluster.target("worker"), graph=graph, name="tour") as session:
            await session.run("init")
            await _steps(session, options, ended)


async def _steps(session: AsyncSession, options: argparse.Namespace, ended: asyncio.Event) -> None:
    import numpy as np

    feed = np.ones((_SIZE, _SIZE), np.float32)
    step = 0

    async def pause(call: Awaitable[Any], told: str) -> None:
        await call
        print_line(f"step {step}: {told}")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(options.pause):
                await ended.wait()

    while not ended.is_set() and (options.steps is None or step < options.steps):
        step += 1
        if step % 2:
            await pause(session.run("answer:0", {"x:0": feed, "factor:0": 2.0}), "a run over both workers")
            continue
        handle = await session.partial_run_setup(["hidden:0", "answer:0"], ["x:0", "factor:0"])
        call = session.partial_run(handle, "hidden:0", {"x:0": feed})
        await pause(call, "a partial run: x is fed, and hidden is there")
        call = session.partial_run(handle, "answer:0", {"factor:0": 2.0})
        await pause(call, "a partial run: factor is fed, and the answer is there")
