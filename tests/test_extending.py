"""Extensions from outside the tree: the recipes of docs/extending.md, installed as its reader would."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from actorsession import LocalCluster, extend
from tests.cli.kit import called, line_of
from tests.cluster.kit import PATIENCE
from tests.cluster.script import ROOT, command, environment

PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^<!-- (.+?) -->\n```(?:python|toml)\n(.*?)^```", PAGE, re.M | re.S)
RECIPES = {name: text for name, text in BLOCKS if name.endswith(".py") and " " not in name}
PROJECTS = [tomllib.loads(text)["project"] for name, text in BLOCKS if name.startswith("pyproject")]


def programs(what: str) -> list[str]:
    """The programs of the page of one kind."""
    return [text for name, text in BLOCKS if name == what]


class Site(NamedTuple):
    """A folder for distributions, and the environment of processes that search it."""

    folder: Path
    environment: dict[str, str]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The recipes of the page, each as an installer leaves it, and one that is broken in each group."""
    folder = tmp_path_factory.mktemp("site")
    for name, text in RECIPES.items():
        (folder / name).write_text(text, encoding="utf-8")
    groups = {group for project in PROJECTS for group in project["entry-points"]}
    broken = {
        "actorsession.op_modules": "gone = nowhere",
        "actorsession.graph_passes": "twice = squares:SQUARES",
        "actorsession.device_factories": "GONE = nowhere:Gone",
        "actorsession.transports": "named = json:JSONDecoder",
    }
    assert groups == set(broken)
    for project in PROJECTS:
        install(folder, project["name"], project["version"], project["entry-points"])
    entries = {group: dict([line.split(" = ")]) for group, line in broken.items()}
    install(folder, "zz-broken", "0.3", entries)
    path = os.pathsep.join([str(folder), str(ROOT)])
    with tempfile.TemporaryDirectory() as sockets:  # its name is short enough for sockets
        yield Site(folder, environment(PYTHONPATH=path, NAMED_SOCKETS=sockets))


def install(folder: Path, name: str, version: str, groups: dict[str, dict[str, str]]) -> None:
    """Writes what an installer writes about a distribution."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (info / "METADATA").write_text(about, encoding="utf-8")
    lines = [
        line
        for group, entries in groups.items()
        for line in [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items())]
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def ran(words: list[str], site_environment: dict[str, str], folder: Path) -> tuple[int, str]:
    """Exit status and errors of a program."""
    done = subprocess.run(
        [sys.executable, *words],
        env=site_environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * PATIENCE,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, done.stderr


# -- what is public --------------------------------------------------------------------------------


def test_the_page_lists_the_public_names() -> None:
    table = PAGE.partition("| for | names |")[2].partition("\n\n")[0]
    named = re.findall(r"`(\w+)`", table)
    assert sorted(named) == sorted(extend.__all__)


@pytest.mark.parametrize("name", extend.__all__)
def test_a_public_name_leads_somewhere_and_has_a_docstring(name: str) -> None:
    found = getattr(extend, name)
    if inspect.isclass(found) or inspect.isfunction(found):
        assert found.__doc__, name


def test_what_the_names_are_is_typed() -> None:
    """The stub is what type checkers read of a lazy module; ``scripts.generated`` keeps it current."""
    package = Path(str(extend.__file__)).parent
    assert (package / "py.typed").exists()
    stub = ast.parse((package / "extend.pyi").read_text(encoding="utf-8"))
    imported = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert imported == set(extend.__all__)


def test_the_type_checker_reads_an_extension_that_imports_public_names_alone() -> None:
    text = (ROOT / "tests" / "typed_extension.py").read_text(encoding="utf-8")
    assert {name for name in imports_of(text) if name.startswith(("actorsession", "transports"))} == {
        "actorsession.extend"
    }


def imports_of(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_imports_what_is_public_and_nothing_else_of_ours(name: str) -> None:
    allowed = {*sys.stdlib_module_names, "numpy", "actorsession", "actorsession.extend"}
    assert set(imports_of(RECIPES[name])) <= allowed


def test_there_are_four_recipes_and_the_operation_has_eight_lines() -> None:
    assert len(RECIPES) == len(PROJECTS) == 4
    lines = [line for line in RECIPES["softcap.py"].splitlines() if line.strip()]
    assert len(lines) == 8


# -- from outside the tree -------------------------------------------------------------------------

# A graph that comes as data, as at a server: the operation is known by its name alone.
BY_NAME = """
import sys
import warnings

