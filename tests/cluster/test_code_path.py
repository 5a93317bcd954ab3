"""What a server can be made to run: graphs, and nothing else that was received.

A real server process lists the modules that it has loaded after serving a session; their syntax trees
are read here. An audit hook in that process reports what the interpreter did meanwhile.
"""

from __future__ import annotations

import ast
import json
import linecache
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, NodeDef, Session, ops
from actorsession.errors import OpError
from actorsession.extend import RunSignature
from actorsession.messages import VOCABULARY
from actorsession.plan.codegen.compile import compile_partition
from actorsession.plan.partition import partition
from actorsession.plan.prune import GraphView, prune
from tests.cluster.script import ROOT, environment, running
from tests.plan.kit import device_set
from tests.rows import for_each
from tests.test_architecture import MAY_EXEC, UNPICKLERS

SERVER = """
import asyncio, collections, json, sys

seen, recording = [], False

def audit(event, arguments):
    if recording and event in WATCHED and not is_of_a_named_tuple(sys._getframe(1)):
        seen.append([event, [describe(a) for a in arguments]])

def is_of_a_named_tuple(frame):
    # Its constructor is text that the standard library makes of the names of its fields.
    return frame.f_code is collections.namedtuple.__code__

def describe(value):
    name = getattr(value, "co_filename", None)
    if name == "<string>":  # all that it refers to
        name += " " + " ".join([*value.co_names, *(repr(c) for c in value.co_consts if c is not None)])
    return name or str(value)

WATCHED = {
    "exec", "pickle.find_class", "marshal.loads", "marshal.load", "import", "os.system", "os.exec",
    "os.posix_spawn", "os.fork", "subprocess.Popen", "ctypes.dlopen", "code.__new__",
    "function.__new__", "open",
}
sys.addaudithook(audit)

from actorsession.cluster import Server
import uvloop

async def main():
    global recording
    async with Server({"worker": ["127.0.0.1:0"]}, "worker") as server:
        print(server.target, flush=True)
        recording = True
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        recording = False
    modules = {
        name: getattr(module, "__file__", None) or "" for name, module in list(sys.modules.items())
    }
    print(json.dumps({"modules": modules, "seen": seen}), flush=True)

uvloop.run(main())
"""

# Names that nothing here may look up among modules, functions or code.
HOSTILE = "antigravity"


@pytest.fixture(scope="module")
def report() -> Iterator[dict[str, Any]]:
    """What a server process says of itself after it has served sessions that try this and that."""
    with running([sys.executable, "-c", SERVER]) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        target = process.stdout.readline().strip()
        assert target.startswith("tcp://"), process.stderr and process.stderr.read()
        _use(target)
        process.stdin.close()
        yield json.loads(process.stdout.readline())


def _use(target: str) -> None:
    """Runs steps of most kinds, some of which fail, with names that are names of modules."""
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [None], name=HOSTILE)
        v = ops.Variable(np.ones(3, np.float32), name="os.system")
        loop = ops.while_loop(lambda i: i < 3, lambda i: i + 1, [ops.constant(0)], name="this")
        words = ops.constant([b"import os", b"__import__('os')"], name="pickle")
        init = ops.global_variables_initializer()
        with Session(target, graph) as session:
            session.run(init)
            fed = {x: np.arange(3, dtype=np.float32)}
            assert session.run([v + x, loop, words], fed)[0].tolist() == [1.0, 2.0, 3.0]
            with pytest.raises(OpError):
                session.run(v + x, {x: np.arange(5, dtype=np.float32)})
            y = x * 2.0
            assert session.run(y, fed).tolist() == [0.0, 2.0, 4.0]


# -- what is loaded ------------------------------------------------------------------------------------
@pytest.mark.process
def test_a_server_loads_its_own_code_the_standard_library_and_four_packages(report: dict[str, Any]) -> None:
    roots = {name.partition(".")[0] for name, file in report["modules"].items() if file}
    foreign = {root for root in roots - sys.stdlib_module_names if not root.startswith(("_distutils", "__"))}
    assert foreign <= {"actorsession", "transports", "numpy", "msgpack", "ml_dtypes", "uvloop"} | (
        _of_the_environment()
    )


def _of_the_environment() -> set[str]:
    """What an interpreter of this environment loads before any code of ours."""
    asked = "import json, sys; print(json.dumps([n.partition('.')[0] for n in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", asked], env=environment(), capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def sources(report: dict[str, Any]) -> dict[str, str]:
    """Module to file, for all of our own modules that the server has loaded."""
    ours = {
        name: file
        for name, file in report["modules"].items()
        if name.partition(".")[0] in ("actorsession", "transports")
    }
    assert len(ours) > 80, ours
    assert all(Path(file).is_relative_to(ROOT) for file in ours.values())
    return ours


@cache
def tree(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text(encoding="utf-8"), filename=file)


