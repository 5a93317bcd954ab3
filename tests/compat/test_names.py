"""Which of TensorFlow 1's names there are, and whether they are called as there.

``ranked_names.txt`` has the names that public TensorFlow 1 programs use, with how many programs do;
``signatures.json`` how TensorFlow's functions are called (``collect_signatures.py`` writes it).
"""

from __future__ import annotations

import inspect
import json
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import actorsession.compat.v1 as tf
from actorsession import train
from tests.compat.missing import MISSING, OTHERWISE
from tests.compat.signature_text import parameters
from tests.rows import for_each

HERE = Path(__file__).parent
RANKED = [line.split() for line in (HERE / "ranked_names.txt").read_text().splitlines()]
SIGNATURES: dict[str, Any] = json.loads((HERE / "signatures.json").read_text())


def find(name: str) -> Any:
    found: Any = tf
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def test_names_are_exported_once_and_what_is_missing_is_listed() -> None:
    assert sorted(set(MISSING) - {name for name, _ in RANKED}) == []
    # Every exported name exists once.
    assert len(set(tf.__all__)) == len(tf.__all__)
    assert [name for name in tf.__all__ if not hasattr(tf, name)] == []
    # Whatever trains is exported.
    assert set(train.__all__) - set(tf.train.__all__) == OURS
    assert [name for name in tf.train.__all__ if not hasattr(tf.train, name)] == []
    # A difference is of a name that both have.
    assert sorted(set(OTHERWISE) - set(COMMON)) == []
    # The names that programs use are there but for those that are listed. In order of rank; a name that comes or goes
    # has to be noted in ``missing.py``.
    assert [name for name, _ in RANKED if find(name) is None] == [name for name, _ in RANKED if name in MISSING]


# What trains here and has no name in TensorFlow.
OURS = {"AllReduceOptimizer", "Fit", "FitReport", "FitResult", "LayerSummary", "ModelSummary", "broadcast_variables"}
OURS |= {"fit", "model_summary"}


COMMON = sorted(
    name
    for name, said in SIGNATURES.items()
    if said is not None and callable(find(name)) and not isinstance(find(name), tf.DType)
)


@for_each("room", sorted({name.rpartition(".")[0] for name in COMMON}))
def test_functions_are_called_as_in_tensorflow(room: str) -> None:
    """All their parameters are there, in their order, with their defaults; ours may come behind them."""
    for name in COMMON:
        if name.rpartition(".")[0] == room:
            check_signature(name)


def check_signature(name: str) -> None:
    if name in OTHERWISE:
        assert parameters(find(name)) != SIGNATURES[name], f"{name} is as in TensorFlow by now"
        return
    theirs = SIGNATURES[name]
    ours = parameters(find(name))
    assert ours is not None
    assert ours[: len(theirs)] == theirs, name
    assert all(len(p) == 2 or p[0].startswith("*") for p in ours[len(theirs) :])


@pytest.mark.process
def test_importing_it_starts_nothing_and_changes_nothing() -> None:
    program = """
import asyncio, signal, sys, threading
before = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)]
import actorsession.compat.v1 as tf
from actorsession import train
assert threading.active_count() == 1, threading.enumerate()
assert [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)] == before
assert asyncio._get_running_loop() is None
assert asyncio.get_event_loop_policy().__class__.__module__ == "asyncio.unix_events"
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=50, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_signatures_are_texts_of_python() -> None:
    assert inspect.isfunction(parameters)
    assert SIGNATURES["FIFOQueue"] == [
        ["capacity"],
        ["dtypes"],
        ["shapes", "None"],
        ["names", "None"],
        ["shared_name", "None"],
        ["name", "'fifo_queue'"],
    ]


def test_importing_a_name_that_is_refused_says_why_and_asking_for_it_only_finds_none() -> None:
    for name, why in (("keras", r"pip install 'actorsession\[keras\]'"), ("lite", "TensorFlow Lite")):
        with pytest.raises(ImportError, match=why) as said:
            __import__(tf.__name__, fromlist=[name])
        assert said.value.name == name
        assert not hasattr(tf, name)
        assert getattr(tf, name, None) is None
        with pytest.raises(AttributeError, match=why):
            getattr(tf, name)
    with pytest.raises(ImportError, match="cannot import name 'no_such_name'"):
        from actorsession.compat.v1 import no_such_name  # type: ignore[attr-defined]  # noqa: F401
    walked = {module.name for module in pkgutil.iter_modules(tf.__path__)}
    assert {"sessions", "train"} <= walked
    assert "keras" not in walked | {name for name, _ in inspect.getmembers(tf)}
