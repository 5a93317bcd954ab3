"""The output of the demo: a table, a picture of the learning curves, and a trace."""

from __future__ import annotations

import importlib.util
import io
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from actorsession.checkpoints import write_whole
from actorsession.demo.training import Lesson
from actorsession.drawing import text
from actorsession.observe import write_trace

__all__ = ["PASS_MARK", "failures", "save_curves", "save_trace", "table"]

PASS_MARK = 0.95
_HEADINGS = ("", "steps", "steps/s", "accuracy", "bytes/step", "messages/step")


def table(lessons: Sequence[Lesson]) -> str:
    """Return the lessons as a table of plain text."""
    return "\n".join(text.table([_HEADINGS, *map(_row, lessons)]))


def _row(lesson: Lesson) -> tuple[str, ...]:
    speed = lesson.steps / lesson.seconds
    return (
        lesson.where,
        f"{lesson.steps:,}",
        f"{speed:,.0f}",
        f"{lesson.accuracy:.3f}",
        f"{lesson.step_bytes:,.0f}",
        f"{lesson.step_messages:.3g}",
    )


def failures(lessons: Sequence[Lesson]) -> Iterator[str]:
    """Yield one line for each lesson whose accuracy is too low."""
    for lesson in lessons:
        if lesson.accuracy < PASS_MARK:
            yield (
                f"{lesson.where}: accuracy {lesson.accuracy:.3f} on the held-out images after "
                f"{lesson.steps} steps; at least {PASS_MARK} was expected"
            )


def save_trace(lessons: Sequence[Lesson], folder: Path) -> str:
    """Write the trace of one distributed step, if there was one, and return a line about it."""
    for lesson in lessons:
        if lesson.trace is not None:
            path = folder / "trace.json"
            write_trace(path, lesson.trace)
            return f"Trace of one step: {path} (open it at https://ui.perfetto.dev)"
    return "Trace of one step: omitted, because no step was distributed"


def save_curves(lessons: Sequence[Lesson], folder: Path) -> str:
    """Draw the learning curves, if matplotlib is installed, and return a line about it."""
    if importlib.util.find_spec("matplotlib") is None:
        return "Learning curves: omitted, because matplotlib is not installed (pip install 'actorsession[demo]')"
    path = folder / "learning.png"
    drawn = _draw(lessons)
    write_whole(str(path), lambda file: file.write(drawn))
    return f"Learning curves: {path}"


def _draw(lessons: Sequence[Lesson]) -> bytes:
    # matplotlib logs when it creates its font cache, or a folder for that.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    # No pyplot: no window is needed, and pyplot takes long to import.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for lesson in lessons:
        steps = [point.step for point in lesson.curve]
        accuracies = [point.accuracy for point in lesson.curve]
        axes.plot(steps, accuracies, label=f"{lesson.where} ({lesson.accuracy:.3f})")
    axes.axhline(PASS_MARK, color="gray", linestyle=":", linewidth=1)
    axes.set(
        title="Handwritten digits",
        xlabel="training steps, of all workers together",
        ylabel="accuracy on held-out images",
        ylim=(0, 1),
    )
    axes.legend(loc="lower right")
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return picture.getvalue()
