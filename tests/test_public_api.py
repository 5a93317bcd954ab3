"""What ``import actorsession`` gives, and what it must not do."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType

import pytest

import actorsession
import actorsession as acts
import actorsession.compat.v1
from actorsession import compat, ops, opsets
from scripts.pages import CONTENTS, pages, public_modules, public_names
from tests.rows import for_each

# Older functions of TensorFlow, each of which a public one replaces.
ONLY_IN_COMPAT = {
    "assert_variables_initialized",
    "batch_to_space",
    "create_partitioned_variables",
    "div",
    "floor_div",
    "realdiv",
    "sparse_to_dense",
    "variable_op_scope",
    "where_v2",
}


def namespaces() -> list[ModuleType]:
    """The modules among the public names."""
    found = (getattr(actorsession, name) for name in actorsession.__all__)
    return [module for module in found if isinstance(module, ModuleType)]


def test_every_public_name_exists_once() -> None:
    names = actorsession.__all__
    assert sorted(set(names)) == sorted(names)
    assert [n for n in names if not hasattr(actorsession, n)] == []


def test_the_face_is_small_and_shows_no_inner_room() -> None:
    names = dir(actorsession)
    assert len(names) <= 210
    rooms = {"actors", "cluster", "graph", "messages", "ops", "opsets", "plan", "rpc", "runtime", "session"}
    assert rooms & set(names) == set()


def test_every_name_of_an_operation_is_on_the_face_in_a_namespace_or_of_tensorflow_1() -> None:
    """Older spellings of TensorFlow are only in ``compat.v1``; the functions behind them are all public."""
    faces = [vars(module) | {n: getattr(module, n) for n in module.__all__} for module in namespaces()]
    faces.append({name: getattr(actorsession, name) for name in actorsession.__all__})
    public = {id(found) for face in faces for found in face.values()}
    hidden = {n for room in (ops, opsets) for n in room.__all__ if id(getattr(room, n)) not in public}
    assert hidden == ONLY_IN_COMPAT


def test_a_name_that_is_elsewhere_is_suggested() -> None:
    with pytest.raises(AttributeError, match=r"did you mean debugging.assert_equal\?"):
        _ = actorsession.assert_equal  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"did you mean autodiff.NotDifferentiable, plugins"):
        _ = actorsession.NotDifferentiable  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"did you mean placeholder"):
        _ = actorsession.placehoder  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"did you mean nn.relu\?"):
        _ = compat.v1.relu  # type: ignore[attr-defined]


def test_every_public_function_and_class_has_a_docstring_that_begins_with_a_sentence() -> None:
    """The API reference of the site is made from them."""
    without = [
        f"{module}.{name}"
        for module, found in public_modules().items()
        for name, value in public_names(found)
        if inspect.isclass(value) or inspect.isroutine(value)
        if not re.match(r"[A-Z`][^\n]*(\n[^\n]+)*[.:]$", (inspect.getdoc(value) or "").split("\n\n")[0])
    ]
    assert without == []


def test_every_page_is_in_the_contents_of_the_site() -> None:
    listed = {f"{name}.md" for names in CONTENTS.values() for name in names.split()}
    shown = {str(page) for page in pages() if not page.match("decisions/0*")} - {"README.md"}
    assert shown == listed - {"reference/index.md", "reference/errors/index.md", "examples.md"}


def test_what_a_first_program_needs_is_there() -> None:
    needed = {
        "AsyncSession", "Session", "Graph", "Variable", "placeholder", "constant", "gradients", "train",
        "global_variables_initializer", "LocalCluster",
        "Server", "ClusterSpec", "device", "control_dependencies", "name_scope", "nn", "errors",
        "ConfigProto", "RunOptions", "RunMetadata",
    }  # fmt: skip
    assert needed <= set(actorsession.__all__)


REPRS: dict[str, Callable[[], object]] = {
    "<AdamOptimizer 'Adam' learning_rate=0.1 beta1=0.9 beta2=0.999 epsilon=1e-08>": (
        lambda: acts.train.AdamOptimizer(0.1)
    ),
    "<FIFOQueue 'q' dtypes=['float32', 'int32']>": (lambda: acts.FIFOQueue(10, [acts.float32, acts.int32], name="q")),
    "<PaddingFIFOQueue 'p' dtypes=['float32'] shapes=['(2, None)'] names=['x']>": (
        lambda: acts.queue.PaddingFIFOQueue(3, [acts.float32], [[2, None]], names=["x"], name="p")
    ),
    "<StagingArea 'StagingArea' dtypes=['int64'] shapes=['<unknown>']>": (lambda: acts.queue.StagingArea([acts.int64])),
    "<Barrier 'barrier' dtypes=['float32'] shapes=['(3,)']>": (lambda: acts.queue.Barrier([acts.float32], [[3]])),
    "<ConditionalAccumulator 'a' dtype=float32 shape=(2,)>": (
        lambda: acts.queue.ConditionalAccumulator(acts.float32, [2], name="a")
    ),
    "<MutableHashTable 'MutableHashTable' key_dtype=string value_dtype=int64>": (
        lambda: acts.lookup.MutableHashTable(acts.string, acts.int64, -1)
    ),
    "<Saver max_to_keep=5 sharded=False>": lambda: acts.train.Saver(allow_empty=True),
    "<ExponentialMovingAverage 'm' decay=0.9 variables=0>": (
        lambda: acts.train.ExponentialMovingAverage(0.9, name="m")
    ),
    "<Coordinator should_stop=False joined=False>": acts.train.Coordinator,
    "zeros_initializer(dtype='float32')": lambda: acts.initializers.zeros_initializer(),
    "ConfigProto()": acts.ConfigProto,
    "RunOptions(timeout_in_ms=3)": lambda: acts.RunOptions(timeout_in_ms=3),
}


@for_each("said", REPRS)
def test_objects_say_what_they_are(said: str) -> None:
    with acts.Graph().as_default():
        assert repr(REPRS[said]()) == said


@pytest.mark.process
def test_importing_starts_nothing_and_changes_nothing() -> None:
    """No thread, no event loop, no policy, no signal handler, no output."""
    program = """
import asyncio, signal, sys, threading
before = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)]
policy = asyncio.get_event_loop_policy().__class__ if sys.version_info < (3, 14) else None
import actorsession
assert threading.active_count() == 1, threading.enumerate()
assert [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)] == before
if policy is not None:
    assert asyncio.get_event_loop_policy().__class__ is policy
assert asyncio._get_running_loop() is None
for module in ("pickle5", "tensorflow", "multiprocessing.spawn", "matplotlib", "rich"):
    assert module not in sys.modules, module
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=50, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


WALK = """
import pkgutil, sys, actorsession, transports

def fail(name):
    raise ImportError(f"{name} cannot be imported") from sys.exc_info()[1]

for package in (actorsession, transports):
    names = [m.name for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.", onerror=fail)]
    print(package.__name__, len(names))
assert "tensorflow" not in sys.modules
"""


@pytest.mark.process
def test_tools_that_look_at_every_package_can_import_each() -> None:
    command = [sys.executable, "-W", "error", "-c", WALK]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


@for_each(
    "module, name",
    [
        ("actorsession.compat.v1.internals.framework", "colour_ref"),
        ("actorsession.compat.v1.python.framework.ops", "get_collection_ref_ref"),
    ],
)
def test_a_name_that_ends_like_a_type_of_references_is_no_attribute(module: str, name: str) -> None:
    found = importlib.import_module(module)
    assert not hasattr(found, name)
    assert [inner for inner in dir(found) if not hasattr(found, inner)] == []
