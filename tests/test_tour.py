"""The tour names what exists, and its pictures are those that the library draws."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scripts.pictures import NAMES, pictures
from tests.forked_programs import warm_process
from tests.test_docs_names import PAGES, has_call

ROOT = Path(__file__).resolve().parent.parent
TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
# A function or class of TensorFlow; of its files only the form can be checked here.
THEIRS = re.compile(r"_?[A-Z]\w+((::|\.)_?[A-Za-z]\w*)*")
THEIR_FILE = re.compile(r"core/(common_runtime|distributed_runtime|graph)/(rpc/)?\w+\.(cc|h)|session\.py")


def stages() -> Iterator[tuple[int, str, str]]:
    """The number of each stage, the class that does it, and its names in TensorFlow."""
    for number, body in re.findall(r"^(\d+)\. (.*?)(?=^\S|\Z)", TOUR, re.M | re.S):
        (here,) = re.findall(r"- here: (.*)", body)
        (theirs,) = re.findall(r"- TensorFlow: (.*)", body, re.S)
        yield int(number), here, theirs


def test_the_class_of_each_stage_is_in_the_file_that_stands_there() -> None:
    places = [re.fullmatch(r"`([\w.]+)` in `actorsession/([\w/]+\.py)`", here) for _, here, _ in stages()]
    assert len(places) > 25
    assert [(m[1], m[2]) if m else None for m in places if m is None or not has_call(m[2], m[1])] == []


def test_each_stage_has_a_name_of_tensorflow() -> None:
    for _, _, theirs in stages():
        names = re.findall(r"`([^`]+)`", theirs)
        assert THEIRS.fullmatch(names[0]), theirs
        assert all(THEIRS.fullmatch(name) or THEIR_FILE.fullmatch(name) for name in names), theirs


def test_the_stages_of_each_section_are_counted_from_one() -> None:
    numbers = [number for number, _, _ in stages()]
    starts = [place for place, number in enumerate(numbers) if number == 1]
    assert len(starts) == 3
    parts = [numbers[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
    assert all(part == list(range(1, len(part) + 1)) for part in parts)


@pytest.mark.process
def test_the_program_of_the_tour_runs_as_it_stands(tmp_path: Path) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", TOUR, re.M | re.S)
    with warm_process() as process:
        done = process.run(code, tmp_path)
    assert (done.status, done.err) == (0, "")


def test_every_picture_of_a_page_is_drawn_by_the_library_and_every_drawn_one_is_on_a_page() -> None:
    shown = {name for page in PAGES for name in re.findall(r"\]\(pictures/([\w-]+)\.svg\)", page.read_text())}
    assert shown == set(NAMES)
    assert {path.stem for path in (ROOT / "docs" / "pictures").glob("*.svg")} == set(NAMES)


# What a reader sees in a picture.
SEEN = {
    "notebook-graph": {"placeholder", "dense", "dense_1", "kernel", "MatMul", "loss"},
    "notebook-fit": {"loss", "step"},
    "tour-local-plan": {"weights", "product", "hidden", "scaled", "answer", "x:0", "factor:0", "CPU:0"},
    "tour-local-time": {"step"},
    "tour-workers-plan": {"/job:worker/task:0", "/job:worker/task:1", "product", "scaled", "sent"},
    "tour-workers-time": {"client", "run", "step", "part", "send", "/job:worker/replica:0/task:1"},
    "tour-partial-plan": {"first call", "second call", "hidden", "answer"},
    "tour-partial-time": {"setup", "first call", "second call", "client", "/job:worker/replica:0/task:1/device:CPU:0"},
}


@pytest.mark.process
def test_the_pictures_show_what_the_pages_tell() -> None:
    drawn = pictures()
    assert list(drawn) == list(NAMES)
    for name, text in drawn.items():
        words = {"".join(element.itertext()) for element in ElementTree.fromstring(text).iter()}
        assert words >= SEEN[name], name
