"""Device factories: which devices there are, in which order, and plug-ins that are broken."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actorsession import ConfigProto
from actorsession.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError
from actorsession.extend import (
    DeviceFactory,
    new_incarnation,
    prefer_device_type,
    register_device_factory,
    registered_device_types,
)
from actorsession.runtime.devices import CPU_PRIORITY, device_set, has_device_type, make_devices
from tests.default_device import LOCAL, LOCAL_TASK, of_the_cpu_alone
from tests.rows import for_each
from tests.runtime.toy import PLUGIN, Toys, write_distribution
from transports.host import Entropy, Host, on_host

TASK = "/job:worker/replica:0/task:3"


pytestmark = [
    pytest.mark.usefixtures("registrations"),
    of_the_cpu_alone("each test registers the types that are beside the CPU"),
]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: Any) -> Iterator[Path]:
    """A folder for distributions on ``sys.path``."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("toy_"):
            del sys.modules[name]


def names(**counts: int) -> list[str]:
    """The devices of a session with such a device_count."""
    return [d.name.removeprefix(LOCAL) for d in make_devices(LOCAL_TASK, counts)]


# -- what there is -------------------------------------------------------------------------------
def test_without_counts_there_is_one_cpu() -> None:
    [cpu] = make_devices(TASK, {})
    assert (cpu.name, cpu.device_type) == (f"{TASK}/device:CPU:0", "CPU")
    assert cpu.attributes.memory_limit == cpu.attributes.memory_limit_bytes > 0


@pytest.mark.parametrize("kind", ["CPU", "cpu"])
def test_as_many_cpus_are_made_as_are_asked_for(kind: str) -> None:
    assert names(**{kind: 3}) == ["CPU:0", "CPU:1", "CPU:2"]


@pytest.mark.parametrize("count", [0, -1])
def test_a_session_without_a_cpu_is_not_found(count: int) -> None:
    with pytest.raises(NotFoundError, match=f"at least one CPU device: .* CPU {count}"):
        make_devices(LOCAL_TASK, {"CPU": count})


def test_every_device_has_an_incarnation_and_state_of_its_own() -> None:
    made = [*make_devices(LOCAL_TASK, {"CPU": 2}), *make_devices(LOCAL_TASK, {"CPU": 2})]
    incarnations = {d.attributes.incarnation for d in made}
    assert len(incarnations) == 4
    assert all(0 < i < 2**64 for i in incarnations)
    assert len({id(d.resources) for d in made}) == 4


def test_an_unknown_type_lists_what_there_is() -> None:
    with pytest.raises(NotFoundError, match=r"no device type 'TOY' here; there are: CPU, GPU, TORCH_CPU\."):
        make_devices(LOCAL_TASK, {"TOY": 1})


def test_none_of_an_unknown_type_may_be_asked_for() -> None:
    """Programs that must not touch a GPU say so, wherever they run."""
    assert names(GPU=0) == ["CPU:0"]


def test_a_negative_number_of_another_type_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="GPU -1"):
        make_devices(LOCAL_TASK, {"GPU": -1})


# -- registering ---------------------------------------------------------------------------------
def test_a_registered_type_is_there_in_full_unless_counted() -> None:
    register_device_factory("TOY", Toys(physical=2))
    assert registered_device_types() == ("CPU", "TOY")
    assert names() == ["CPU:0", "TOY:0", "TOY:1"]
    assert names(TOY=1, CPU=2) == ["CPU:0", "CPU:1", "TOY:0"]
    assert names(toy=3) == ["CPU:0", "TOY:0", "TOY:1", "TOY:2"]
    assert names(TOY=0) == ["CPU:0"]


def test_types_come_after_the_cpus_by_name_whatever_their_priority() -> None:
    register_device_factory("TOY", Toys(physical=1), priority=CPU_PRIORITY + 1)
    register_device_factory("ABACUS", Toys(physical=1), priority=1)
    assert names() == ["CPU:0", "ABACUS:0", "TOY:0"]


