"""The shape of the code: which way imports point, and what is banned.

The import contracts stand in ``pyproject.toml``; what import-linter cannot see is read here from
the syntax trees of the source files.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("actorsession", "transports")

# The places that own children. Everywhere else asyncio.TaskGroup starts them.
MAY_START_CHILDREN = {
    "actorsession/actors/supervision.py",
    "actorsession/testing/simulation/loop.py",
    "transports/stream/connection.py",
    "transports/stream/bulk.py",
    "transports/listener.py",
    "transports/stream/listener.py",
}
STARTS_CHILDREN = {"create_task", "ensure_future"}

# They load source that they, or the plan compiler, generated; nothing that was received.
MAY_EXEC = {"actorsession/plan/codegen/bind.py", "actorsession/messages/registry.py", "actorsession/records.py"}
RUNS_TEXT = {"eval", "exec", "__import__"}

# What a process gets from its machine, which ``transports.host`` hands out, so that a simulation can.
OF_THE_HOST = (
    "actorsession/actors",
    "actorsession/rpc",
    "actorsession/cluster",
    "actorsession/session",
    "actorsession/runtime",
    "transports",
)
MACHINE_MODULES = {"time", "random", "secrets", "uuid", "socket", "subprocess", "ThreadPoolExecutor"}
MACHINE_CALLS = {
    "open",
    "os.open",
    "os.urandom",
    "os.getpid",
    "os.getppid",
    "os.fork",
    "threading.Thread",
    "threading.Timer",
    "loop.time",
    "asyncio.open_connection",
    "asyncio.open_unix_connection",
    "asyncio.start_server",
    "asyncio.start_unix_server",
    "asyncio.create_subprocess_exec",
    "asyncio.create_subprocess_shell",
}
# Who asks the machine itself, what for, and why; the list only gets shorter.
MAY_ASK_THE_MACHINE = {
    "actorsession/cluster/launch/child.py": (
        "open os.getpid os.getppid threading.Thread threading.Timer",
        "a program of its own",
    ),
    "actorsession/cluster/launch/dashboard_process.py": ("subprocess", "waits for the line of a real process"),
    "actorsession/cluster/launch/process_guard.py": ("os.fork os.getpid os.getppid time", "a program of its own"),
    "actorsession/cluster/launch/stderr_reader.py": ("threading.Thread", "reads the pipe of a real process"),
    "actorsession/cluster/server/http_port.py": ("socket", "serves Prometheus and probes, of this machine alone"),
    "actorsession/cluster/server/metrics_port.py": ("socket", "serves Prometheus, of this machine alone"),
    "actorsession/cluster/server/probes.py": ("socket", "serves Kubernetes, of this machine alone"),
    "actorsession/cluster/server/settings.py": ("socket", "the type of an argument"),
    "actorsession/cluster/server/sidecar.py": ("socket", "answers where its processes are visible"),
    "actorsession/rpc/liveness/heartbeat_memory.py": ("open", "reads /proc where its processes are visible"),
    "actorsession/rpc/liveness/peer_monitor.py": ("os.open", "reads /proc where its processes are visible"),
    "actorsession/rpc/liveness/sidecar.py": ("open os.getppid socket", "a program of the standard library alone"),
    "transports/forks.py": ("socket", "parts real sockets from those of a parent process"),
    "transports/guard.py": ("socket", "the type of an argument"),
    "transports/inproc.py": ("socket", "the type of an argument"),
    "transports/registry.py": ("socket", "the type of an argument"),
    "transports/security.py": ("open", "the ssl module reads these files of this machine by itself"),
    "transports/shm/arena.py": ("open os.getpid os.open secrets", "memory that real processes share"),
    "transports/stream/abstract.py": ("socket", "real sockets"),
    "transports/stream/listener.py": ("socket", "real sockets"),
    "transports/stream/peer_user.py": ("socket", "asks the kernel for the user of a real socket"),
    "transports/stream/sockets.py": ("socket", "real sockets"),
    "transports/stream/thread_writer.py": ("socket", "writes to a real socket"),
    "transports/stream/tls_transport.py": ("socket", "real sockets"),
    "transports/stream/transport.py": ("socket", "real sockets"),
}

UNPICKLERS = {"pickle", "_pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}


def sources(*under: str) -> list[str]:
    """The Python files of the packages, or of some folders, relative to the repository."""
    found = [path for folder in under or PACKAGES for path in (ROOT / folder).rglob("*.py")]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


@cache
def text(source: str) -> str:
    """What stands in a source file."""
    return (ROOT / source).read_text(encoding="utf-8")


@cache
def tree(source: str) -> ast.Module:
    """The syntax tree of a source file."""
    return ast.parse(text(source), filename=source)


def mentioning(*words: str) -> list[str]:
    """The source files that may use one of some names; the trees of the others need not be looked at.

    The parser folds letters from elsewhere into those of ASCII, so that a name may be written otherwise
    in a file that has any.
    """
    return [source for source in sources() if not text(source).isascii() or any(word in text(source) for word in words)]


@pytest.fixture(scope="module", autouse=True)
def forgets_the_trees() -> Iterator[None]:
    """They are many objects, which every later garbage collection would walk."""
    yield
    tree.cache_clear()
    text.cache_clear()


def imported_modules(source: str) -> Iterator[tuple[int, str]]:
    """Every module that a file names in an import, with the line."""
    for node in ast.walk(tree(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def terminal_name(node: ast.AST | None) -> str | None:
    """``c`` for ``a.b.c`` and for ``c``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def names_of_task_groups(source: str) -> set[str]:
    """Names that stand for an ``asyncio.TaskGroup`` somewhere in a file."""
    names: set[str | None] = set()
    for node in ast.walk(tree(source)):
        match node:
            case ast.withitem(context_expr=made, optional_vars=target) if is_task_group(made):
                names.add(terminal_name(target))
            case ast.Assign(targets=[target], value=made) if is_task_group(made):
                names.add(terminal_name(target))
            case ast.AnnAssign(target=target, annotation=kind) if names_task_group(kind):
                names.add(terminal_name(target))
            case ast.arg(arg=name, annotation=ast.AST() as kind) if names_task_group(kind):
                names.add(name)
            case _:
                pass
    return {name for name in names if name}


