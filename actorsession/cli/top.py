"""``actorsession top``: what the tasks of a cluster do now, as a screen that is drawn again and again.

The same numbers as ``status --watch``, sorted. It is drawn with the control sequences of every terminal since the
VT100: rich would redraw a table of the same text, and brings no keys.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from actorsession.cli.console import SUCCESS, UsageError, add_address, raw, seconds
from actorsession.cli.rates import RATE_HEADINGS, Rounds, rate_cells
from actorsession.cli.status import TaskAnswer, ask_cluster, marked, wrongs_of
from actorsession.drawing.text import byte_size, table
from actorsession.durations import short_duration
from actorsession.records import dataclass
from actorsession.terminal_text import visible

if TYPE_CHECKING:
    from actorsession.cluster import TaskRates

__all__ = ["Order", "add_to", "screen_lines"]

_EPILOG = """\
keys: q quit; space ask now; sort by t task, s steps per second, l latency (P99), c processor time,
m memory, b bytes per second, e errors; the same key again turns the order round.

A row begins with x if its task has not answered, with ? if another server answers at its address, and with
! if something is wrong, which the last lines explain.

exit status: 0 q or Ctrl-C; 1 the terminal was lost; 2 invalid arguments, or no terminal.
environment: ACTORSESSION_TOKEN is the secret that servers and clients share.
"""
_HEADINGS = ("TASK", "UPTIME", "MEMORY", "RUNNING", "WAITING", *RATE_HEADINGS)
_INTERVAL = 2.0
# Another screen than that of the shell, without a cursor; and back.
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_HOME, _END_LINE, _END_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"
_REVERSED, _BOLD, _PLAIN = "\x1b[7m", "\x1b[1m", "\x1b[0m"


class _Key(NamedTuple):
    """What tasks are sorted by.

    Attributes:
        name: its name on the screen.
        value: returns it for a task that has answered, with its rates.
        is_descending: whether the largest come first.
    """

    name: str
    value: Callable[[TaskAnswer, TaskRates | None], Any]
    is_descending: bool = True


def _rate(field: str) -> Callable[[TaskAnswer, Any], Any]:
    return lambda answer, rates: -1.0 if rates is None else getattr(rates, field)


_KEYS = {
    "t": _Key("task", lambda answer, rates: answer.counters.task if answer.counters else answer.task, False),
    "s": _Key("steps", _rate("steps")),
    "l": _Key("latency", _rate("p99")),
    "c": _Key("processor", _rate("cpu")),
    "m": _Key("memory", lambda answer, rates: answer.counters.memory if answer.counters else -1),
    "b": _Key("bytes", lambda answer, rates: -1.0 if rates is None else rates.sent + rates.received),
    "e": _Key("errors", _rate("errors")),
}


@dataclass(frozen=True, slots=True)
class Order:
    """The order of the rows.

    Attributes:
        key: the key of the keyboard, see the help of the command.
        is_turned: whether the order of that is turned round.
    """

    key: str = "t"
    is_turned: bool = False

    def pressed(self, key: str) -> Order:
        """Return the order after a key was pressed; other keys change nothing."""
        if key not in _KEYS:
            return self
        return replace(self, is_turned=not self.is_turned) if key == self.key else Order(key)

    def sorted(self, answers: Sequence[TaskAnswer], rates: Mapping[str, TaskRates]) -> list[TaskAnswer]:
        """Return answers in the order; equal ones by task."""
        key = _KEYS[self.key]
        by_task = sorted(answers, key=lambda answer: _KEYS["t"].value(answer, None))
        return sorted(
            by_task,
            key=lambda answer: key.value(answer, rates.get(answer.address)),
            reverse=key.is_descending != self.is_turned,
        )


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "top",
        help="show the tasks of a cluster as a live screen",
        description=(
            "Show what all tasks of a cluster do: resident MEMORY, steps that are RUNNING or WAITING for admission,\n"
            "and since the last round steps per second, how long they took (P50, P99), processor time (100 % is\n"
            "one processor), bytes per second sent and received, and ERRORS."
        ),
        epilog=_EPILOG,
        formatter_class=raw,
    )
    add_address(parser, "a task")
    parser.add_argument(
        "--interval",
        type=seconds,
        default=_INTERVAL,
        metavar="SECONDS",
        help="the time between two rounds (default %(default)g)",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=5.0,
        metavar="SECONDS",
        help="how long to wait for answers (default %(default)g)",
    )
    parser.add_argument("--sort", choices=tuple(_KEYS), default="t", help="the key to begin with (default %(default)s)")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from actorsession.actors.loops import run

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("top draws on a terminal, and this is none; status --watch prints the same")
    with contextlib.suppress(KeyboardInterrupt), _drawing():
        run(_watch(options))
    return SUCCESS


@contextmanager
def _drawing() -> Iterator[None]:
    """Use the terminal's other screen, and get keys as they are pressed."""
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    _write(_ENTER)
    try:
        tty.setcbreak(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        _write(_LEAVE)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


async def _watch(options: argparse.Namespace) -> None:
    """Ask and draw until q is pressed, or nobody is there to press it."""
    order, rounds = Order(options.sort), Rounds()
    answers: list[TaskAnswer] = []
    rates: dict[str, TaskRates] = {}
    async with _keys() as keys:
        while True:
            answers = await ask_cluster(options.address, all_tasks=True, limit=options.timeout)
            rates = rounds.rates(answers)
            due = time.monotonic() + options.interval
            while True:
                _draw(answers, rates, order, options.address)
                key = await _next(keys, due - time.monotonic())
                if key in ("q", ""):
                    return
                if key in (None, " "):
                    break
                order = order.pressed(key)


async def _next(keys: asyncio.Queue[str], limit: float) -> str | None:
    """Return the next key; ``None`` after so many seconds."""
    try:
        async with asyncio.timeout(limit):
            return await keys.get()
    except TimeoutError:
        return None


@asynccontextmanager
async def _keys() -> AsyncIterator[asyncio.Queue[str]]:
    """Queue the keys that are pressed, "" at the end of the input, and another one when the window changes."""
    loop, keys = asyncio.get_running_loop(), asyncio.Queue[str]()
    number = sys.stdin.fileno()

    def read() -> None:
        try:
            data = os.read(number, 100)
        except OSError:  # the terminal is gone
            data = b""
        for key in data.decode("ascii", "replace") or [""]:
            keys.put_nowait(key)
        if not data:
            loop.remove_reader(number)

    loop.add_reader(number, read)
    loop.add_signal_handler(signal.SIGWINCH, keys.put_nowait, "window")
    try:
        yield keys
    finally:
        loop.remove_reader(number)
        loop.remove_signal_handler(signal.SIGWINCH)


def _draw(answers: Sequence[TaskAnswer], rates: Mapping[str, TaskRates], order: Order, address: str) -> None:
    width, height = shutil.get_terminal_size()
    lines = screen_lines(answers, rates, order, f"{time.strftime('%H:%M:%S')} {address}", width, height)
    # Without a line break behind the last one, which would move the screen up.
    _write(_HOME + f"{_END_LINE}\r\n".join(lines) + _END_LINE + _END_SCREEN)


def screen_lines(
    answers: Sequence[TaskAnswer], rates: Mapping[str, TaskRates], order: Order, heading: str, width: int, height: int
) -> list[str]:
    """Return the lines of a screen, with control sequences for its headings and for what is wrong.

    Args:
        answers: the answers of the tasks.
        rates: what they did since the last round, by address.
        order: the order of the rows.
        heading: the first line.
        width: the columns of the screen.
        height: its lines; what does not fit is left out, the last rows first.
    """
    wrongs = wrongs_of(answers)
    shown = order.sorted(answers, rates)
    up = sum(answer.counters is not None and not answer.fault for answer in answers)
    steps = sum(one.whole for one in rates.values())
    first = f"{heading}  {up} of {len(answers)} tasks up, {steps:.1f} steps/s, by {_KEYS[order.key].name}"
    head, *rows = table([_HEADINGS, *[_cells(answer, rates.get(answer.address), wrongs) for answer in shown]])
    told = [answer.text for answer in shown if answer.fault]
    told += [f"{a.counters.task}: {words}" for a in shown if a.counters for words in wrongs.get(a.address, ())]
    keys = "q quit  space now  " + "  ".join(f"{key} {each.name}" for key, each in _KEYS.items())
    room = max(height - 3, 0)
    told = told[: room // 2]
    bold = [marked(answer, wrongs)[:2] in ("x ", "? ", "! ") for answer in shown]
    lines = [
        f"{_BOLD}{row[:width]}{_PLAIN}" if is_bold else row[:width]
        for row, is_bold in zip(rows[: room - len(told)], bold, strict=False)
    ]
    fill = [""] * max(room - len(lines) - len(told), 0)
    return [
        visible(first)[:width],
        f"{_REVERSED}{head[:width]:{width}}{_PLAIN}",
        *lines,
        *fill,
        *[visible(words)[:width] for words in told],
        keys[:width],
    ][:height]


def _cells(answer: TaskAnswer, rates: TaskRates | None, wrongs: Mapping[str, Sequence[str]]) -> Sequence[str]:
    name, seen = marked(answer, wrongs), answer.counters
    if seen is None:
        return (name, *["-"] * (len(_HEADINGS) - 1))
    memory = byte_size(seen.memory) if seen.memory else "-"
    return (name, short_duration(seen.uptime), memory, str(seen.steps), str(seen.waiting), *rate_cells(rates))
