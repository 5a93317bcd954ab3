"""A line in the terminal while something takes long, and nothing anywhere else."""

from __future__ import annotations

import contextlib
import io
import threading

import pytest

from actorsession.progress import claimed_terminal, shown_while

PATIENCE = 30.0


class Terminal(io.StringIO):
    """A terminal that says when something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        size = super().write(text)
        self.written.set()
        return size


def test_a_line_says_what_is_done_and_is_gone_at_the_end() -> None:
    with contextlib.redirect_stderr(Terminal()) as terminal:
        with shown_while("saving\x07 model-100", lambda: (3, 8), patience=0.0):
            assert terminal.written.wait(PATIENCE)
        assert "progress" not in " ".join(thread.name for thread in threading.enumerate())
    assert terminal.getvalue().startswith("\r\x1b[Ksaving\\x07 model-100: 3 of 8, 0 s")
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_what_ends_soon_shows_nothing() -> None:
    with contextlib.redirect_stderr(Terminal()) as terminal, shown_while("saving", patience=PATIENCE):
        pass
    assert terminal.getvalue() == ""


def test_in_a_file_nothing_is_shown_and_no_thread_is_started() -> None:
    threads = threading.active_count()
    with contextlib.redirect_stderr(io.StringIO()) as file, shown_while("saving", patience=0.0):
        assert threading.active_count() == threads
    assert file.getvalue() == ""


def test_one_line_is_shown_at_a_time_and_none_beside_a_bar() -> None:
    with contextlib.redirect_stderr(Terminal()) as terminal:
        with claimed_terminal(), shown_while("hidden", patience=0.0):
            assert "actorsession-progress" not in {thread.name for thread in threading.enumerate()}
        with shown_while("outer", patience=0.0), shown_while("inner", patience=0.0):
            assert terminal.written.wait(PATIENCE)
    assert "outer" in terminal.getvalue()
    assert not {"inner", "hidden"} & set(terminal.getvalue().replace(":", " ").split())


def test_a_terminal_that_is_gone_does_no_harm() -> None:
    class Gone(Terminal):
        def write(self, text: str) -> int:
            super().write(text)
            raise OSError("gone")

    with contextlib.redirect_stderr(Gone()) as terminal, shown_while("saving", patience=0.0):
        assert terminal.written.wait(PATIENCE)


def test_an_error_of_the_block_goes_on() -> None:
    with contextlib.redirect_stderr(Terminal()), pytest.raises(KeyError), shown_while("saving", patience=0.0):
        raise KeyError
    with contextlib.redirect_stderr(Terminal()) as terminal, shown_while("again", patience=0.0):
        assert terminal.written.wait(PATIENCE)
