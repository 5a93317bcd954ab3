"""The progress of the training: a bar at a terminal, a few lines elsewhere, or nothing."""

from __future__ import annotations

import importlib.util
import sys
import time
from types import TracebackType

__all__ = ["Bars", "Lines", "Reporter", "reporter"]


class Reporter:
    """Receives the progress of the lessons in sequence; this base class shows nothing."""

    def begin(self, title: str, steps: int) -> None:
        """Start a lesson of ``steps`` steps."""

    def advance(self, steps: int, accuracy: float | None) -> None:
        """Report ``steps`` further steps, and the accuracy if it was measured."""

    def __enter__(self) -> Reporter:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        """Leave standard output as it was."""


class Lines(Reporter):
    """Prints a line at the beginning and at every quarter of a lesson, for logs."""

    def __init__(self) -> None:
        self._title = ""
        self._steps = self._done = 0
        self._seen = ""

    def begin(self, title: str, steps: int) -> None:
        """Start a lesson of ``steps`` steps and print a line."""
        self._title, self._steps, self._done, self._seen = title, steps, 0, ""
        print(f"  {title}: step 0 of {steps}")

    def advance(self, steps: int, accuracy: float | None) -> None:
        """Print a line if another quarter is done."""
        before, self._done = self._done, self._done + steps
        if accuracy is not None:
            self._seen = f", accuracy {accuracy:.3f}"
        if 4 * self._done // self._steps > 4 * before // self._steps:
            print(f"  {self._title}: step {self._done} of {self._steps}{self._seen}")


class Bars(Reporter):
    """Draws a bar for each lesson, with rich."""

    # Seconds between two refreshes. They are made here and not by rich's own thread, which would compete for
    # the interpreter with the training.
    _EVERY = 0.1

    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._progress = Progress(
            TextColumn("  {task.description:<18}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            auto_refresh=False,
        )
        self._drawn = 0.0

    def begin(self, title: str, steps: int) -> None:
        """Start a bar of ``steps`` steps."""
        self._lesson = self._progress.add_task(title, total=steps, note="")

    def advance(self, steps: int, accuracy: float | None) -> None:
        """Lengthen the bar."""
        if accuracy is not None:
            self._progress.update(self._lesson, note=f"accuracy {accuracy:.3f}")
        self._progress.advance(self._lesson, steps)
        if self._progress.finished or time.monotonic() - self._drawn > self._EVERY:
            self._progress.refresh()
            self._drawn = time.monotonic()

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        """Leave the bars as they are, and show the cursor again."""
        self._progress.stop()


def reporter(wanted: bool) -> Reporter:
    """Return the reporter that suits standard output.

    Args:
        wanted: whether to show progress at all.
    """
    if not wanted:
        return Reporter()
    if sys.stdout.isatty() and importlib.util.find_spec("rich") is not None:
        return Bars()
    return Lines()
