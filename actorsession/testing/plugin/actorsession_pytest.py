"""The plug-in for pytest (entry point ``pytest11``): fixtures that import the library when a test asks for them.

pytest loads it wherever the library is installed. So an installation has it beside the package, whose import would
take a fifth of a second of every run, also of those that never use it.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from actorsession import AsyncSession, Graph, LocalCluster, Session
    from actorsession.testing import SimulatedCluster
    from actorsession.testing.leaks import Holdings

__all__ = ["graph", "local_cluster", "no_leaks", "session", "simulated_cluster", "sync_session"]

# What the process held before a test that asks for ``no_leaks``.
_HELD: pytest.StashKey[Holdings] = pytest.StashKey()


@pytest.fixture
def graph() -> Iterator[Graph]:
    """Return a new graph, which is the default one of the test."""
    from actorsession import Graph

    with Graph().as_default() as new:
        yield new


@pytest.fixture
def sync_session(graph: Graph) -> Iterator[Session]:
    """Return a session of this process on the test's graph."""
    from actorsession import Session

    with Session(graph=graph) as new:
        yield new


if find_spec("pytest_asyncio") is None:

    @pytest.fixture
    def session() -> None:
        """Fail, and say what is missing."""
        from actorsession.extras import require

        require("pytest_asyncio", "testing", "the fixture session is a coroutine of pytest-asyncio's loop")

else:
    import pytest_asyncio

    @pytest_asyncio.fixture
    async def session(  # type: ignore[misc]
        graph: Graph,
    ) -> AsyncIterator[AsyncSession]:
        """Return an asynchronous session of this process on the test's graph and loop."""
        from actorsession import AsyncSession

        async with AsyncSession(graph=graph) as new:
            yield new

    @pytest_asyncio.fixture
    async def _no_pending_tasks() -> AsyncIterator[None]:
        """Fail a test that leaves tasks on its loop, before the loop cancels them."""
        from actorsession.testing.leaks import pending_tasks

        yield
        if left := await pending_tasks():
            lines = sorted(map(repr, left))
            pytest.fail("\n  ".join([f"the test left {len(lines)} tasks pending:", *lines]), pytrace=False)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add ``--simulation-seed``, and have pytest import the library as it is."""
    # pytest rewrites the asserts of all packages of a distribution with a plug-in: a second of each run that imports
    # the library where its files cannot be written, and a quarter where they can. There is no public way to say no.
    getattr(pluginmanager.rewrite_hook, "_must_rewrite", set()).difference_update({"actorsession", "transports"})
    group = parser.getgroup("actorsession")
    group.addoption("--simulation-seed", type=int, help="the seed of simulated_cluster() for tests that give none")


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    line = "local_cluster(jobs, **options): the jobs and options of the cluster that the fixture local_cluster starts"
    config.addinivalue_line("markers", line)


@pytest.fixture
def local_cluster(request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    """Return a cluster of processes: two workers, or what ``@pytest.mark.local_cluster({"ps": 1}, restart=1)`` says.

    The mark takes the arguments of ``LocalCluster``. Coroutines of the cluster, such as ``restart``, are for its
    ``do``. All processes end with the test, whatever happens.
    """
    from actorsession import LocalCluster

    mark = request.node.get_closest_marker("local_cluster")
    jobs: Mapping[str, int] = {"worker": 2}
    with LocalCluster(*(mark.args if mark and mark.args else (jobs,)), **(mark.kwargs if mark else {})) as cluster:
        yield cluster


@pytest.fixture
def simulated_cluster(request: pytest.FixtureRequest) -> Callable[..., SimulatedCluster]:
    """Return a function that makes a cluster in a simulation: ``simulated_cluster(seed, {"worker": 2})``.

    Its arguments are those of ``SimulatedCluster``. Without a seed it is that of ``--simulation-seed``, or a new one.
    The report of a test that fails shows the seeds.
    """
    from actorsession.testing import SimulatedCluster

    def make(seed: int | None = None, jobs: Mapping[str, int] | None = None, **options: Any) -> SimulatedCluster:
        if seed is None:
            seed = request.config.getoption("simulation_seed", None)
        if seed is None:
            seed = secrets.randbits(32)
        again = f"seed {seed}; the same run: pytest --simulation-seed {seed} '{request.node.nodeid}'"
        request.node.add_report_section("call", "simulation", again)
        return SimulatedCluster(seed, jobs, **options)

    return make


@pytest.fixture
def no_leaks(request: pytest.FixtureRequest) -> None:
    """Fail a test that leaves descriptors, threads, child processes or tasks behind.

    ``usefixtures = no_leaks`` in pytest's configuration asks for it in all tests. The look back is taken when all
    fixtures of the test are gone, the one ahead when those of wider scope are there.
    """
    from actorsession.testing.leaks import take_holdings

    request.node.stash[_HELD] = take_holdings()
    if request.node.get_closest_marker("asyncio") is not None:
        request.getfixturevalue("_no_pending_tasks")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Look at what a test with ``no_leaks`` has left."""
    yield
    before = item.stash.get(_HELD, None)
    if before is None:
        return
    from actorsession.testing.leaks import end_processes, wait_for_release

    left = wait_for_release(before)
    if lines := left.describe():
        end_processes(left.processes)
        pytest.fail("\n  ".join([f"the test left {len(lines)} things behind:", *lines]), pytrace=False)
