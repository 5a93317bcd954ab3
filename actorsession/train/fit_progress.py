"""The progress of a training where somebody watches: a bar in a terminal or a notebook, and lines in a stream.

``fit`` chooses one by where it runs, and tells it of each step and each report. Nothing is drawn more often than
ten times a second, and by the thread of the training: a thread of its own would compete for the interpreter.
"""

from __future__ import annotations

import html
import shutil
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol, TextIO

from actorsession.extras import is_installed
from actorsession.ops.flow.streams import write_line
from actorsession.progress import claimed_terminal
from actorsession.terminal_text import visible

__all__ = [
    "Lines",
    "NotebookBar",
    "Pace",
    "RichBar",
    "State",
    "TextBar",
    "TimedLines",
    "Watcher",
    "bar_text",
    "watcher_of",
]

# Seconds between two drawings, and between two lines in a file.
_EVERY = 0.1
_EVERY_LINE = 10.0
_WIDTH = 24  # of the bar, in characters
_LAST_REPORTS = 10


class State(Protocol):
    """What a bar shows."""

    @property
    def done(self) -> int:
        """The number of steps so far."""

    @property
    def total(self) -> int | None:
        """The number of all steps; ``None`` while that is not known."""

    @property
    def loss(self) -> float:
        """The loss of the last step."""

    @property
    def rate(self) -> float:
        """Steps per second; 0 while that is not known."""


class Pace:
    """The rate of the later steps of a training, at least the second half of them: the first ones include planning."""

    def __init__(self) -> None:
        self._since = self._last = 0, 0.0  # steps and seconds at the last two times that the steps had doubled

    def note(self, done: int, seconds: float) -> None:
        """Take note of a step that has ended."""
        if done >= 2 * self._last[0]:
            self._since, self._last = self._last, (done, seconds)

    def rate(self, done: int, seconds: float) -> float:
        """Return the steps per second; 0 before the second step."""
        steps, before = self._since
        return (done - steps) / (seconds - before) if steps and seconds > before else 0.0


class Watcher:
    """Receives the progress of one training; this base class shows nothing."""

    def step(self, state: State) -> None:
        """Take note of a step that has ended."""

    def report(self, text: str) -> None:
        """Show a report."""

    def end(self, state: State) -> None:
        """Show the last state, and leave the screen as it is; called once, however the training ends."""


def bar_text(state: State, width: int = _WIDTH) -> str:
    """Return a bar with steps, rate, loss and the time that is left, as one line."""
    return f"{_drawn(state, width)} {_numbers(state)}"


def _drawn(state: State, width: int) -> str:
    share = 0.0 if not state.total else min(1.0, state.done / state.total)
    full = int(share * width)
    return "\N{BOX DRAWINGS HEAVY HORIZONTAL}" * full + "\N{BOX DRAWINGS LIGHT HORIZONTAL}" * (width - full)


def _numbers(state: State) -> str:
    rate = state.rate
    parts = [f"step {state.done}" if state.total is None else f"step {state.done} of {state.total}"]
    if rate:
        parts.append(f"{rate:,.0f} steps/s" if rate >= 10.0 else f"{rate:.2g} steps/s")
    parts.append(f"loss {state.loss:.4g}")
    if rate and state.total is not None:
        parts.append(f"{_clock((state.total - state.done) / rate)} left")
    return ", ".join(parts)