def test_a_factory_gets_the_settings_of_who_asks() -> None:
    toys, config = Toys(physical=1), ConfigProto(device_count={"TOY": 1})
    register_device_factory("TOY", toys)
    make_devices(LOCAL_TASK, config.device_count, config)
    assert toys.configs == [config]


def test_a_type_registered_twice_is_refused_and_the_first_stays() -> None:
    register_device_factory("TOY", Toys(physical=1))
    for kind in ("TOY", "CPU"):
        with pytest.raises(KeyError, match=f"'{kind}' is registered already, by the program"):
            register_device_factory(kind, Toys(physical=5))
    assert names() == ["CPU:0", "TOY:0"]


@for_each("wrong", ["toy", "T OY", "1T", "", "TOY:0", "*"])
def test_a_type_is_a_name_in_capitals(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"capitals|malformed"):
        register_device_factory(wrong, Toys())
    assert registered_device_types() == ("CPU",)


@pytest.mark.parametrize("wrong", [Toys, object(), lambda *args: []], ids=["class", "object", "function"])
def test_only_instances_of_device_factory_can_be_registered(wrong: Any) -> None:
    with pytest.raises(TypeError, match="instance of DeviceFactory"):
        register_device_factory("TOY", wrong)


def test_a_factory_that_leaves_something_out_is_named() -> None:
    register_device_factory("TOY", DeviceFactory())
    with pytest.raises(
        FailedPreconditionError, match="factory of TOY devices from the program has failed: NotImplementedError"
    ):
        make_devices(LOCAL_TASK, {})
    assert names(TOY=0) == ["CPU:0"]


class Wrong(Toys):
    """Makes devices that are not those asked for."""

    def __init__(self, made: Any) -> None:
        super().__init__(physical=1)
        self.made = made

    def create_devices(self, device_type: str, task: str, count: int, config: ConfigProto) -> Any:
        return self.made(self, task)


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (lambda f, task: [], r"asked for \['.*TOY:0'\] and made \[\]"),
        (lambda f, task: [f.device(f"{task}/device:TOY:1", "TOY")], "and made .*TOY:1"),
        (lambda f, task: [f.device(f"{task}/device:TOY:0", "CPU")], r"say that they are \['CPU'\]"),
        (lambda f, task: [f.device(f"{task}/device:TOY:0", "TOY", 0)], "incarnation"),
        (lambda f, task: [f.device(f"{task}/device:TOY:0", "TOY", 2**64)], "incarnation"),
    ],
    ids=["too few", "name", "type", "zero", "too large"],
)
def test_a_factory_that_makes_other_devices_than_asked_is_named(made: Any, problem: str) -> None:
    register_device_factory("TOY", Wrong(made))
    with pytest.raises(FailedPreconditionError, match=f"TOY devices from the program.*{problem}"):
        make_devices(LOCAL_TASK, {})


def test_a_factory_that_fails_is_named_and_its_own_error_is_the_cause(site: Path) -> None:
    source = PLUGIN.replace("assert isinstance(config, ConfigProto)", "raise OSError('no driver')")
    write_distribution(site, "toy_plugin", source, ["TOY = toy_plugin:Toys"])
    with pytest.raises(
        FailedPreconditionError,
        match=r"from plug-in TOY = toy_plugin:Toys of toy_plugin 1\.0 has failed: OSError: no driver",
    ) as caught:
        make_devices(LOCAL_TASK, {"TOY": 1})
    assert isinstance(caught.value.__cause__, OSError)


def test_an_error_of_ours_that_a_factory_raises_is_told_as_it_is() -> None:
    def refuse(factory: Toys, task: str) -> Any:
        raise NotFoundError("no toys left")

    register_device_factory("TOY", Wrong(refuse))
    with pytest.raises(NotFoundError, match=r"^no toys left$"):
        make_devices(LOCAL_TASK, {})


