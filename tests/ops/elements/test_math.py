"""The namespace ``math``: nothing of its own but names."""

from __future__ import annotations

import subprocess
import sys

import pytest

import actorsession
from actorsession import math, ops

# What TensorFlow has there, but for the few that this library does not have.
MISSING = {"approx_max_k", "approx_min_k", "sobol_sample", "special"}


def test_the_namespace_has_what_it_lists() -> None:
    assert actorsession.math is math
    assert [name for name in math.__all__ if not hasattr(math, name)] == []
    assert sorted(set(math.__all__)) == sorted(math.__all__)


def test_names_mean_the_same_as_at_the_top() -> None:
    shared = [name for name in math.__all__ if name in ops.__all__]
    assert len(shared) > 80
    assert [name for name in shared if getattr(ops, name) is not getattr(math, name)] == []


def test_what_is_missing_is_not_promised() -> None:
    assert MISSING.isdisjoint(math.__all__)


@pytest.mark.process
def test_pythons_own_module_of_that_name_is_left_alone() -> None:
    program = "import actorsession.namespaces.math as ours, math; assert math is not ours and math.tau"
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=50).returncode == 0
