"""The examples run as they stand, and say what they should."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
PRINTS = {
    "quickstart.py": "loss: 0.0000\n",
    "tensorflow1.py": "accuracy: True\n",
    "two_workers.py": "sum of squares so far: 14.0\nsum of squares so far: 28.0\n",
}


def test_every_example_is_run_here() -> None:
    assert sorted(path.name for path in (ROOT / "examples").glob("*.py")) == sorted(PRINTS)


@pytest.mark.parametrize("name", PRINTS)
def test_an_example_prints_its_results_and_nothing_else(name: str, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", ROOT / "examples" / name],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, PRINTS[name], "")
