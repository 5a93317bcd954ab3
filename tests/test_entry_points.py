"""Plug-ins of a group: loaded once, when something is wanted, and seen when they cannot be used."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from actorsession.entry_points import Plugins, entry_points
from actorsession.extend import OpDef, PluginWarning, registered_ops
from actorsession.extend import register_op as register
from actorsession.graph import registry
from actorsession.graph.registry import lookup
from actorsession.rpc import schemes
from actorsession.rpc.schemes import supports
from tests.runtime.toy import write_distribution
from transports import transport_schemes, unregister_transport

GROUP = "actorsession.things"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for distributions on ``sys.path``."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("toy_"):
            del sys.modules[name]


class Used:
    """Plug-ins that were used, in order."""

    def __init__(self, fail: bool = False) -> None:
        self.names: list[str] = []
        self.plugins = Plugins(GROUP, self.use)
        self.fail = fail

    def use(self, entry: EntryPoint, found: Any) -> None:
        if self.fail:
            raise TypeError("not this one")
        self.names.append(f"{entry.name} {found}")


def test_the_distributions_are_read_once_for_all_groups(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_distribution(site, "toy_one", "thing = 1", ["a = toy_one:thing"], group=GROUP)
    write_distribution(site, "toy_two", "thing = 2", ["b = toy_two:thing"], group=f"{GROUP}.other")
    calls: list[object] = []
    found = metadata.entry_points

    def counted() -> Any:
        calls.append(None)
        return found()

    monkeypatch.setattr(metadata, "entry_points", counted)
    for _ in range(2):
        assert [entry.name for entry in entry_points(GROUP)] == ["a"]
        assert [entry.name for entry in entry_points(f"{GROUP}.other")] == ["b"]
    assert len(calls) == 1


def test_a_plug_in_is_used_once_and_only_if_it_has_the_name(site: Path) -> None:
    lines = ["a = toy_one:thing", "b = toy_one:thing"]
    write_distribution(site, "toy_one", "thing = 1", lines, group=GROUP)
    used = Used()
    used.plugins.load("b")
    assert used.names == ["b 1"]
    for _ in range(2):
        used.plugins.load()
    assert used.names == ["b 1", "a 1"]


def test_a_distribution_of_another_folder_is_found_when_the_search_path_has_it(
    site: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_distribution(site, "toy_one", "thing = 1", ["a = toy_one:thing"], group=GROUP)
    used = Used()
    used.plugins.load()
    more = tmp_path_factory.mktemp("more")
    write_distribution(more, "toy_two", "thing = 2", ["b = toy_two:thing"], group=GROUP)
    monkeypatch.syspath_prepend(str(more))
    used.plugins.load()
    assert used.names == ["a 1", "b 2"]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemExit('a script')", "SystemExit: a script"),
        ("raise KeyError('taken')", "KeyError: taken"),
        ("", "AttributeError: module 'toy_a' has no attribute 'thing'"),
    ],
    ids=["import", "exit", "key", "name"],
)
def test_one_that_cannot_be_loaded_is_a_warning_once_and_the_others_go_on(site: Path, source: str, reason: str) -> None:
    write_distribution(site, "toy_a", source, ["a = toy_a:thing"], version="2.5", group=GROUP)
    write_distribution(site, "toy_b", "thing = 2", ["b = toy_b:thing"], group=GROUP)
    used = Used()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        used.plugins.load()
        used.plugins.load()
        Plugins(GROUP, used.use).load("a")
    assert used.names == ["b 2"]
    [warning] = told
    assert warning.category is PluginWarning
    assert str(warning.message) == (f"plug-in a = toy_a:thing of toy_a 2.5 (group {GROUP}) cannot be used: {reason}")


def test_one_that_is_refused_is_a_warning(site: Path) -> None:
    write_distribution(site, "toy_one", "thing = 1", ["a = toy_one:thing"], group=GROUP)
    used = Used(fail=True)
    with pytest.warns(PluginWarning, match="cannot be used: TypeError: not this one"):
        used.plugins.load()


def test_a_warning_that_is_made_an_error_leaves_the_others_for_the_next_time(site: Path) -> None:
    write_distribution(site, "toy_a", "", ["a = toy_a:thing"], group=GROUP)
    write_distribution(site, "toy_b", "thing = 2", ["b = toy_b:thing"], group=GROUP)
    used = Used()
    with pytest.raises(PluginWarning, match="toy_a"):
        used.plugins.load()
    used.plugins.load()
    assert used.names == ["b 2"]


def test_a_plug_in_that_asks_while_it_is_imported_finds_what_is_there(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "import toy_hook\ntoy_hook.load()\nthing = 1"
    write_distribution(site, "toy_one", source, ["a = toy_one:thing"], group=GROUP)
    used = Used()
    monkeypatch.setitem(sys.modules, "toy_hook", used.plugins)
    used.plugins.load()
    assert used.names == ["a 1"]


def test_two_threads_use_a_plug_in_once(site: Path) -> None:
    write_distribution(site, "toy_one", "thing = 1", ["a = toy_one:thing"], group=GROUP)
    used, barrier = Used(), threading.Barrier(2)

    def load() -> None:
        barrier.wait()
        used.plugins.load()

    threads = [threading.Thread(target=load) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert used.names == ["a 1"]


# -- operations ------------------------------------------------------------------------------------

OPS = """
from actorsession.extend import OpDef, register_op