def found_in(report: dict[str, Any], look: Any, exempt: set[str]) -> list[str]:
    """Where the server's modules have what a function looks for, outside of some files."""
    found = []
    for file in sources(report).values():
        relative = Path(file).relative_to(ROOT).as_posix()
        if relative not in exempt:
            found += [f"{relative}:{n.lineno}: {what}" for n, what in look(tree(file))]
    return found


def unpicklers(module: ast.Module) -> Iterator[tuple[Any, str]]:
    """Imports of what makes objects of bytes, and attributes that do so by another name."""
    for node in ast.walk(module):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(alias.name for alias in node.names)]
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            names = [] if ast.unparse(node.value) == "False" else ["pickle"]
        for name in names:
            if name.split(".")[0] in UNPICKLERS:
                yield getattr(node, "value", node), name


RUNS_TEXT = {"eval", "exec", "compile", "__import__"}


def runners_of_text(module: ast.Module) -> Iterator[tuple[Any, str]]:
    """Uses of the functions that run text, under their own name or as ``builtins``'s."""
    for node in ast.walk(module):
        if isinstance(node, ast.Name):
            runs = node.id in RUNS_TEXT
        elif isinstance(node, ast.Attribute):
            # A tensor has an eval() and a pattern a compile(); nothing else has these names.
            methods = RUNS_TEXT - {"eval", "compile"}
            of_builtins = isinstance(node.value, ast.Name) and node.value.id == "builtins"
            runs = of_builtins or node.attr in methods
        else:
            continue
        if runs:
            yield node, ast.unparse(node)


IMPORTERS = {
    "import_module",
    "spec_from_file_location",
    "module_from_spec",
    "find_spec",
    "run_module",
    "run_path",
    "FunctionType",
    "CodeType",
    "LambdaType",
    "interactive",
    "InteractiveInterpreter",
}


def importers(module: ast.Module) -> Iterator[tuple[Any, str]]:
    """Uses of what imports by a name, or makes functions of code."""
    for node in ast.walk(module):
        name = getattr(node, "id", None) or getattr(node, "attr", None)
        if isinstance(node, (ast.Name, ast.Attribute)) and name in IMPORTERS:
            yield node, ast.unparse(node)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name in IMPORTERS:
                    yield node, f"{node.module}.{alias.name}"


def starters(module: ast.Module) -> Iterator[tuple[Any, str]]:
    """Uses of what starts programs, or calls into libraries by name."""
    calls = {"system", "popen", "execv", "execve", "execvp", "posix_spawn", "Popen", "CDLL"}
    starts = calls | {"create_subprocess_exec", "create_subprocess_shell", "fork"}
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and node.attr in starts:
            yield node, ast.unparse(node)


@pytest.mark.process
def test_nothing_that_a_server_loads_of_ours_unpickles(report: dict[str, Any]) -> None:
    assert found_in(report, unpicklers, set()) == []


@pytest.mark.process
def test_text_is_run_only_where_it_was_generated(report: dict[str, Any]) -> None:
    """Plans and message readers: the text of both is written here, see the tests below."""
    assert found_in(report, runners_of_text, MAY_EXEC) == []


@pytest.mark.process
def test_nothing_is_imported_by_a_name_that_is_not_in_the_source(report: dict[str, Any]) -> None:
    # Tables in the source say which module a name of the package or an operation type is in.
    tables = {
        "actorsession/lazy_names.py",
        "actorsession/graph/registry.py",
        "actorsession/graph/extension.py",
        "actorsession/extras.py",  # looks whether a package of its table is installed
        "transports/__init__.py",
        "transports/registry.py",
    }
    assert found_in(report, importers, tables) == []


@pytest.mark.process
def test_programs_are_started_by_local_clusters_and_for_sidecars_alone(report: dict[str, Any]) -> None:
    """And OpenBLAS is asked for its threads, by the path that this process has mapped it from."""
    allowed = {
        "transports/host/processes.py",  # for worker_process.py and sidecar.py
        "actorsession/ops/blas_threads.py",
    }
    assert found_in(report, starters, allowed) == []


@pytest.mark.parametrize(
    ("code", "look"),
    [
        ("import pickle", unpicklers),
        ("from numpy import load\nload(f, allow_pickle=True)", unpicklers),
        ("from shelve import open as o", unpicklers),
        ("run = eval\nrun(text)", runners_of_text),
        ("import builtins\nbuiltins.eval(text)", runners_of_text),
        ("__builtins__.exec(text)", runners_of_text),
        ("import importlib\nimportlib.import_module(name)", importers),
        ("from importlib import import_module as load", importers),
        ("import types\ntypes.FunctionType(code, {})", importers),
        ("import os\nos.system(text)", starters),
    ],
)
def test_the_inspection_sees_what_it_looks_for(code: str, look: Any) -> None:
    assert list(look(ast.parse(code)))


