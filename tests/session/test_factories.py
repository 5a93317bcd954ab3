"""Session factories: a target and its settings choose exactly one kind of session."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncInteractiveSession, AsyncSession, ConfigProto, Graph, InteractiveSession, Session, ops
from actorsession.config import Experimental, SessionMetadata
from actorsession.errors import CancelledError, InternalError, InvalidArgumentError, NotFoundError, UnimplementedError
from actorsession.extend import (
    DeviceAttributes,
    OnEvict,
    PluginWarning,
    RunSignature,
    SessionFactory,
    SessionInterface,
    SessionOptions,
)
from actorsession.extend import register_session_factory as register_factory
from actorsession.session.direct.direct_session import DirectSession
from actorsession.session.factory import ENTRY_POINTS, get_factory, registered_factories
from actorsession.session.statistics import SessionStatistics
from tests.default_device import BESIDE
from tests.rows import for_each
from tests.session.inner import direct_session
from tests.session.session_adapters import AsyncAdapter, SyncAdapter

pytestmark = pytest.mark.usefixtures("registrations")


class Toy(SessionFactory):
    """Serves ``toy://`` with direct sessions, and remembers what it was asked."""

    def __init__(self) -> None:
        self.made: list[SessionInterface[Any]] = []
        self.resets: list[tuple[str, Sequence[str]]] = []

    def accepts(self, options: SessionOptions) -> bool:
        return options.target.startswith("toy://")

    def new_session(self, graph: Graph, options: SessionOptions, on_evict: OnEvict) -> SessionInterface[Any]:
        self.made.append(DirectSession(graph, options.config, on_evict=on_evict))
        return self.made[-1]

    async def reset(self, options: SessionOptions, containers: Sequence[str]) -> None:
        self.resets.append((options.target, containers))


def options(target: str) -> SessionOptions:
    return SessionOptions(target, ConfigProto())


# -- the registry ----------------------------------------------------------------------------------
def test_direct_and_remote_sessions_are_registered_factories() -> None:
    assert registered_factories() == ("DIRECT_SESSION", "REMOTE_SESSION")
    assert get_factory(options("")).accepts(options(""))
    for target in ("tcp://h:1", "unix:///s", "inproc://n"):
        assert get_factory(options(target)) is not get_factory(options(""))


def test_a_target_that_no_factory_accepts_is_not_found_and_lists_what_is_registered() -> None:
    with pytest.raises(NotFoundError, match=r"'foo'; registered: DIRECT_SESSION, REMOTE_SESSION"):
        get_factory(options("foo"))
    with pytest.raises(NotFoundError, match="carrier-pigeon://"):
        Session("carrier-pigeon://loft", graph=Graph())


def test_a_target_that_two_factories_accept_is_an_internal_error_that_names_both() -> None:
    register_factory("TOY", Toy())
    register_factory("TOY_AGAIN", Toy())
    with pytest.raises(InternalError, match=r"'toy://x': TOY, TOY_AGAIN; registered: DIRECT_SESS"):
        get_factory(options("toy://x"))


def test_a_name_is_registered_once() -> None:
    first = Toy()
    register_factory("TOY", first)
    with pytest.raises(KeyError, match="'TOY' is registered already"):
        register_factory("TOY", Toy())
    assert get_factory(options("toy://x")) is first


def test_what_is_no_factory_is_not_registered() -> None:
    wrong: list[Any] = [Toy, DirectSession, None, lambda options: True]
    for factory_ in wrong:
        with pytest.raises(TypeError, match="an instance of SessionFactory, got"):
            register_factory("TOY", factory_)
    assert registered_factories() == ("DIRECT_SESSION", "REMOTE_SESSION")


def test_a_factory_that_fails_when_it_is_asked_harms_no_other_and_is_named(graph: Graph) -> None:
    class Failing(Toy):
        def accepts(self, options: SessionOptions) -> bool:
            raise OSError("no licence")

    register_factory("FAILING", Failing())
    with Session(graph=graph) as session:
        assert session.run(ops.constant(1)) == 1
    with pytest.raises(NotFoundError, match=r"Could not be asked: 'FAILING' \(OSError: no licence\)$"):
        Session("toy://x", graph=graph)