def _clock(seconds: float) -> str:
    """Return a duration as minutes and seconds, or hours, minutes and seconds."""
    minutes, rest = divmod(round(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Lines(Watcher):
    """Writes a line for each report into a stream.

    Args:
        stream: a text stream, such as a file or standard output.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def report(self, text: str) -> None:
        """Write a line."""
        write_line(self._stream, text)


class TimedLines(Watcher):
    """Writes a line every ten seconds, for a training whose standard error is a file; a short one writes none.

    Args:
        stream: a text stream.
        clock: returns the time in seconds.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._next = clock() + _EVERY_LINE

    def step(self, state: State) -> None:
        """Write a line, unless that was done less than ten seconds ago."""
        now = self._clock()
        if now >= self._next:
            self._next = now + _EVERY_LINE
            write_line(self._stream, _numbers(state))


class _Bar(Watcher):
    """What draws a state now and then.

    Args:
        clock: returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = 0.0
        self._claim = claimed_terminal()
        self._claim.__enter__()

    def step(self, state: State) -> None:
        """Draw the state, unless that was done a moment ago."""
        now = self._clock()
        if now >= self._next:
            self._next = now + _EVERY
            self.draw(state)

    def draw(self, state: State) -> None:
        """Draw a state."""
        raise NotImplementedError

    def end(self, state: State) -> None:
        """Draw the last state."""
        self.draw(state)
        self._claim.__exit__(None, None, None)


class TextBar(_Bar):
    """A bar in the last line of a terminal, without any other package.

    Args:
        stream: the terminal.
        clock: returns the time in seconds.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._stream = stream

    def draw(self, state: State) -> None:
        """Write the line anew."""
        text = bar_text(state)[: shutil.get_terminal_size().columns - 1]
        self._write(f"\r\x1b[K{visible(text)}")

    def report(self, text: str) -> None:
        """Write a report above the bar."""
        self._write(f"\r\x1b[K{visible(text)}\n")

    def end(self, state: State) -> None:
        """Leave the line."""
        super().end(state)
        self._write("\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


class RichBar(_Bar):
    """A bar in a terminal, drawn by the package rich.

    Args:
        stream: the terminal.
        clock: returns the time in seconds.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        super().__init__(clock)
        numbers = TextColumn("{task.fields[numbers]}", markup=False)
        self._progress = Progress(BarColumn(_WIDTH), numbers, console=Console(file=stream), auto_refresh=False)
        self._task = self._progress.add_task("", total=None, numbers="")
        self._progress.start()

    def draw(self, state: State) -> None:
        """Draw the bar anew."""
        self._progress.update(self._task, completed=state.done, total=state.total, numbers=_numbers(state))
        self._progress.refresh()

    def report(self, text: str) -> None:
        """Write a report above the bar."""
        self._progress.console.print(visible(text), markup=False, highlight=False)

    def end(self, state: State) -> None:
        """Leave the bar, and show the cursor again."""
        super().end(state)
        self._progress.stop()


class NotebookBar(_Bar):
    """A bar in the output of a cell, with the last reports below it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._reports: list[str] = []
        self._state: State | None = None
        self._handle: Any = None

    def draw(self, state: State) -> None:
        """Show the bar, or replace it."""
        from IPython.display import display

        self._state = state
        if self._handle is None:
            self._handle = display(self, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(self)

    def report(self, text: str) -> None:
        """Keep a report for the next drawing."""
        self._reports = [*self._reports, text][-_LAST_REPORTS:]

    def __repr__(self) -> str:
        return "\n".join([*([] if self._state is None else [bar_text(self._state)]), *self._reports])

    def _repr_html_(self) -> str:
        if self._state is None:
            return ""
        done, total = self._state.done, self._state.total
        share = "" if total is None else f' value="{done}" max="{total}"'
        lines = "".join(f"<div>{html.escape(line)}</div>" for line in self._reports)
        return (
            f'<div><progress{share} style="width: 16em"></progress> {html.escape(_numbers(self._state))}</div>{lines}'
        )


def watcher_of(progress: Any) -> Watcher:
    """Return what shows the progress of a training.

    Args:
        progress: a text stream; ``None`` for what suits the place: a bar in a notebook or a terminal, and a line
            every ten seconds where standard error is a file.
    """
    if progress is None and _is_notebook():
        return NotebookBar()
    stream = sys.stderr if progress is None else progress
    if stream is not None and stream.isatty():
        return RichBar(stream) if is_installed("rich") else TextBar(stream)
    if stream is None:
        return Watcher()
    return TimedLines(stream) if progress is None else Lines(stream)


def _is_notebook() -> bool:
    """Return whether the process is the kernel of a notebook, and not a shell of IPython."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return getattr(shell, "kernel", None) is not None