def test_devices_may_be_made_one_by_one() -> None:
    def one_by_one(factory: Toys, task: str) -> Any:
        yield factory.device(f"{task}/device:TOY:0", "TOY")

    register_device_factory("TOY", Wrong(one_by_one))
    assert names() == ["CPU:0", "TOY:0"]


@for_each(
    "source, there_is",
    [
        (PLUGIN, True),
        (PLUGIN + "    def list_physical_devices(self):\n        return []\n", False),
        ("raise ImportError('no driver')", True),  # who asks for a device hears of it
    ],
)
def test_a_type_of_an_entry_point_is_one_that_finds_a_device(site: Path, source: str, there_is: bool) -> None:
    name = f"toy_{abs(hash(source))}"
    write_distribution(site / name, name, source, ["TOY = " + name + ":Toys"])
    sys.path.insert(0, str(site / name))
    try:
        assert has_device_type("toy") is there_is
        assert "TOY" not in registered_device_types()
    finally:
        sys.path.remove(str(site / name))
    assert not has_device_type("TOY")


def test_a_type_without_a_device_cannot_be_preferred() -> None:
    register_device_factory("TOY", Toys(physical=0))
    with pytest.raises(FailedPreconditionError, match="there is no TOY here"):
        prefer_device_type("TOY")


# -- plug-ins ------------------------------------------------------------------------------------
def test_a_type_of_an_entry_point_is_loaded_when_it_is_asked_for(site: Path) -> None:
    write_distribution(site, "toy_plugin", PLUGIN, ["TOY = toy_plugin:Toys"])
    assert names() == ["CPU:0"]
    assert "toy_plugin" not in sys.modules
    assert names(TOY=2) == ["CPU:0", "TOY:0", "TOY:1"]
    assert registered_device_types() == ("CPU", "TOY")
    # What others have does not depend on whether somebody asked before.
    assert names() == ["CPU:0"]
    assert names(toy=1) == ["CPU:0", "TOY:0"]
    with pytest.raises(KeyError, match=r"by plug-in TOY = toy_plugin:Toys of toy_plugin 1\.0"):
        register_device_factory("TOY", Toys())


def test_an_unknown_type_lists_those_that_plug_ins_have(site: Path) -> None:
    write_distribution(site, "toy_plugin", PLUGIN, ["TOY = toy_plugin:Toys"])
    with pytest.raises(NotFoundError, match=r"no device type 'TRAIN' here; there are: CPU, GPU, TORCH_CPU, TOY\."):
        make_devices(LOCAL_TASK, {"TRAIN": 1})
    assert "toy_plugin" not in sys.modules


@pytest.mark.parametrize(
    ("source", "entry", "problem"),
    [
        ("raise OSError('no driver')", "toy_broken:Toys", "OSError: no driver"),
        ("import no_such_module", "toy_broken:Toys", "ModuleNotFoundError: .*no_such_module"),
        ("", "toy_broken:Toys", "AttributeError: .*Toys"),
        ("Toys = dict", "toy_broken:Toys", "TypeError: it makes a dict, which is no DeviceFactory"),
        ("class Toys:\n    def __init__(self): raise KeyError('x')", "toy_broken:Toys", "KeyError: 'x'"),
        ("Toys = 3", "toy_broken:Toys", "TypeError: 'int' object is not callable"),
    ],
    ids=["import", "dependency", "name", "type", "init", "not callable"],
)
def test_a_broken_plug_in_is_named_and_registers_nothing(site: Path, source: str, entry: str, problem: str) -> None:
    write_distribution(site, "toy_broken", source, [f"TOY = {entry}"], version="2.5")
    for _ in range(2):
        with pytest.raises(
            FailedPreconditionError,
            match=rf"'TOY' cannot be had: plug-in TOY = {entry} of toy_broken 2\.5 is broken: {problem}",
        ):
            make_devices(LOCAL_TASK, {"TOY": 1})
        assert names() == ["CPU:0"]
    assert registered_device_types() == ("CPU",)


