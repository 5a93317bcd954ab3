"""Servers in this process, and clusters of processes for all tests here."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, LocalCluster
from actorsession.actors import Deadline
from actorsession.cluster.master import session_plans
from actorsession.session.remote import remote_run
from tests.cluster.kit import PATIENCE, InProcess, in_process, patient_cluster, reach_over_links
from tests.conftest import LOOP_FACTORIES

_HERE = Path(__file__).parent


@pytest.fixture
async def cluster() -> AsyncIterator[InProcess]:
    """Two workers in this process."""
    async with in_process() as made:
        yield made


@pytest.fixture
async def session(cluster: InProcess, graph: Graph) -> AsyncIterator[AsyncSession]:
    """A session of the first worker on the test's graph."""
    async with AsyncSession(cluster.target(), graph=graph) as made:
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
def answer_margin(monkeypatch: Any) -> Callable[[float], None]:
    """Return a function that sets how long clients of this process wait for a master beyond a run's limit."""
    return lambda seconds: monkeypatch.setattr(remote_run, "ANSWER_MARGIN", seconds)


@pytest.fixture
def patient_clients(answer_margin: Callable[[float], None]) -> None:
    """Lets clients of this process wait for what the master says of a limit, however late that comes. Its word is what
    is looked at. A client by itself only waits for a moment, which is less than a process may stand still on a machine
    that does much else."""
    answer_margin(PATIENCE)


@pytest.fixture
def hasty_masters(monkeypatch: Any) -> None:
    """Has masters of this process give tasks that are missing up soon, while their clients listen on."""
    monkeypatch.setattr(session_plans, "sooner", lambda deadline: Deadline.after(0.5))


@pytest.fixture(scope="package")
def processes() -> Iterator[LocalCluster]:
    """One ps and two workers in processes of their own, shared by all tests that leave them alone. They belong to a
    loop in a thread, so that tests on any loop can use them."""
    with patient_cluster({"ps": 1, "worker": 2}, protocol="tcp") as made:  # some put a proxy before it
        yield made


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark ``whole`` what a specification of local sessions shows by another way and face than the one that the short
    suite takes for it: sessions of one process run all of it in both faces.

    Run the examples over ``processes`` on one of the loops, as tests that are marked ``process``. The other sides of
    their links have loops of their own, and the same example on servers of this process runs on both. Half of these
    examples run on either loop, each always on the same."""
    items[:] = [item for item in items if not _is_on_other_loop(item)]
    for item in items:
        if _is_by_other_way(item):
            item.add_marker(pytest.mark.whole)


def _is_by_other_way(item: pytest.Item) -> bool:
    index = getattr(getattr(item, "callspec", None), "indices", {}).get("way_and_face")
    words = f"{item.path.name}::{item.name.partition('[')[0]}"
    return index is not None and index != zlib.crc32(words.encode()) % 2


def _is_on_other_loop(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    if callspec is None or not item.path.is_relative_to(_HERE):
        return False
    values = [v[0] if isinstance(v, tuple) and v else v for v in callspec.params.values()]
    loop, _, example = callspec.id.partition("-")
    if not any(isinstance(v, str) and v == "processes" for v in values) or loop not in LOOP_FACTORIES:
        return False
    words = f"{item.path.name}::{item.name.partition('[')[0]}[{example}]"
    return loop != sorted(LOOP_FACTORIES)[zlib.crc32(words.encode()) % len(LOOP_FACTORIES)]
