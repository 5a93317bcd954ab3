"""Text that people read at a terminal or in a log: no character in it does anything there, or hides.

Names, messages and lines come from peers, files and arguments. A terminal obeys control characters, shows
text in another order after others, and a line break begins what looks like a line of ours. Everything that a
command prints, and every line of its log, passes here. Called by ``cli``, and by what writes for it below;
imports nothing of the package.

Invariants: ``visible(visible(text)) == visible(text)``. Writing to a reader that is gone is no error, and
leaves nothing behind that the end of the process would report.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterable
from typing import TextIO

__all__ = ["VisibleFormatter", "lead_nowhere", "visible", "write_lines"]

# Characters that show nothing although they count as printable: fillers, selectors of variants, joiners.
_HIDDEN = frozenset(
    map(chr, [0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, *range(0x180B, 0x1810)])
) | frozenset(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))


def visible(text: str) -> str:
    """Return one line of text whose characters all can be seen, the others as escapes such as ``\\x1b``.

    Escaped are control characters, line breaks of all kinds, what changes the direction of text, what has no
    width, separators other than the space, and halves of surrogate pairs.
    """
    if text.isprintable() and (text.isascii() or _HIDDEN.isdisjoint(text)):
        return text
    return "".join(sign if sign.isprintable() and sign not in _HIDDEN else _escaped(sign) for sign in text)


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")


class VisibleFormatter(logging.Formatter):
    """Formats a record as one visible line; the lines of a traceback follow."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        return visible(super().formatMessage(record))

    def formatException(self, ei: object) -> str:
        """Return the lines of a traceback."""
        text = super().formatException(ei)  # type: ignore[arg-type]
        return "\n".join(map(visible, text.split("\n")))


def write_lines(stream: TextIO, lines: Iterable[str]) -> bool:
    """Write lines, made visible, and flush them, because a reader may wait at a pipe.

    Returns:
        Whether somebody reads. If not, the stream leads nowhere from now on.

    Raises:
        OSError: if it cannot be written for another reason, such as a full disk; it leads nowhere then, too.
    """
    text = "".join(f"{visible(line)}\n" for line in lines)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        lead_nowhere(stream)
        return False
    except OSError:
        lead_nowhere(stream)
        raise
    return True


def lead_nowhere(stream: TextIO) -> None:
    """Let a stream write to the null device: what is in its buffer would fail again when the process ends."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
