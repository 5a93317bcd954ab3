"""What a person reads at a terminal has nothing in it that acts or hides, and nobody need read it."""

from __future__ import annotations

import errno
import io
import logging
import os
from typing import Any

import pytest

from actorsession.terminal_text import VisibleFormatter, visible, write_lines
from tests.rows import for_each


@for_each(
    "text, seen",
    [
        ("", ""),
        ("plain words, ü, 漢字, 😀 and \\ too", "plain words, ü, 漢字, 😀 and \\ too"),
        ("e\u0301", "e\u0301"),  # an accent of its own is text
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("a\nb\r\tc\x00", r"a\nb\r\tc\x00"),
        ("\x7f\x80\x9b", r"\x7f\x80\x9b"),
        ("\x85\u2028\u2029\x0b\x0c\x1c", r"\x85\u2028\u2029\x0b\x0c\x1c"),
        ("\u202a\u202e\u2066\u2069\u200e\u061c", r"\u202a\u202e\u2066\u2069\u200e\u061c"),
        ("a\u200bb\u200d\ufeff\u2060\xad", r"a\u200bb\u200d\ufeff\u2060\xad"),
        ("\u034f\u115f\u3164\uffa0\u2800\ufe0f\u180e", r"\u034f\u115f\u3164\uffa0\u2800\ufe0f\u180e"),
        ("\U000e0041\U000e0100", r"\U000e0041\U000e0100"),
        ("\xa0\u3000", r"\xa0\u3000"),
        ("\ud800\udfff", r"\ud800\udfff"),
        ("\ue000\uffff", r"\ue000\uffff"),
    ],
)
def test_what_cannot_be_seen_is_shown_as_an_escape(text: str, seen: str) -> None:
    assert visible(text) == seen
    assert visible(seen) == seen


def test_every_character_is_visible_afterwards() -> None:
    for code in [*range(0x10000), *range(0xE0000, 0xE1000)]:
        shown = visible(chr(code))
        assert shown.isprintable()
        assert shown == chr(code) or shown.startswith("\\")


def test_a_record_of_a_log_is_one_line_and_those_of_its_traceback() -> None:
    formatter = VisibleFormatter("%(levelname)s %(name)s %(message)s")
    try:
        raise ValueError("a\x1b[2J\nb")
    except ValueError as error:
        record = logging.LogRecord("n", 30, "f", 1, "%s failed", ("x\r\n\u202e",), (ValueError, error, None))
    assert formatter.format(record).split("\n") == [r"WARNING n x\r\n\u202e failed", r"ValueError: a\x1b[2J", "b"]


class Stream(io.StringIO):
    """A stream that fails."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def flush(self) -> None:
        raise OSError(self.number, os.strerror(self.number))


def test_a_reader_that_is_gone_is_no_error_and_a_full_disk_is_one() -> None:
    assert not write_lines(Stream(errno.EPIPE), ["a"])
    with pytest.raises(OSError, match="No space left"):
        write_lines(Stream(errno.ENOSPC), ["a"])


def test_a_terminal_without_a_character_gets_its_escape() -> None:
    written = io.BytesIO()
    stream: Any = io.TextIOWrapper(written, encoding="ascii")
    assert write_lines(stream, ["ü\x1b", "second"])
    assert written.getvalue() == b"\\xfc\\x1b\nsecond\n"


def test_nothing_is_left_in_a_stream_whose_reader_is_gone() -> None:
    """The end of a process flushes its streams, and would report the pipe then."""
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as stream:
        assert not write_lines(stream, ["a"])
        assert write_lines(stream, ["b"])  # nowhere
