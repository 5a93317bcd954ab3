"""The programs of docs/errors.md raise what the page says, with the message as it is printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forked_programs import Warm, warm_process

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
# Title, program, and last line of what Python prints, in which ``...`` stands for anything.
CASES = re.findall(r"^## (.*)\n\n```python\n((?:.*\n)*?)```\n\n```text\n(.*)\n```\n\n\S", PAGE, re.MULTILINE)


@pytest.fixture(scope="module", name="warm")
def process_of_the_programs() -> Iterator[Warm]:
    with warm_process() as process:
        yield process


@pytest.mark.process
@pytest.mark.parametrize(("code", "said"), [pytest.param(code, said, id=title) for title, code, said in CASES])
def test_a_program_ends_with_the_error_that_the_page_shows(code: str, said: str, warm: Warm, tmp_path: Path) -> None:
    done = warm.run(code, tmp_path)
    assert done.status == 1
    last = done.err.rstrip().splitlines()[-1]
    assert re.fullmatch(re.escape(said).replace(r"\.\.\.", ".*"), last), last


def test_the_page_has_twenty_errors_each_with_what_to_do() -> None:
    assert len(CASES) == PAGE.count("\n## ") == PAGE.count("```python") == 20
