"""What ``import actorsession`` gives, and what it must not do."""

from __future__ import annotations

import subprocess
import sys

import pytest

import actorsession
from actorsession import ops


def test_every_public_name_exists_once() -> None:
    names = actorsession.__all__
    assert sorted(set(names)) == sorted(names)
    assert [n for n in names if not hasattr(actorsession, n)] == []


def test_the_words_of_graphs_are_public() -> None:
    assert set(ops.__all__) <= set(actorsession.__all__)
    assert all(getattr(actorsession, n) is getattr(ops, n) for n in ops.__all__)


def test_what_a_first_program_needs_is_there() -> None:
    needed = {
        "AsyncSession", "Session", "Graph", "Variable", "placeholder", "constant", "gradients",
        "GradientDescentOptimizer", "AdamOptimizer", "global_variables_initializer", "LocalCluster",
        "Server", "ClusterSpec", "device", "control_dependencies", "name_scope", "nn", "errors",
        "ConfigProto", "RunOptions", "RunMetadata",
    }  # fmt: skip
    assert needed <= set(actorsession.__all__)


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
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
