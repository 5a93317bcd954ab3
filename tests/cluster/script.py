"""Python scripts in processes of their own: without a main guard, as people write them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def environment(**more: str) -> dict[str, str]:
    """Ours, with the packages of this repository importable, and nothing of a user's own settings."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith("ACTORSESSION_")}
    return {**ours, "PYTHONPATH": str(ROOT), **more}


def command(*words: str) -> list[str]:
    """A command line of the package."""
    return [sys.executable, "-m", "actorsession", *words]


@contextmanager
def running(words: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that is killed at the end if it has not ended by then."""
    options = {"env": environment(), **options}
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def script(folder: Path, text: str) -> Iterator[subprocess.Popen[str]]:
    """A script that runs."""
    path = folder / "script.py"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    with running([sys.executable, str(path)], cwd=folder) as process:
        yield process


def is_running(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
        return state not in ("Z", "X")
    return False
