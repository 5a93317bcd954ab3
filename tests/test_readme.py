"""README.md is true: its programs are the examples, which are run, and what it points to exists."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_its_programs_are_the_examples_as_they_stand() -> None:
    shown = dict(re.findall(r"<!-- examples/(\w+\.py) -->\n```python\n(.*?)```", README, re.DOTALL))
    files = {p.name: p.read_text(encoding="utf-8") for p in (ROOT / "examples").glob("*.py")}
    assert shown == files


@pytest.mark.parametrize("command", sorted(set(re.findall(r"scripts/\w+", README))))
def test_its_commands_exist_and_can_be_run(command: str) -> None:
    assert os.access(ROOT / command, os.X_OK)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(((?!http)[^)]+)\)", README))))
def test_its_links_lead_somewhere(target: str) -> None:
    assert (ROOT / target).exists()
