"""The live screen of a cluster: its rows and their order, and what keys do in a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import pytest

from actorsession.cli import rates, status, top
from actorsession.cluster import ServerStatistics, TaskRates
from tests.cli.kit import called, serving
from tests.cluster.kit import PATIENCE, W0, W1
from tests.cluster.script import command, environment

SOUND = ServerStatistics(
    task=W0, sessions=0, worker_sessions=0, graphs=0, steps=2, rendezvous=0, runs=0, pushes=0, links=(),
    version="1", waiting=1, uptime=61.0, memory=2**20,
)  # fmt: skip
IDLE = TaskRates(whole=0.0, steps=0.0, p50=0.0, p99=0.0, cpu=0.0, sent=0.0, received=0.0, errors=0)
ANSWERS = [
    status.TaskAnswer(W0, "h:1", SOUND),
    status.TaskAnswer(W1, "h:2", replace(SOUND, task=W1, memory=2**30, loop_lag=3.0)),
    status.TaskAnswer("/job:worker/replica:0/task:2", "h:3", fault="nobody is there"),
]
RATES = {"h:1": replace(IDLE, whole=100.4, steps=250.4, p99=0.25, sent=2048.0), "h:2": replace(IDLE, cpu=1.5, errors=4)}


def drawn(order: top.Order, rates: Mapping[str, TaskRates] = RATES, width: int = 200, height: int = 12) -> list[str]:
    lines = top.screen_lines(ANSWERS, rates, order, "12:00:00 h:1", width, height)
    return [re.sub(r"\x1b\[\d*m", "", line) for line in lines]


def order_of(order: top.Order) -> str:
    """The last characters of the tasks' names from above."""
    return "".join(line.split()[0 if line.startswith("/") else 1][-1] for line in drawn(order)[2:5])


def test_the_screen_has_a_row_for_each_task_and_says_what_is_wrong() -> None:
    lines = drawn(top.Order())
    assert len(lines) == 12
    assert lines[0] == "12:00:00 h:1  2 of 3 tasks up, 100.4 steps/s, by task"
    headings = ["TASK", "UPTIME", "MEMORY", "RUNNING", "WAITING", *rates.RATE_HEADINGS]
    assert lines[1].split() == headings
    cells = re.split(r" {2,}", lines[2].strip())
    assert cells == [W0, "1m01s", "1.0 MiB", "2", "1", "250", "-", "250 ms", "0 %", "2.0 KiB", "0 B", "0"]
    assert [line.split()[0] for line in lines[3:5]] == ["!", "x"]
    assert lines[4].split()[2:] == ["-"] * 11
    assert lines[-3] == "/job:worker/replica:0/task:2 at h:3 does not answer: nobody is there"
    assert lines[-2] == f"{W1}: its event loop was 3.0 s late; a kernel or callback holds it"
    assert lines[-1].startswith("q quit")


def test_in_the_first_round_there_are_no_rates_yet() -> None:
    lines = drawn(top.Order("s"), {})
    assert [line.split()[-1] for line in lines[2:5]] == ["-"] * 3
    assert "0.0 steps/s, by steps" in lines[0]


@pytest.mark.parametrize(
    ("keys", "tasks"),
    [("", "012"), ("t", "210"), ("s", "012"), ("c", "102"), ("m", "102"), ("e", "102"), ("b", "012"), ("l", "012")],
)
def test_a_key_sorts_the_rows_and_the_same_key_again_turns_them_round(keys: str, tasks: str) -> None:
    order = top.Order()
    for key in keys:
        order = order.pressed(key)
    assert order_of(order) == tasks
    if keys and keys != "t":
        assert order_of(order.pressed(keys)) == tasks[::-1]
        assert order.pressed(keys).pressed(keys) == order
    assert order.pressed("x") == order


@pytest.mark.parametrize(("width", "height"), [(40, 12), (200, 5), (10, 3), (1, 1)])
def test_a_small_window_shows_what_it_has_room_for(width: int, height: int) -> None:
    lines = drawn(top.Order(), width=width, height=height)
    assert len(lines) == height
    assert max(map(len, lines)) <= width


def test_without_a_terminal_it_says_what_to_use() -> None:
    code, out, err = called("top", "127.0.0.1:1")
    assert (code, out) == (2, "")
    assert "status --watch prints the same" in err


# -- in a terminal ---------------------------------------------------------------------------------


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, *words: str) -> None:
        self._ours, theirs = pty.openpty()
        self.theirs = theirs
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 160, 0, 0))
        self.before = termios.tcgetattr(theirs)
        plain = {name: value for name, value in environment().items() if name not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            command(*words), stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=plain, start_new_session=True
        )
        self.text = ""
        self._seen = 0

    def until(self, words: str) -> None:
        """Read until some words have come, behind those of the call before."""
        while (at := self.text.find(words, self._seen)) < 0:
            readable, _, _ = select.select([self._ours], [], [], PATIENCE)
            assert readable, f"no {words!r} in {self.text[self._seen :]!r}"
            self.text += os.read(self._ours, 10_000).decode()
        self._seen = at + len(words)

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        os.close(self._ours)
        os.close(self.theirs)


@contextmanager
def terminal(*words: str) -> Iterator[Terminal]:
    screen = Terminal(*words)
    try:
        yield screen
    finally:
        screen.close()


@pytest.mark.process
def test_keys_sort_the_screen_and_q_gives_the_terminal_back_as_it_was() -> None:
    with serving("cluster", "--jobs", "worker=2") as (_, said):
        with terminal("top", said["tasks"][W0]["address"], "--interval", "60") as screen:
            screen.until("e errors")
            assert screen.text.startswith("\x1b[?1049h\x1b[?25l")
            assert "2 of 2 tasks up" in screen.text
            assert W0 in screen.text
            assert W1 in screen.text
            screen.press("x")
            screen.until("by task")
            screen.press("m")
            screen.until("by memory")
            screen.press(" ")
            screen.until("0.0 steps/s, by memory")
            screen.until("e errors")
            fcntl.ioctl(screen.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 30, 0, 0))
            screen.process.send_signal(signal.SIGWINCH)  # which a terminal of its own would send
            screen.until("\x1b[7mTASK")
            heading = screen.text.rindex("\x1b[7mTASK")
            screen.until("q quit")
            assert "RUNNING" not in screen.text[heading:]
            screen.press("q")
            screen.until("\x1b[?25h\x1b[?1049l")
            assert screen.process.wait(PATIENCE) == 0
            assert termios.tcgetattr(screen.theirs) == screen.before
            assert screen.process.stderr is not None
            assert screen.process.stderr.read() == b""


@pytest.mark.process
def test_ctrl_c_ends_it_as_well_and_a_cluster_that_is_not_there_is_shown_as_such() -> None:
    with terminal("top", "127.0.0.1:1") as screen:
        screen.until("does not answer")
        screen.press("\x03")
        screen.process.send_signal(signal.SIGINT)  # which a controlling terminal would send
        assert screen.process.wait(PATIENCE) == 0
        assert termios.tcgetattr(screen.theirs) == screen.before
