"""The commands in docs/ do what they say: the shell blocks of a section run as they stand, in order."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.script import ROOT, environment

PAGES = sorted((ROOT / "docs").glob("*.md"))


def sections(page: Path) -> list[tuple[str, str]]:
    """The sections of a page that show commands: title and all their shell blocks in order."""
    found = []
    for part in re.split(r"^#+ ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        for number, block in enumerate(re.findall(r"^```sh\n(.*?)^```", part, re.M | re.S)):
            found.append((f"{part.splitlines()[0]} {number}", block))
    return found


CASES = [pytest.param(block, id=f"{page.stem}-{title}") for page in PAGES for title, block in sections(page)]


def run(block: str, folder: Path) -> tuple[int, str]:
    """Exit status and standard error of a shell block; whatever it has left running is ended."""
    tools = folder / "tools"
    tools.mkdir()
    for name, words in (("actorsession", "-m actorsession "), ("python", "")):
        tool = tools / name
        tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
        tool.chmod(0o755)
    where = folder / "work"
    where.mkdir()
    process = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", block],
        cwd=where,
        text=True,
        start_new_session=True,
        env=environment(PATH=f"{tools}{os.pathsep}{os.environ['PATH']}"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        _, err = process.communicate(timeout=50)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, err = process.communicate()
        return -1, err
    return process.returncode, err


@pytest.mark.process
@pytest.mark.parametrize("block", CASES)
def test_the_commands_of_a_section_run_as_they_stand(block: str, tmp_path: Path) -> None:
    assert run(block, tmp_path) == (0, "")


@pytest.mark.process
def test_commands_that_fail_would_be_noticed(tmp_path: Path) -> None:
    code, err = run("actorsession status 127.0.0.1:1\necho unreached", tmp_path)
    assert code == 1
    assert err.startswith("actorsession status: ")