register_op(OpDef(name="ToyOp", infer=lambda ctx: [], kernel=lambda ctx: lambda: None))
"""


def test_a_type_of_another_distribution_is_found_when_it_is_looked_up(site: Path, registrations: None) -> None:
    write_distribution(site, "toy_ops", OPS, ["toys = toy_ops"], group=registry.ENTRY_POINTS)
    assert "Add" in registered_ops()
    assert "_Toy" not in registered_ops()
    assert "toy_ops" not in sys.modules
    assert lookup("ToyOp").name == "ToyOp"


def test_a_module_with_a_name_that_is_taken_is_a_warning(site: Path, registrations: None) -> None:
    mine = register(OpDef(name="ToyOp", infer=lambda ctx: [], kernel=lambda ctx: print))
    lines = ["toys = toy_ops", "wrong = json:loads"]
    write_distribution(site, "toy_ops", OPS, lines, group=registry.ENTRY_POINTS)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert "AnotherToy" not in registered_ops()
        with pytest.raises(ValueError, match="did you mean ToyOp"):
            lookup("ToyOps")
    texts = [str(warning.message).partition("used: ")[2] for warning in told]
    assert texts[0] == "KeyError: op 'ToyOp' is registered already"
    assert texts[1].startswith("TypeError: an entry point of actorsession.op_modules is a module")
    assert len(texts) == 2
    assert lookup("ToyOp") is mine


# -- transports ------------------------------------------------------------------------------------


@pytest.fixture
def transports() -> Iterator[None]:
    """Removes the transports that a test registers."""
    before = {*transport_schemes()}
    yield
    for scheme in {*transport_schemes()} - before:
        unregister_transport(scheme)


def test_the_transport_of_an_entry_point_is_loaded_for_its_scheme_alone(site: Path, transports: None) -> None:
    source = "from actorsession.extend import InprocTransport as Toy"
    lines = ["toy = toy_transport:Toy", "other = toy_other:Gone"]
    write_distribution(site, "toy_transport", source, lines, group=schemes.ENTRY_POINTS)
    assert supports("tcp")
    assert "toy_transport" not in sys.modules
    assert supports("toy")
    assert not supports("another")


@pytest.mark.parametrize(
    ("scheme", "value", "reason"),
    [
        ("toy", "json:JSONDecoder", r"TypeError: it makes a JSONDecoder, which has no connect\(\)"),
        ("Toy", "toy_transport:Toy", "ValueError: 'Toy' is not an address scheme"),
    ],
    ids=["no transport", "no scheme"],
)
def test_one_that_is_none_is_a_warning(site: Path, transports: None, scheme: str, value: str, reason: str) -> None:
    source = "from actorsession.extend import InprocTransport as Toy"
    entry = f"{scheme} = {value}"
    write_distribution(site, "toy_transport", source, [entry], group=schemes.ENTRY_POINTS)
    with pytest.warns(PluginWarning, match=reason):
        assert not supports(scheme)