# -- what happens --------------------------------------------------------------------------------------
@pytest.mark.process
def test_while_it_serves_a_server_runs_no_text_but_plans(report: dict[str, Any]) -> None:
    ran = [a[0] for event, a in report["seen"] if event == "exec"]
    plans = [name for name in ran if name.startswith("<actorsession plan ")]
    assert plans, "the step ran no generated code: the test has looked away"
    modules = {Path(file).as_posix() for file in report["modules"].values() if file}
    # Written from the fields of a class when its first instance is made, or its first message is read or
    # written (see below); modules of the interpreter's own.
    ours = ("<constructor of actorsession.", "<message actorsession.", "<frozen ")
    known = {*plans, *modules, *(name for name in ran if name.startswith(ours))}
    assert [name for name in ran if name not in known and not is_annotation(name)] == []


def is_annotation(ran: str) -> bool:
    """Whether a text that ran is the annotation of a message's field: it refers to types and nothing else."""
    words = ran.split(" ")
    types = {"Any", "Tensor", "bool", "bytes", "dict", "float", "int", "list", "str", "tuple"}
    return words[0] == "<string>" and {*words[1:]} <= {*types, "Ellipsis"}


@pytest.mark.process
def test_while_it_serves_a_server_unpickles_starts_and_makes_nothing(report: dict[str, Any]) -> None:
    never = {
        "pickle.find_class",
        "os.system",
        "os.exec",
        "os.posix_spawn",
        "os.fork",
        "subprocess.Popen",
        "ctypes.dlopen",
        "function.__new__",
    }
    assert [entry for entry in report["seen"] if entry[0] in never] == []


@pytest.mark.process
def test_names_of_a_graph_are_imported_by_nobody(report: dict[str, Any]) -> None:
    imported = {a[0] for event, a in report["seen"] if event == "import"}
    assert imported.isdisjoint({HOSTILE, "this"})
    assert HOSTILE not in report["modules"]


# -- plans -----------------------------------------------------------------------------------------------
INJECTIONS = [
    "x\nimport antigravity\n",
    "x\r__import__('antigravity')",
    "x\x0cimport antigravity",
    "x\u2028import antigravity",
    "x\x85import antigravity",
    "x\\\nimport antigravity",
    "'''\nimport antigravity\n'''",
    '"""',
    "#",
    "x\0y",
    "%s {0} {x}",
    "\ud800",
    "a;import antigravity",
]


@for_each("hostile", INJECTIONS)
def test_text_of_a_graph_becomes_no_code(hostile: str) -> None:
    """Names and sources stand in comments of the generated code, which end where the line does."""
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [2, 2], name="x")
        y = ops.reshape(ops.transpose(x + 1.0)[0:1], [2]) * ops.constant(2.0, name="two")
        total = ops.cond(y[0] > 0.0, lambda: ops.reduce_sum(y), lambda: y[1])
    nodes = graph.as_graph_def().nodes
    clean = _generated(nodes, x.op.name, total.op.name)
    renamed = tuple(_renamed(node, hostile) for node in nodes)
    dirty = _generated(renamed, x.op.name + hostile, total.op.name + hostile)
    assert len(clean) > 5
    assert ast.dump(ast.parse("\n".join(clean))) == ast.dump(ast.parse("\n".join(dirty)))


def _renamed(node: NodeDef, more: str) -> NodeDef:
    """The node with a longer name, here and where it is read, and a longer source."""
    return replace(
        node,
        name=node.name + more,
        inputs=tuple((name + more, index) for name, index in node.inputs),
        control_inputs=tuple(name + more for name in node.control_inputs),
        source=f"file.py:1{more}",
    )


def _generated(nodes: tuple[NodeDef, ...], feed: str, fetch: str) -> list[str]:
    """The lines that a worker makes of nodes that it was sent; both forms of each segment."""
    devices = device_set()
    signature = RunSignature((f"{feed}:0",), (f"{fetch}:0",), ())
    graph = prune(GraphView(nodes), signature)
    device_of = dict.fromkeys(graph.nodes, devices.client_device)
    (part,) = partition(graph, device_of, devices)
    segments = compile_partition(part).segments
    return [line for s in segments for lines in (s.lines, s.traced_lines) for line in lines]


@for_each("tag", sorted(VOCABULARY.specs))
def test_readers_of_messages_are_made_of_our_own_words(tag: str) -> None:
    """What is executed for a message class depends on its declaration, and on no bytes."""
    spec = VOCABULARY.specs[tag]
    spec.generate()
    cls = spec.cls
    (name,) = [n for n in linecache.cache if n == f"<message {cls.__module__}.{cls.__qualname__}>"]
    text = "".join(linecache.getlines(name))
    functions = [n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
    assert functions == ["read", "write"]