def test_factories_are_registered_while_others_are_asked() -> None:
    start = threading.Barrier(2)

    def register() -> None:
        start.wait()
        for i in range(300):
            register_factory(f"TOY{i}", Toy())

    registering = threading.Thread(target=register)
    registering.start()
    start.wait()
    while registering.is_alive():
        assert get_factory(options("")).accepts(options(""))
        assert "DIRECT_SESSION" in registered_factories()
    registering.join()


class Wrapped(SessionInterface[Any]):
    """A session with the abstract methods of the interface alone; a direct one does the work."""

    def __init__(self, made: SessionInterface[Any]) -> None:
        self.made = made

    async def connect(self) -> None:
        await self.made.connect()

    async def prepare(self, signature: RunSignature) -> Any:
        return await self.made.prepare(signature)

    async def run(self, *args: Any) -> Sequence[Any]:
        return await self.made.run(*args)

    async def devices(self) -> list[DeviceAttributes]:
        return await self.made.devices()

    async def close(self) -> None:
        await self.made.close()

    def statistics(self) -> SessionStatistics:
        return self.made.statistics()


class Wrapping(Toy):
    """Serves ``toy://`` with sessions of the least kind."""

    def new_session(self, graph: Graph, options: SessionOptions, on_evict: OnEvict) -> SessionInterface[Any]:
        return Wrapped(super().new_session(graph, options, on_evict))


async def test_a_session_of_another_kind_needs_the_abstract_methods_alone(graph: Graph) -> None:
    register_factory("TOY", Wrapping())
    x = ops.placeholder("float32", [2])
    y = x + 1.0
    with Session("toy://a", graph=graph) as sync:
        face = SyncAdapter.__new__(SyncAdapter)
        face.session = sync
        np.testing.assert_array_equal(await face.run(y, {x: [1, 2]}), [2, 3])
        np.testing.assert_array_equal(await face.callable(y, [x])([1, 2]), [2, 3])
        assert len(await asyncio.to_thread(sync.list_devices)) == 1 + len(BESIDE)
        assert sync.statistics().cache.plans == 1
        await asyncio.to_thread(sync.warm_up, y, [x])
        with pytest.raises(UnimplementedError, match="toy://a"):
            sync.debug_dumps()
        with pytest.raises(UnimplementedError, match="Wrapped keeps no timelines"):
            sync.timelines()
        for waiting in (sync.why, sync.reattach, sync.placement, lambda: sync.partial_run_setup(y, [x])):
            with pytest.raises(UnimplementedError, match=r"Wrapped|toy://a"):
                await asyncio.to_thread(waiting)
        await face.close()
    async with AsyncSession("toy://b", graph=graph) as session:
        np.testing.assert_array_equal(await session.run(y, {x: [1, 2]}), [2, 3])
        np.testing.assert_array_equal(await session.make_callable(y, [x])([1, 2]), [2, 3])
        assert len(await session.list_devices()) == 1 + len(BESIDE)


async def test_a_session_of_another_kind_reports_evicted_plans_and_their_runs_are_planned_again(graph: Graph) -> None:
    register_factory("TOY", Wrapping())
    values = [ops.constant(i) + 1 for i in range(3)]
    async with AsyncSession("toy://a", graph=graph, config=ConfigProto(plan_cache_size=1)) as session:
        for _ in range(2):
            for i, value in enumerate(values):
                assert await session.run(value) == i + 1
        counted = session.statistics().cache
        assert (counted.plans, counted.misses, counted.evictions) == (1, 6, 5)


def test_a_factory_that_makes_no_session_is_named(graph: Graph) -> None:
    class Wrong(Toy):
        def new_session(self, *args: Any) -> Any:
            return "a session"

    register_factory("TOY", Wrong())
    with pytest.raises(TypeError, match=r"Wrong.new_session returns a SessionInterface, got 'a ses"):
        Session("toy://a", graph=graph)


