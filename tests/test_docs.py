"""The pages in docs/ tell the truth: their examples run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["sessions.md", "distributed.md", "checkpoints.md", "graphs.md"]


def sections(page: str) -> list[tuple[str, str]]:
    """The sections of a page that show code: title and all their Python blocks in order."""
    found = []
    for part in re.split(r"^#+ ", (ROOT / "docs" / page).read_text(), flags=re.MULTILINE)[1:]:
        blocks = re.findall(r"^```python\n(.*?)^```", part, flags=re.MULTILINE | re.DOTALL)
        if blocks:
            found.append((part.splitlines()[0], "\n".join(blocks)))
    return found


CASES = [
    pytest.param(code, id=f"{page}-{title}") for page in PAGES for title, code in sections(page)
]


@pytest.mark.process
@pytest.mark.parametrize("code", CASES)
def test_the_examples_of_a_section_run_as_they_stand(code: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_page_has_examples_that_run() -> None:
    assert all(len(sections(page)) >= 3 for page in PAGES)
