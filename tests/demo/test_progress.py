"""Progress and report: a few lines, a bar, or nothing; the table and the verdict."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from actorsession.config import StepStats
from actorsession.demo.progress import Bars, Lines, Reporter, reporter
from actorsession.demo.report import failures, save_curves, save_trace, table
from actorsession.demo.training import Checkpoint, Lesson


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


def lesson(where: str = "one process", accuracy: float = 0.98, **fields: object) -> Lesson:
    made = Lesson(where=where, steps=2000, seconds=0.5)
    made.curve = [Checkpoint(0, 0.1), Checkpoint(2000, accuracy)]
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def test_the_table_has_a_line_for_each_lesson() -> None:
    cluster = lesson("1 ps + 2 workers", 0.9751, step_bytes=57353.4, step_messages=7.05)
    assert table([lesson(), cluster]).splitlines() == [
        "                  steps  steps/s  accuracy  bytes/step  messages/step",
        "one process       2,000    4,000     0.980           0              0",
        "1 ps + 2 workers  2,000    4,000     0.975      57,353           7.05",
    ]


def test_a_lesson_below_the_mark_is_a_failure_and_one_at_it_is_not() -> None:
    found = list(failures([lesson("good", 0.95), lesson("bad", 0.9499)]))
    assert found == ["bad: accuracy 0.950 on the held-out images after 2000 steps; at least 0.95 was expected"]


def test_without_a_distributed_step_there_is_no_trace(tmp_path: Path) -> None:
    assert "omitted" in save_trace([lesson()], tmp_path)
    assert list(tmp_path.iterdir()) == []
    said = save_trace([lesson(), lesson(trace=StepStats(1))], tmp_path)
    assert str(tmp_path / "trace.json") in said
    assert "https://ui.perfetto.dev" in said
    assert (tmp_path / "trace.json").exists()


def test_without_matplotlib_the_picture_is_left_out_and_how_to_get_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = save_curves([lesson()], tmp_path)
    assert "omitted" in said
    assert "pip install 'actorsession[demo]'" in said
    assert list(tmp_path.iterdir()) == []