import actorsession as acts

assert not {"actorsession.extend", "importlib.metadata", "softcap"} & set(sys.modules)
x = acts.placeholder(acts.float32, [2])
y = acts.get_default_graph().create_op("Softcap", [x], {"cap": 2.0}, "y").outputs[0]
(slope,) = acts.gradients(y, [x])
with acts.Session(sys.argv[1]) as session:
    capped, slopes = session.run([y, slope], {x: [0.0, 1000.0]})
assert (capped.tolist(), slopes.tolist()) == ([0.0, 2.0], [1.0, 0.0])
try:
    acts.get_default_graph().create_op("Softcup", [x], {})
except ValueError as error:
    assert "did you mean Softcap" in str(error), error
else:
    raise AssertionError
acts.reset_default_graph()
"""


@pytest.mark.process
def test_a_program_uses_what_is_installed_and_sees_what_is_broken(site: Site) -> None:
    """The operation with its gradient, the pass and the device, and two plug-ins that cannot be used."""
    parts = [BY_NAME, *programs("program")]
    assert len(parts) == 3
    program = "\nacts.reset_default_graph()\n".join(parts)
    status, err = ran(["-c", program, ""], site.environment, site.folder)
    assert status == 0, err
    told = re.findall(r"PluginWarning: (.*)", err)
    assert sorted(told) == [
        "plug-in gone = nowhere of zz-broken 0.3 (group actorsession.op_modules) cannot be used: "
        "ModuleNotFoundError: No module named 'nowhere'",
        "plug-in twice = squares:SQUARES of zz-broken 0.3 (group actorsession.graph_passes) cannot be "
        "used: KeyError: a graph pass named 'squares' is already registered",
    ]


@pytest.mark.process
def test_a_transport_carries_a_session_to_a_worker_that_knows_the_operation(site: Site) -> None:
    cluster = json.dumps({"worker": ["named://worker-0"]})
    with subprocess.Popen(
        command("worker", "--cluster", cluster, "--json"),
        env=site.environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as worker:
        try:
            line = line_of(worker)
            assert line, worker.communicate(timeout=PATIENCE)
            assert json.loads(line)["address"] == "named://worker-0"
            (program,) = programs("program with a worker")
            words = ["-c", BY_NAME + program, "named://worker-0"]
            status, err = ran(words, site.environment, site.folder)
            assert status == 0, err
            assert "plug-in named = json:JSONDecoder of zz-broken 0.3" in err
            worker.terminate()
            _, said = worker.communicate(timeout=PATIENCE)
        finally:
            worker.kill()
    assert worker.returncode == 0
    told = [entry.partition(" cannot")[0] for entry in re.findall(r"PluginWarning: (.*)", said)]
    assert "plug-in gone = nowhere of zz-broken 0.3 (group actorsession.op_modules)" in told
    assert len(told) == len(set(told))


@pytest.mark.process
def test_the_processes_of_a_cluster_import_what_they_are_told_to(tmp_path: Path) -> None:
    """The file is beside the program, where its processes do not search by themselves."""
    (program,) = programs("program beside softcap.py")
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "softcap.py").write_text(RECIPES["softcap.py"], encoding="utf-8")
    (scripts / "program.py").write_text(program, encoding="utf-8")
    assert ran([str(scripts / "program.py")], environment(), tmp_path) == (0, "")


@pytest.mark.parametrize("imports", ["json", [3]], ids=["a string", "a number"])
def test_what_processes_import_is_given_as_names(imports: Any) -> None:
    with pytest.raises(TypeError, match="imports is a sequence of names of modules"):
        LocalCluster({"worker": 1}, imports=imports)


CLUSTER = json.dumps({"worker": ["127.0.0.1:0"]})


@pytest.mark.parametrize(
    "words",
    [["worker", "--cluster", CLUSTER], ["master", "--cluster", CLUSTER], ["cluster", "--jobs", "w=1"]],
    ids=["worker", "master", "cluster"],
)
def test_a_module_that_cannot_be_imported_is_a_wrong_call(words: list[str]) -> None:
    status, out, err = called(*words, "--import", "json", "--import", "no_such_module")
    assert (status, out) == (2, "")
    assert err == (
        f"actorsession {words[0]}: --import: cannot import 'no_such_module': ModuleNotFoundError: "
        "No module named 'no_such_module'\n"
    )