async def test_both_faces_ask_the_factory_that_accepts(graph: Graph) -> None:
    toy = Toy()
    register_factory("TOY", toy)
    with Session("toy://a", graph=graph) as sync:
        assert sync._session is toy.made[0]
    async with AsyncSession("toy://b", graph=graph) as session:
        assert session._session is toy.made[1]
        assert await session.run(ops.constant(3) + 4) == 7


# -- kinds from outside ----------------------------------------------------------------------------
PLUG_IN = """
from actorsession.session import SessionFactory
from actorsession.session.direct.direct_session import DirectSession

class Plugged(SessionFactory):
    def accepts(self, options):
        return options.target.startswith("plugged://")
    def new_session(self, graph, options, on_evict):
        return DirectSession(graph, options.config, on_evict=on_evict)
"""


def distribute(where: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str) -> None:
    """Puts a distribution with one module and one entry point on the path."""
    (where / f"{name}.py").write_text(code)
    info = where / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\n{name.upper()} = {name}:Plugged\n")
    if str(where) not in sys.path:
        monkeypatch.syspath_prepend(str(where))


def test_a_kind_of_session_from_another_distribution_is_found_by_its_entry_point(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribute(tmp_path, monkeypatch, "plugged", PLUG_IN)
    with Session("plugged://here", graph=graph) as session:
        assert session.run(ops.constant(2) * 3) == 6
    assert "PLUGGED" in registered_factories()


def test_a_distribution_that_cannot_be_loaded_is_named_and_harms_no_other(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribute(tmp_path, monkeypatch, "broken", "raise OSError('no licence')")
    words = r"BROKEN = broken:Plugged of broken 1.0 .* cannot be used: OSError: no licence"
    with (
        pytest.warns(PluginWarning, match=words),
        pytest.raises(NotFoundError, match=r"'BROKEN' from broken:Plugged \(OSError: no licence"),
    ):
        Session("other://", graph=graph)
    (tmp_path / "more").mkdir()
    distribute(tmp_path / "more", monkeypatch, "plugged", PLUG_IN)
    Session("plugged://here", graph=graph).close()


def test_an_entry_point_without_a_factory_is_named(graph: Graph, tmp_path: Path, monkeypatch: Any) -> None:
    distribute(tmp_path, monkeypatch, "wrong", "Plugged = dict")
    with (
        pytest.warns(PluginWarning, match="makes {}, which is no SessionFactory"),
        pytest.raises(NotFoundError, match=r"'WRONG' from wrong:Plugged \(not a SessionFactory"),
    ):
        Session("other://", graph=graph)


# -- reset -----------------------------------------------------------------------------------------
@for_each("kind", [AsyncAdapter, SyncAdapter], ids=lambda kind: str(kind.name))
async def test_reset_closes_every_local_session(graph: Graph, kind: Any) -> None:
    sessions = [kind(graph), kind(graph)]
    three = ops.constant(1) + 2
    for session in sessions:
        assert await session.run(three) == 3
    await sessions[0].reset("")
    for session in sessions:
        with pytest.raises(CancelledError, match="Session has been closed"):
            await session.run(three * 2)
        await session.close()
    fresh = kind(graph)
    assert await fresh.run(three) == 3
    await fresh.close()


def test_reset_gives_up_the_steps_that_run(graph: Graph) -> None:
    """TensorFlow crashes here. 1. A thread is in a long step. 2. Another one resets. 3. The step ends with
    CancelledError, between two of its nodes."""
    x = ops.placeholder("float32", [400, 400])
    y = x
    for _ in range(2000):
        y = ops.matmul(y, x)
    session = Session(graph=graph)
    ended: list[BaseException] = []

    def work() -> None:
        try:
            session.run(y, {x: np.zeros((400, 400), np.float32)})
        except BaseException as exc:
            ended.append(exc)

    with session:
        thread = threading.Thread(target=work)
        entered = threading.Event()
        direct: Any = direct_session(session)
        direct._gate = Noticing(direct._gate, entered)
        thread.start()
        assert entered.wait(20)
        Session.reset("")
        thread.join(20)
    assert [type(e) for e in ended] == [CancelledError]


class Noticing:
    """A session's gate that tells when generated code looks at it for the third time."""

    def __init__(self, gate: Any, entered: threading.Event) -> None:
        self._gate = gate
        self._entered = entered
        self._looks = 0

    @property
    def error(self) -> Any:
        return self._gate.error

    def check(self) -> None:
        self._looks += 1
        if self._looks == 3:
            self._entered.set()
        self._gate.check()

    def close(self, error: Any) -> bool:
        return bool(self._gate.close(error))


async def test_reset_goes_to_the_factory_with_the_containers(graph: Graph) -> None:
    toy = Toy()
    register_factory("TOY", toy)
    await AsyncSession.reset("toy://x", ["a", "b"])
    assert toy.resets == [("toy://x", ("a", "b"))]


@for_each(
    "containers, said",
    [
        ("abc", "list of names, got str: 'abc'"),
        (b"abc", "list of names, got bytes"),
        (3, "list of names, got int: 3"),
        ({"a"}, "list of names, got set"),
        (["a", 3], "container is a string, got 3"),
    ],
    ids=["string", "bytes", "number", "set", "member"],
)
@for_each("kind", [AsyncAdapter, SyncAdapter])
async def test_reset_takes_a_list_of_names(graph: Graph, kind: Any, containers: Any, said: str) -> None:
    face = kind(graph)
    with pytest.raises(TypeError, match=said):
        await face.reset("", containers)
    with pytest.raises(TypeError, match="config is a ConfigProto, got int"):
        await face.reset("", None, 3)
    assert not face.session._session._gate.error  # nothing was reset
    await face.close()


async def test_reset_of_an_unknown_target_is_not_found_and_of_a_kind_without_it_unimplemented(graph: Graph) -> None:
    class Plain(Toy):
        reset = SessionFactory.reset

    with pytest.raises(NotFoundError, match="'foo'"):
        await AsyncSession.reset("foo")
    register_factory("PLAIN", Plain())
    with pytest.raises(UnimplementedError, match=r"'toy://x' \(Plain\) cannot be reset"):
        await AsyncSession.reset("toy://x")
    with pytest.raises(TypeError, match=r"must be a string, but got .int."):
        await AsyncSession.reset(3)  # type: ignore[arg-type]


# -- metadata --------------------------------------------------------------------------------------
def named(name: str, version: int) -> ConfigProto:
    return ConfigProto(experimental=Experimental(session_metadata=SessionMetadata(name=name, version=version)))


async def test_a_living_session_has_its_name_and_version_alone(make_session: Any) -> None:
    first = make_session(named("model", 1))
    with pytest.raises(InvalidArgumentError, match="'model' with version 1 lives already"):
        make_session(named("model", 1))
    make_session(named("model", 2))
    make_session(named("other", 1))
    await first.close()
    make_session(named("model", 1))


async def test_an_argument_names_a_session_of_any_kind() -> None:
    for kind in (Session, AsyncSession, InteractiveSession, AsyncInteractiveSession):
        session = kind(name="trainer", config=named("", 2))
        assert session.name == "trainer"
        with pytest.raises(InvalidArgumentError, match="'trainer' with version 2 lives already"):
            Session(config=named("trainer", 2))
        if (closing := session.close()) is not None:
            await closing


def test_a_name_agrees_with_that_of_the_settings() -> None:
    with Session(name="one", config=named("one", 1)) as session:
        assert session.name == "one"
    with pytest.raises(ValueError, match="name is 'one' and the session_metadata of config say 'two'"):
        Session(name="one", config=named("two", 1))
    with pytest.raises(TypeError, match="name is a string, got 3"):
        Session(name=3)  # type: ignore[arg-type]
    assert Session().name == ""


async def test_a_negative_version_is_refused(make_session: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="at least 0, got -1 for 'model'"):
        make_session(named("model", -1))


def test_a_name_is_free_when_its_session_was_collected(graph: Graph) -> None:
    session = Session(graph=graph, config=named("left", 1))
    del session
    gc.collect()
    Session(graph=graph, config=named("left", 1)).close()


def test_sessions_without_metadata_are_never_in_each_others_way(graph: Graph) -> None:
    with Session(graph=graph), Session(graph=graph):
        pass