def names_task_group(annotation: ast.AST) -> bool:
    """Whether an annotation speaks of a task group, perhaps in quotes or as optional."""
    return "TaskGroup" in ast.unparse(annotation)


def is_task_group(node: ast.AST) -> bool:
    """Whether an expression makes a task group, perhaps inside ``enter_async_context``."""
    return any(isinstance(part, ast.Call) and terminal_name(part.func) == "TaskGroup" for part in ast.walk(node))


def bare_starts(source: str) -> Iterator[str]:
    """Every place where a file starts a child, or names what would, outside a task group."""
    groups = names_of_task_groups(source)
    for node in ast.walk(tree(source)):
        match node:
            case ast.Attribute(value=owner, attr=name) if name in STARTS_CHILDREN:
                if terminal_name(owner) not in groups:
                    yield f"{source}:{node.lineno}: {ast.unparse(node)}"
            case ast.ImportFrom(module="asyncio", names=aliases):
                for alias in aliases:
                    if alias.name in STARTS_CHILDREN:
                        yield f"{source}:{node.lineno}: from asyncio import {alias.name}"
            case _:
                pass


def asked_of_the_machine(source: str) -> Iterator[str]:
    """What a file takes from the machine itself and not from its host: modules that it imports, and calls."""
    for node in ast.walk(tree(source)):
        match node:
            case ast.Import(names=aliases):
                yield from (alias.name for alias in aliases if alias.name in MACHINE_MODULES)
            case ast.ImportFrom(module=str(module), level=0, names=aliases):
                yield from MACHINE_MODULES.intersection([module, *(alias.name for alias in aliases)])
                yield from MACHINE_CALLS.intersection(f"{module}.{alias.name}" for alias in aliases)
            case ast.Attribute(attr="time", value=owner) if (terminal_name(owner) or ast.unparse(owner)).endswith(
                ("loop", "loop()")
            ):
                yield "loop.time"
            case ast.Attribute() | ast.Name() if (name := ast.unparse(node)) in MACHINE_CALLS:
                yield name
            case _:
                pass


def pyproject() -> dict[str, Any]:
    """The project file."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def ruff_exempts(rule: str) -> set[str]:
    """The source files that ruff's configuration exempts from a rule."""
    ignores = pyproject()["tool"]["ruff"]["lint"]["per-file-ignores"]
    return {path for path, rules in ignores.items() if rule in rules and path.startswith(PACKAGES)}


def test_every_folder_of_modules_is_a_package_that_the_import_rules_can_see() -> None:
    folders = {Path(source).parent for source in sources()}
    assert [str(f) for f in sorted(folders) if not (ROOT / f / "__init__.py").is_file()] == []


