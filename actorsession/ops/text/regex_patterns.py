"""Patterns of RE2 as patterns of Python's ``re``, without those that could run for ever.

Owns ``translated``, which goes through a pattern once. RE2, which TensorFlow uses, takes linear time;
Python's engine goes back and tries again, which for some patterns takes time exponential in the text, and
cannot be stopped. So a repeated group must hold no repetition of its own, and alternatives in it must begin
with different characters. That is stricter than RE2. Repetitions side by side can still be slow, but never
more than a power of the text's length.

Invariant: what is translated means the same in both, on text in which a byte that is no UTF-8 stands as a
lone surrogate.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from actorsession.errors import InvalidArgumentError

__all__ = ["compiled", "translated"]

_BROKEN = "\\udc80-\\udcff"
_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\\x00-\\x7f", "blank": "\\t ",
    "cntrl": "\\x00-\\x1f\\x7f", "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~",
    "punct": "!-/:-@\\[-`{-~", "space": "\\t\\n\\v\\f\\r ", "upper": "A-Z", "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_SPACES = "\\t\\n\\f\\r "
# What stands for a letter after a backslash, to be put in brackets.
_LETTERS = {
    "d": "0-9", "D": f"^0-9{_BROKEN}", "s": _SPACES, "S": f"^{_SPACES}{_BROKEN}",
    "w": "0-9A-Za-z_", "W": f"^0-9A-Za-z_{_BROKEN}",
}  # fmt: skip
_GROUP = re.compile(r"\(\?(?:P?<([A-Za-z_]\w*)>|(i?):)")
_FLAGS = re.compile(r"\(\?([is]+)\)")
_COUNTED = re.compile(r"\{(\d+)(,?)(\d*)\}")
# The most repetitions that RE2 counts.
_MOST = 1000


@dataclass(slots=True)
class _Group:
    """What is known of a group that is still open, or of the pattern as a whole.

    Attributes:
        repeats: whether something in it is repeated.
        heads: with what each alternative begins; ``None`` where that is not one plain character.
        begun: whether the current alternative has begun.
    """

    repeats: bool = False
    heads: list[str | None] = field(default_factory=list)
    begun: bool = False

    def atom(self, head: str | None) -> None:
        """Notes a part of the current alternative."""
        if not self.begun:
            self.heads.append(head and head.casefold())
            self.begun = True

    def alternative(self) -> None:
        """Ends the current alternative."""
        self.atom(None)
        self.begun = False

    @property
    def risky(self) -> bool:
        """Whether repeating it could try one text in several ways."""
        several = len(self.heads) > 1 and (
            None in self.heads or len(set(self.heads)) < len(self.heads)
        )
        return self.repeats or several or not self.heads


class _Translation:
    """One pass over a pattern."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.out: list[str] = []
        self.open = [_Group()]
        # The group that the last part was, if it was one.
        self.closed: _Group | None = None
        self.repeatable = False
        self.dot_all = False

    def run(self) -> str:
        flags = _FLAGS.match(self.pattern)
        if flags is not None:
            self.out.append(flags[0])
            self.dot_all = "s" in flags[1]
            self.at = flags.end()
        while self.at < len(self.pattern):
            self._step(self.pattern[self.at])
        if len(self.open) > 1:
            raise self._refused("a group is not closed")
        return "".join(self.out)

    def _refused(self, why: str) -> InvalidArgumentError:
        return InvalidArgumentError(f"Invalid pattern: {self.pattern!r:.200}, error: {why}")

    def _put(self, text: str, taken: int, head: str | None = None) -> None:
        """Adds a part that may be repeated."""
        self.out.append(text)
        self.at += taken
        self.open[-1].atom(head)
        self.closed, self.repeatable = None, True

    def _step(self, character: str) -> None:
        if character == "(":
            self._group()
        elif character == ")":
            self._end()
        elif character == "|":
            self.out.append("|")
            self.at += 1
            self.open[-1].alternative()
            self.repeatable = False
        elif character in "*+?" or _COUNTED.match(self.pattern, self.at):
            self._repeat()
        elif character == "[":
            self._class()
        elif character == "\\":
            self._escape()
        elif character == ".":
            self._put(f"[^{_BROKEN}]" if self.dot_all else f"[^\\n{_BROKEN}]", 1)
        elif character in "^$":
            self.out.append("\\Z" if character == "$" else "^")
            self.at += 1
            self.open[-1].atom(None)
            self.repeatable = False
        else:
            self._put(re.escape(character), 1, character)

    def _group(self) -> None:
        start = "("
        if self.pattern.startswith("(?", self.at):
            found = _GROUP.match(self.pattern, self.at)
            if found is None:
                raise self._refused(
                    "look-around, conditions and flags but i, or i and s at the start, are not known here"
                )
            start = f"(?P<{found[1]}>" if found[1] else found[0]
            self.at = found.end()
        else:
            self.at += 1
        self.out.append(start)
        self.open.append(_Group())
        self.repeatable = False

    def _end(self) -> None:
        if len(self.open) == 1:
            raise self._refused("a ) without a (")
        group = self.open.pop()
        if not group.begun:
            group.atom(None)
        self._put(")", 1)
        self.closed = group
        self.open[-1].repeats |= group.risky

    def _repeat(self) -> None:
        if not self.repeatable:
            raise self._refused("nothing to repeat")
        counted = _COUNTED.match(self.pattern, self.at)
        text = counted[0] if counted else self.pattern[self.at]
        if counted and max(int(n or 0) for n in (counted[1], counted[3])) > _MOST:
            raise self._refused(f"a repetition of more than {_MOST}")
        if self.closed is not None and self.closed.risky and text != "?":
            raise self._refused(
                "a repeated group must hold no repetition, and alternatives that begin with different "
                "characters: others could take time exponential in the text"
            )
        self.at += len(text)
        if self.pattern.startswith("?", self.at):
            text += "?"
            self.at += 1
        self.out.append(text)
        self.open[-1].repeats = True
        self.repeatable, self.closed = False, None

    def _class(self) -> None:
        """A class in brackets, with the classes of POSIX written out."""
        at = self.at + 1
        negated = self.pattern.startswith("^", at)
        at += negated
        parts = [f"[^{_BROKEN}" if negated else "["]
        first = True
        while first or not self.pattern.startswith("]", at):
            if at >= len(self.pattern):
                raise self._refused("missing ]")
            named = re.compile(r"\[:(\w+):\]").match(self.pattern, at)
            if named is not None:
                if named[1] not in _POSIX:
                    raise self._refused(f"no class {named[1]}")
                parts.append(_POSIX[named[1]])
                at = named.end()
            elif self.pattern[at] == "\\":
                parts.append(self._escaped(at, "afnrtvdswx", True))
                at += 2
            else:
                parts.append(
                    "\\" + self.pattern[at] if self.pattern[at] in "[]&~|^" else self.pattern[at]
                )
                at += 1
            first = False
        self._put("".join(parts) + "]", at + 1 - self.at)

    def _escape(self) -> None:
        text = self._escaped(self.at, "afnrtvdDsSwWxABbz", False)
        following = self.pattern[self.at + 1]
        if following in "ABbz":
            self.out.append("\\Z" if following == "z" else text)
            self.at += 2
            self.open[-1].atom(None)
            self.repeatable = False
            return
        self._put(text, 2, None if following.isalnum() else following)

    def _escaped(self, at: int, letters: str, inside: bool) -> str:
        following = self.pattern[at + 1 : at + 2]
        if not following:
            raise self._refused("a trailing \\")
        if following.isalnum() and following not in letters:
            raise self._refused(f"the escape \\{following} is not known here")
        known = _LETTERS.get(following, "\\" + following)
        return known if inside or following not in _LETTERS else f"[{known}]"


def translated(pattern: bytes) -> str:
    """A pattern of RE2 as one of Python's.

    Raises:
        InvalidArgumentError: for what is no pattern, or none that is safe here.
    """
    try:
        text = pattern.decode()
    except UnicodeDecodeError:
        raise InvalidArgumentError(f"Invalid pattern: {pattern!r:.200} is no UTF-8") from None
    return _Translation(text).run()


def compiled(pattern: bytes) -> re.Pattern[str]:
    """The pattern ready for text that was decoded with ``surrogateescape``.

    Raises:
        InvalidArgumentError: as ``translated``.
    """
    text = translated(pattern)
    try:
        return re.compile(text, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidArgumentError(f"Invalid pattern: {pattern!r:.200}, error: {error}") from None
