"""The examples of docs/testing.md, as tests of a project that has nothing else of this one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.testing.test_pytest_plugin import ROOT, pytest_of

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]


def test_the_examples_of_the_page_are_tests_that_pass(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    blocks = {language: re.findall(rf"^```{language}\n(.*?)^```", page, re.M | re.S) for language in ("ini", "python")}
    (tmp_path / "pytest.ini").write_text(blocks["ini"][0] + "filterwarnings = error\n")
    for number, code in enumerate(blocks["python"]):
        (tmp_path / f"test_{number}.py").write_text(code)
    said = pytest_of(tmp_path)
    passed = re.findall(r"^PASSED test_(\d)", said, re.M)
    assert set(passed) == set(map(str, range(len(blocks["python"])))), said
    assert re.search(rf"^=+ {len(passed)} passed in ", said, re.M), said