def test_a_type_that_two_plug_ins_have_is_refused_with_both(site: Path) -> None:
    write_distribution(site, "toy_one", PLUGIN, ["TOY = toy_one:Toys"])
    write_distribution(site, "toy_two", PLUGIN, ["TOY = toy_two:Toys"])
    with pytest.raises(FailedPreconditionError, match=r"of toy_one 1\.0; .*of toy_two 1\.0"):
        make_devices(LOCAL_TASK, {"TOY": 1})
    assert registered_device_types() == ("CPU",)


def test_importing_looks_for_no_plug_in(site: Path) -> None:
    write_distribution(site, "toy_broken", "raise OSError('no driver')", ["TOY = toy_broken:Toys"])
    assert [d.device_type for d in make_devices(LOCAL_TASK, {"CPU": 2})] == ["CPU", "CPU"]


# -- what the placer is told ---------------------------------------------------------------------
def test_devices_that_run_everything_need_no_look_at_operations() -> None:
    found = device_set(make_devices(LOCAL_TASK, {"CPU": 2}))
    assert found.supports is None
    assert found.preferred == ()
    assert found.client_device == f"{LOCAL_TASK}/device:CPU:0"


@pytest.mark.parametrize(("priority", "preferred"), [(None, 0), (CPU_PRIORITY, 0), (CPU_PRIORITY + 1, 2)])
def test_types_above_the_cpu_are_preferred_and_the_client_device_is_a_cpu(priority: int | None, preferred: int) -> None:
    register_device_factory("TOY", Toys(physical=2), priority=priority)
    found = device_set(make_devices(LOCAL_TASK, {}))
    assert found.preferred == tuple(f"{LOCAL_TASK}/device:TOY:{i}" for i in range(preferred))
    assert found.client_device == f"{LOCAL_TASK}/device:CPU:0"


def test_the_highest_priority_comes_first() -> None:
    register_device_factory("ABACUS", Toys(physical=1), priority=CPU_PRIORITY + 1)
    register_device_factory("TOY", Toys(physical=1), priority=CPU_PRIORITY + 2)
    found = device_set(make_devices(LOCAL_TASK, {}))
    assert [name.rpartition("/")[2] for name in found.preferred] == ["device:TOY:0", "device:ABACUS:0"]


def test_a_type_says_which_operations_it_runs() -> None:
    register_device_factory("TOY", Toys(physical=1, without=["MatMul"]))
    supports = device_set(make_devices(LOCAL_TASK, {})).supports
    assert supports is not None
    toy, cpu = f"{LOCAL_TASK}/device:TOY:0", f"{LOCAL_TASK}/device:CPU:0"
    found = [supports(toy, "MatMul"), supports(toy, "Add"), supports(cpu, "MatMul")]
    assert found == [False, True, True]


def test_a_factory_that_cannot_say_what_its_devices_run_is_named() -> None:
    class Broken(Toys):
        def supports(self, op_type: str) -> bool:
            raise OSError("no driver")

    register_device_factory("TOY", Broken(physical=1))
    supports = device_set(make_devices(LOCAL_TASK, {})).supports
    assert supports is not None
    with pytest.raises(
        FailedPreconditionError, match=r"TOY:0, from the program, cannot say whether it runs MatMul: OSError: no driver"
    ):
        supports(f"{LOCAL_TASK}/device:TOY:0", "MatMul")
    assert supports(f"{LOCAL_TASK}/device:CPU:0", "MatMul")


class Zeros(Entropy):
    """Draws no bit that is set."""

    def randbits(self, k: int) -> int:
        return 0


def test_incarnations_are_never_zero() -> None:
    with on_host(Host(entropy=Zeros())):
        assert new_incarnation() == 1
