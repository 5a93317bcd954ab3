"""A graph of its own for each test, servers in this process, and one cluster of processes per module."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from actorsession.actors.deadline import Deadline
from actorsession.actors.loops import new_event_loop
from actorsession.cluster import LocalCluster
from actorsession.cluster.master import master_session
from actorsession.graph.graph import Graph
from actorsession.session.remote import remote_session as remote
from tests.cluster.kit import PATIENCE, InProcess, in_process, patient_cluster, reach_over_links


@pytest.fixture
def graph() -> Iterator[Graph]:
    made = Graph()
    with made.as_default():
        yield made


@pytest.fixture
async def cluster() -> AsyncIterator[InProcess]:
    """Two workers in this process."""
    async with in_process() as made:
        yield made


@pytest.fixture(params=["direct", "link"])
def way(request: Any, monkeypatch: Any) -> str:
    """How sessions reach a master of this process: by direct calls, or as if it were elsewhere."""
    if request.param == "link":
        reach_over_links(monkeypatch)
    return str(request.param)


@pytest.fixture
def over_links(monkeypatch: Any) -> None:
    reach_over_links(monkeypatch)


@pytest.fixture
def patient_clients(monkeypatch: Any) -> None:
    """Lets clients of this process wait for what the master says of a limit, however late that comes.

    Its word is what is looked at. A client by itself only waits for a moment, which is less than a process
    may stand still on a machine that does much else.
    """
    monkeypatch.setattr(remote, "_ANSWER_MARGIN", PATIENCE)


@pytest.fixture
def hasty_masters(monkeypatch: Any) -> None:
    """Has masters of this process give tasks that are missing up soon, while their clients listen on."""
    monkeypatch.setattr(master_session, "sooner", lambda deadline: Deadline.after(0.5))


@pytest.fixture(scope="module")
def processes() -> Iterator[LocalCluster]:
    """One ps and two workers in processes of their own, shared by a module's tests.

    They belong to a loop in a thread, so that tests on any loop can use them.
    """
    loop = new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="owner of the processes")
    thread.start()
    made = patient_cluster({"ps": 1, "worker": 2}, protocol="tcp")  # some put a proxy before it
    try:
        asyncio.run_coroutine_threadsafe(made.start(), loop).result(PATIENCE)
        yield made
    finally:
        asyncio.run_coroutine_threadsafe(made.stop(), loop).result(PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
