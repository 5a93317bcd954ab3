"""Which event loop: uvloop where there is one, never by policy."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from actorsession.actors import loops


def test_run_returns_the_result_and_closes_the_loop() -> None:
    seen: list[asyncio.AbstractEventLoop] = []

    async def main() -> int:
        seen.append(asyncio.get_running_loop())
        return 3

    assert loops.run(main()) == 3
    assert seen[0].is_closed()


def test_uvloop_is_taken_where_it_is_installed() -> None:
    uvloop = pytest.importorskip("uvloop")
    loop = loops.new_event_loop()
    assert isinstance(loop, uvloop.Loop)
    loop.close()


WITHOUT_UVLOOP = """
import sys
sys.modules["uvloop"] = None
from tests.loops import new_event_loop
loop = new_event_loop()
assert type(loop).__module__.startswith("asyncio"), loop
loop.close()
"""


@pytest.mark.process
def test_without_uvloop_the_stock_loop_serves() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_UVLOOP], check=True, timeout=60)
