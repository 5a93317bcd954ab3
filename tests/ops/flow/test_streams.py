"""Lines for standard streams: in order where they are read, counted where they are not."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from actorsession.ops.flow import streams
from actorsession.ops.flow.streams import relay_standard_streams, write_line

LINE = "x" * 999


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[TextIO, TextIO]]:
    """The two ends of a pipe, and a writer of the test's own."""
    monkeypatch.setattr(streams, "_writer", streams._Writer())
    reading, writing = os.pipe()
    with os.fdopen(reading) as source, os.fdopen(writing, "w") as sink:
        yield source, sink


def test_lines_that_are_read_come_in_order_before_what_is_said_next(pipe: tuple[TextIO, TextIO]) -> None:
    source, sink = pipe
    for number in range(5):
        write_line(sink, f"line {number}")
        assert source.readline() == f"line {number}\n"


def test_a_writer_goes_on_whoever_reads_and_says_later_how_many_lines_are_missing(pipe: tuple[TextIO, TextIO]) -> None:
    source, sink = pipe
    for number in range(3000):
        write_line(sink, f"{number} {LINE}")
    found = [source.readline()]
    while not found[-1].startswith("["):
        found.append(source.readline())
    numbers = [int(line.split()[0]) for line in found[:-1]]
    assert numbers == list(range(len(numbers)))
    assert 1000 <= len(numbers) < 1300, "what a pipe takes, and what may wait"
    assert found[-1] == f"[{3000 - len(numbers)} lines were dropped: nobody read]\n"
    write_line(sink, "after")
    assert source.readline() == "after\n"


def test_a_line_that_is_longer_than_a_pipe_is_written_whole(pipe: tuple[TextIO, TextIO]) -> None:
    source, sink = pipe
    write_line(sink, "y" * 1_000_000)
    assert len(source.readline()) == 1_000_001


def test_a_reader_that_is_gone_stops_nobody(pipe: tuple[TextIO, TextIO]) -> None:
    source, sink = pipe
    source.close()
    for _ in range(300):
        write_line(sink, LINE)
    streams._writer.flush(20)
    assert streams._writer._size == 0


def test_a_file_is_written_at_once(tmp_path: Path, pipe: tuple[TextIO, TextIO]) -> None:
    path = tmp_path / "log"
    with path.open("w") as sink:
        write_line(sink, "now")
        assert path.read_text() == "now\n"
    assert streams._writer._thread is None


SERVES_OTHERS = r"""
import sys
from actorsession.ops.flow.streams import serve_others, write_line
write_line(sys.stdout, "\x1b[31mown\tprogram")
serve_others()
write_line(sys.stdout, "\x1b[31mof a\tclient\r\u202e\nsecond\x7f")
"""


@pytest.mark.process
def test_what_others_print_is_visible_in_a_process_that_serves_them() -> None:
    ended = subprocess.run([sys.executable, "-c", SERVES_OTHERS], capture_output=True, timeout=60, check=True)
    own, first, second = ended.stdout.decode().splitlines()
    assert (own, first, second) == ("\x1b[31mown\tprogram", "\\x1b[31mof a\tclient\\r\\u202e", "second\\x7f")


def test_all_that_a_process_says_may_go_that_way(pipe: tuple[TextIO, TextIO], monkeypatch: pytest.MonkeyPatch) -> None:
    source, sink = pipe
    monkeypatch.setattr(sys, "stderr", sink)
    monkeypatch.setattr(sys, "stdout", sink)
    relay_standard_streams()
    sys.stderr.write("one two\n")
    assert source.readline() == "one two\n"
    sys.stdout.write("half")
    sys.stdout.write(" a line\nand ")
    assert source.readline() == "half a line\n"
    sys.stdout.flush()
    sys.stdout.write("more\n")
    assert source.readline() == "and more\n"
    done = threading.Event()

    def say_much() -> None:
        for _ in range(1000):
            sys.stderr.write(LINE + "\n")
        done.set()

    threading.Thread(target=say_much, daemon=True).start()
    assert done.wait(20)
    source.close()
    streams._writer.flush(20)
