"""Planning is a function of the graph alone: no order comes from hashes of strings, which differ by process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.template import cold_starts

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.process
def test_plans_and_generated_source_are_the_same_in_every_process() -> None:
    plans = []
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "tests.plan.planned_programs", "0", "60"]
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        with cold_starts():  # a fork has the seed of its parent
            run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
        assert run.returncode == 0, run.stderr
        plans.append(run.stdout.split("\nprogram "))
    assert len(plans[0]) == 60
    assert [one for one, other in zip(*plans, strict=True) if one != other] == []
