"""Packages whose names are imported when they are used."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from types import ModuleType

import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from actorsession.lazy_names import LazyName, lazy_names, nearest_names, read_table
from tests.rows import for_each

TABLE = {"json": "*=words dumps loads=read", ".part": "thing"}


def test_a_table_says_where_each_name_is() -> None:
    assert dict(read_table("pkg", TABLE)) == {
        "words": LazyName("json", ""),
        "dumps": LazyName("json", "dumps"),
        "read": LazyName("json", "loads"),
        "thing": LazyName("pkg.part", "thing"),
    }


def test_a_name_is_imported_once_when_it_is_first_used(monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("lazy_package")
    monkeypatch.setitem(sys.modules, "lazy_package", package)
    names, load, listed = lazy_names("lazy_package", TABLE)
    assert names == listed() == ["dumps", "read", "thing", "words"]
    assert not hasattr(package, "read")
    assert load("read") is json.loads
    assert vars(package)["read"] is json.loads
    assert load("words") is json


def test_an_unknown_name_is_answered_with_the_nearest_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    _, load, _ = lazy_names("lazy_package", TABLE)
    for name, hint in {"dunps": "; did you mean dumps\\?", "dump": "; did you mean words.dump\\?", "xyz": "$"}.items():
        with pytest.raises(AttributeError, match=f"'lazy_package' has no attribute '{name}'{hint}"):
            load(name)


@for_each(
    "asked, meant",
    [
        ("reduce_avg", ["reduce_mean"]),
        ("reduceMean", ["reduce_mean"]),
        ("AdamOptimzer", ["train.AdamOptimizer"]),
        ("adamoptimizer", ["train.AdamOptimizer"]),
        ("Adam", ["train.AdamOptimizer"]),
        ("matmull", ["matmul"]),
        ("relu", ["nn.relu"]),
        ("mean", ["reduce_mean", "nn.avg_pool"]),
        ("SGD", ["train.GradientDescentOptimizer"]),
        ("np_dot", []),
        ("dot", ["matmul"]),
        ("xyz", []),
    ],
)
def test_names_of_the_same_words_come_before_those_that_are_spelt_alike(asked: str, meant: list[str]) -> None:
    inner = {"train": ["AdamOptimizer", "GradientDescentOptimizer"], "nn": ["relu", "avg_pool"], "linalg": ["matmul"]}
    assert nearest_names(asked, ["reduce_any", "reduce_mean", "reduce_max", "matmul"], inner) == meant


@for_each(
    "asked, meant", [("reduce_avg", "reduce_mean"), ("AdamOptimzer", "train.AdamOptimizer"), ("Dense", "layers.Dense")]
)
def test_both_packages_lead_to_what_was_meant(asked: str, meant: str) -> None:
    for package in (acts, tf):
        with pytest.raises(AttributeError, match=rf"did you mean {re.escape(meant)}\b"):
            getattr(package, asked)


def test_the_error_of_an_unknown_name_goes_to_other_processes() -> None:
    _, load, _ = lazy_names("lazy_package", TABLE)
    with pytest.raises(AttributeError) as info:
        load("dump")
    copy = pickle.loads(pickle.dumps(info.value))  # noqa: S301 - our own bytes
    assert type(copy) is AttributeError
    assert str(copy) == str(info.value)


@pytest.mark.process
def test_importing_the_package_imports_no_op_no_session_and_no_loop() -> None:
    asked = "import sys, actorsession; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    ops = {name for name in loaded if name.startswith("actorsession.ops.")}
    assert ops == {"actorsession.ops.op_modules"}
    rooms = ("session", "runtime", "cluster", "train", "interop", "observe", "checkpoints", "rpc")
    assert not {f"actorsession.{room}" for room in rooms} & loaded
    assert not {"asyncio", "uvloop", "msgpack.fallback"} & loaded


def test_a_session_in_this_process_imports_no_links_and_no_messages() -> None:
    program = """
import sys
import actorsession as acts
x = acts.placeholder(acts.float32, [])
with acts.Session() as session:
    assert session.run(x + 1.0, {x: 1.0}) == 2.0
rooms = {".".join(name.split(".")[:2]) for name in sys.modules}
assert not rooms & {"actorsession.rpc", "actorsession.messages", "actorsession.cluster"}, rooms
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