@pytest.mark.process  # scripts/check runs lint-imports by itself
def test_imports_keep_the_contracts_of_pyproject() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run(
        [command, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=50, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_room_stands_in_the_table_of_layers() -> None:
    rooms = {
        f"actorsession.{path.stem}"
        for path in (ROOT / "actorsession").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    contracts = pyproject()["tool"]["importlinter"]["contracts"]
    (layers,) = (c["layers"] for c in contracts if c["type"] == "layers")
    table = {room.strip("() ") for layer in layers for room in layer.split(":")}
    assert sorted(rooms - table - {"actorsession.__init__"}) == []


def test_nothing_imports_what_unpickles() -> None:
    found = [
        f"{source}:{line}: {module}"
        for source in mentioning(*UNPICKLERS)
        for line, module in imported_modules(source)
        if module.split(".")[0] in UNPICKLERS
    ]
    assert found == []


def test_no_array_is_loaded_with_its_pickles() -> None:
    """``numpy.load`` says ``allow_pickle=False``, and nothing says ``allow_pickle=True``."""
    found = []
    for source in mentioning("allow_pickle", "load"):
        for node in ast.walk(tree(source)):
            if not isinstance(node, ast.Call):
                continue
            allowed = [k.value for k in node.keywords if k.arg == "allow_pickle"]
            loads = ast.unparse(node.func) in {"np.load", "numpy.load"}
            if any(ast.unparse(value) != "False" for value in allowed) or (loads and not allowed):
                found.append(f"{source}:{node.lineno}: {ast.unparse(node)}")
    assert found == []


def test_text_is_executed_only_where_generated_plans_are_loaded() -> None:
    found = {
        f"{source}:{node.lineno}: {node.id}"
        for source in mentioning(*RUNS_TEXT)
        if source not in MAY_EXEC
        for node in ast.walk(tree(source))
        if isinstance(node, ast.Name) and node.id in RUNS_TEXT
    }
    assert found == set()


def test_children_are_started_only_by_their_owners() -> None:
    found = [
        place
        for source in mentioning(*STARTS_CHILDREN)
        if source not in MAY_START_CHILDREN
        for place in bare_starts(source)
    ]
    assert found == []


def test_lint_exempts_the_same_files_as_these_lists() -> None:
    assert ruff_exempts("TID251") == MAY_START_CHILDREN
    assert ruff_exempts("S102") == MAY_EXEC


def test_the_rooms_of_a_cluster_ask_their_host_and_not_the_machine() -> None:
    found = {source: set(asked_of_the_machine(source)) for source in sources(*OF_THE_HOST)}
    asked = {f"{source}: {what}" for source, names in found.items() for what in names if "/host/" not in source}
    allowed = {f"{source}: {what}" for source, (names, _) in MAY_ASK_THE_MACHINE.items() for what in names.split()}
    assert sorted(asked - allowed) == []
    assert sorted(allowed - asked) == [], "the list gets shorter"


@pytest.mark.parametrize(
    ("code", "asked"),
    [
        ("import time, os", {"time"}),
        ("from time import monotonic as now", {"time"}),
        ("from os import urandom", {"os.urandom"}),
        ("from concurrent.futures import ThreadPoolExecutor", {"ThreadPoolExecutor"}),
        ("os.getpid()", {"os.getpid"}),
        ("now = self._loop.time", {"loop.time"}),
        ("asyncio.get_running_loop().time()", {"loop.time"}),
        ("with open(path) as file: ...", {"open"}),
        ("threading.Thread(target=f).start()", {"threading.Thread"}),
        ("await asyncio.create_subprocess_exec('x')", {"asyncio.create_subprocess_exec"}),
        ("current_host().clock.time(); self.open(x); threading.Lock(); loop.call_later(1, f)", set()),
    ],
)
def test_the_rule_on_hosts_sees_what_is_asked_of_the_machine(
    code: str, asked: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "tree", lambda _source: ast.parse(f"async def example():\n  {code}"))
    assert set(asked_of_the_machine("example.py")) == asked


@pytest.mark.parametrize(
    ("code", "places"),
    [
        ("asyncio.create_task(f())", 1),
        ("asyncio.get_running_loop().create_task(f())", 1),
        ("self.loop.create_task(f())", 1),
        ("from asyncio import ensure_future as go", 1),
        ("spawn = asyncio.create_task", 1),
        ("async with asyncio.TaskGroup() as tg:\n  tg.create_task(f())", 0),
        ("def g(children: asyncio.TaskGroup) -> None:\n  children.create_task(f())", 0),
        ("self.tg = await stack.enter_async_context(TaskGroup())\nself.tg.create_task(f())", 0),
    ],
)
def test_the_rule_on_children_tells_a_task_group_from_a_bare_start(
    code: str, places: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "\n    ".join(code.splitlines())
    parsed = ast.parse(f"async def example() -> None:\n    {lines}")
    monkeypatch.setitem(globals(), "tree", lambda _source: parsed)
    assert len(list(bare_starts("example.py"))) == places
