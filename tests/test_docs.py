"""The pages in docs/ tell the truth: their examples run as they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from actorsession import layers
from tests.forked_programs import Warm, warm_process

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    "tutorial.md",
    "layers.md",
    "questions.md",
    "sessions.md",
    "distributed.md",
    "checkpoints.md",
    "graphs.md",
    "observability.md",
    "devices.md",
]


def sections(page: str) -> list[tuple[str, str]]:
    """The sections of a page that show code: title and all their Python blocks in order."""
    found = []
    for part in re.split(r"^#+ ", (ROOT / "docs" / page).read_text(), flags=re.MULTILINE)[1:]:
        blocks = re.findall(r"^```python\n(.*?)^```", part, flags=re.MULTILINE | re.DOTALL)
        if blocks:
            found.append((part.splitlines()[0], "\n".join(blocks)))
    return found


CASES = [pytest.param(code, id=f"{page}-{title}") for page in PAGES for title, code in sections(page)]


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with warm_process() as process:
        yield process


def outputs(code: str) -> list[str]:
    """What a program says that it prints: the comments behind its prints, in which ``...`` stands for anything."""
    return re.findall(r"^ *print\(.*\)  # (.+)$", code, flags=re.MULTILINE)


def unprinted(expected: list[str], out: str) -> list[str]:
    """The patterns of outputs that are no lines of what a program has printed, in the order of the program."""
    lines = iter(out.splitlines())
    patterns = [re.escape(line).replace(r"\.\.\.", ".*") for line in expected]
    return [pattern for pattern in patterns if not any(re.fullmatch(pattern, line) for line in lines)]


@pytest.mark.process
@pytest.mark.parametrize("code", CASES)
def test_the_examples_of_a_section_run_as_they_stand(code: str, warm: Warm, tmp_path: Path) -> None:
    if "TORCH_CPU" in code:
        pytest.importorskip("torch", reason="torch is not installed")
    done = warm.run(code, tmp_path)
    assert (done.status, done.err) == (0, "")
    assert unprinted(outputs(code), done.out) == [], done.out


def test_an_output_that_is_another_one_would_be_noticed() -> None:
    code = "print(a)  # one...\nif b:\n    print(b)  # two\nc = 1  # three\n"
    assert outputs(code) == ["one...", "two"]
    assert unprinted(outputs(code), "one and a half\n2\ntwo\n") == []
    assert unprinted(outputs(code), "two\none\n") == ["two"]
    assert unprinted(outputs(code), "on\ntwo\n") == ["one.*", "two"]


@pytest.mark.process
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("np.zeros(1)", "NameError: name 'np' is not defined"),
        ("import warnings; warnings.warn('of old', DeprecationWarning)", "DeprecationWarning: of old"),
        ("import atexit; atexit.register(lambda: 1 / 0)", "ZeroDivisionError"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", ""),
    ],
    ids=["a name", "a warning", "at the end", "a signal"],
)
def test_an_example_that_fails_would_be_noticed(code: str, said: str, warm: Warm, tmp_path: Path) -> None:
    done = warm.run(code, tmp_path)
    assert (done.status, done.err) != (0, "")
    assert said in done.err


@pytest.mark.parametrize(("name", "count"), [("tutorial.md", 3), ("ray.md", 1), ("dask.md", 1)])
def test_the_excerpts_from_examples_are_parts_of_them(name: str, count: int) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    excerpts = re.findall(r"<!-- (examples/\S+) -->\n```py\n(.*?)^```", page, re.M | re.S)
    assert len(excerpts) == page.count("```py\n") == count
    for file, excerpt in excerpts:
        assert excerpt in (ROOT / file).read_text(encoding="utf-8")


def test_every_page_has_examples_that_run() -> None:
    assert all(len(sections(page)) >= 3 for page in PAGES)


def test_the_page_of_layers_has_every_layer() -> None:
    page = (ROOT / "docs" / "layers.md").read_text(encoding="utf-8")
    assert [name for name in layers.__all__ if f"`{name}`" not in page] == []
