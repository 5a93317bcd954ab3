"""Progress: a few lines, a bar, or nothing."""

from __future__ import annotations

import sys

import pytest

from actorsession.demo.progress import Bars, Lines, Reporter, reporter


def watched_by_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)


def test_a_line_is_printed_at_the_beginning_and_at_every_quarter(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines() as lines:
        lines.begin("one process", 100)
        for step in range(10, 110, 10):
            lines.advance(10, step / 1000)
    assert capsys.readouterr().out.splitlines() == [
        "  one process: step 0 of 100",
        "  one process: step 30 of 100, accuracy 0.030",
        "  one process: step 50 of 100, accuracy 0.050",
        "  one process: step 80 of 100, accuracy 0.080",
        "  one process: step 100 of 100, accuracy 0.100",
    ]
    # A line tells the accuracy that was seen last.
    lines = Lines()
    lines.begin("workers", 4)
    lines.advance(1, None)
    lines.advance(1, 0.5)
    lines.advance(1, None)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  workers: step 1 of 4",
        "  workers: step 2 of 4, accuracy 0.500",
        "  workers: step 3 of 4, accuracy 0.500",
    ]


def test_the_next_lesson_begins_anew(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    lines.begin("first", 1)
    lines.advance(1, 0.9)
    lines.begin("second", 2)
    lines.advance(1, None)
    assert capsys.readouterr().out.splitlines()[2:] == ["  second: step 0 of 2", "  second: step 1 of 2"]


def test_lines_are_for_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(reporter(wanted=True)) is Lines
    pytest.importorskip("rich")
    watched_by_a_person(monkeypatch)
    assert type(reporter(wanted=True)) is Bars
    watched_by_a_person(monkeypatch)
    monkeypatch.setitem(sys.modules, "rich", None)
    assert type(reporter(wanted=True)) is Lines


def test_who_wants_no_progress_gets_none(capsys: pytest.CaptureFixture[str]) -> None:
    silence = reporter(wanted=False)
    assert type(silence) is Reporter
    with silence:
        silence.begin("one process", 1)
        silence.advance(1, 1.0)
    assert capsys.readouterr().out == ""
