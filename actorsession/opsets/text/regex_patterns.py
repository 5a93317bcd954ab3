"""Parser of RE2 patterns: a syntax tree of byte sets, sequences, alternatives and repetitions.

Owns ``parse``. The syntax, its limits and the wording of its errors are those of RE2 as used by TensorFlow:
UTF-8, Perl's classes and groups, no look-around and no back-references, which a linear-time engine cannot
support. For ``\\p{...}`` the general categories and ``Any`` are supported; scripts are rejected, because
Python has no table of them. Called by ``regex_programs``, which compiles the tree.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections.abc import Iterable
from typing import TypeAlias

from actorsession.records import dataclass

__all__ = [
    "BEGIN_LINE", "BEGIN_TEXT", "END_LINE", "END_TEXT", "NOT_WORD", "WORD", "Alternatives", "Bytes",
    "Characters", "Group", "Look", "Node", "PatternError", "Repeat", "Sequence", "parse",
]  # fmt: skip

_Ranges: TypeAlias = "list[tuple[int, int]]"

# Assertions on the position between two bytes, as bits of one number.
BEGIN_TEXT, END_TEXT, BEGIN_LINE, END_LINE, WORD, NOT_WORD = 1, 2, 4, 8, 16, 32
_ASSERTIONS = {"A": BEGIN_TEXT, "z": END_TEXT, "b": WORD, "B": NOT_WORD}

_LAST = sys.maxunicode
# RE2's limits: on the counts of repetitions (multiplied if nested), and on the nesting of groups.
_MOST_REPEATED = 1000
_DEEPEST = 1000
# Maximum bytes of a pattern; a much longer one is rejected for the size of its program anyway.
_LONGEST = 100_000
_ALL = (1 << 256) - 1

_PERL = {"d": [(48, 57)], "s": [(9, 10), (12, 13), (32, 32)], "w": [(48, 57), (65, 90), (95, 95), (97, 122)]}
_POSIX = {
    "alnum": [(48, 57), (65, 90), (97, 122)],
    "alpha": [(65, 90), (97, 122)],
    "ascii": [(0, 127)],
    "blank": [(9, 9), (32, 32)],
    "cntrl": [(0, 31), (127, 127)],
    "digit": [(48, 57)],
    "graph": [(33, 126)],
    "lower": [(97, 122)],
    "print": [(32, 126)],
    "punct": [(33, 47), (58, 64), (91, 96), (123, 126)],
    "space": [(9, 13), (32, 32)],
    "upper": [(65, 90)],
    "word": _PERL["w"],
    "xdigit": [(48, 57), (65, 70), (97, 102)],
}
_SINGLE = {"n": 10, "r": 13, "t": 9, "a": 7, "f": 12, "v": 11}
_COUNTED = re.compile(r"\{([0-9]+)(,?)([0-9]*)\}")
_NAMED_CLASS = re.compile(r"\[:(\^?)(.*?):\]", re.DOTALL)
_NAMED_GROUP = re.compile(r"\(\?P<(\w+)>")
_HEX = re.compile(r"[0-9A-Fa-f]*")


class PatternError(ValueError):
    """Raised for an invalid pattern, with RE2's message."""


@dataclass(frozen=True, slots=True)
class Bytes:
    """One byte out of a set: bit ``b`` of ``mask`` represents byte ``b``."""

    mask: int


@dataclass(frozen=True, slots=True)
class Characters:
    """One character in UTF-8 out of ordered ranges that neither touch nor overlap."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Look:
    """The empty string at a position where an assertion holds."""

    assertion: int


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts that follow each other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """A choice of several; the first one that leads to a match is used."""

    choices: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A part whose text is captured under a number."""

    number: int
    body: Node


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part repeated ``least`` to ``most`` times (-1: no limit), greedily or lazily."""

    body: Node
    least: int
    most: int
    greedy: bool


Node: TypeAlias = "Bytes | Characters | Look | Sequence | Alternatives | Group | Repeat"


def parse(pattern: bytes) -> tuple[Node, int]:
    """Parse a pattern.

    Returns:
        The syntax tree, and the number of captured groups.

    Raises:
        PatternError: for patterns that RE2 rejects, and for Unicode scripts.
    """
    if len(pattern) > _LONGEST:
        raise PatternError("pattern too large - compile failed")
    try:
        text = pattern.decode()
    except UnicodeDecodeError:
        raise PatternError("invalid UTF-8") from None
    return _Parser(text).run()


@dataclass(frozen=True, slots=True)
class _Flags:
    """Flags of a part of a pattern: ``i``, ``m``, ``s`` and ``U``."""

    fold: bool = False
    lines: bool = False
    dot_all: bool = False
    swap_greed: bool = False


class _Open:
    """A group that is still open: its content, and the flags to restore after it."""

    __slots__ = ("choices", "flags", "number", "parts")

    def __init__(self, number: int | None, flags: _Flags) -> None:
        self.number = number
        self.flags = flags
        self.choices: list[Node] = []
        self.parts: list[Node] = []

    def close(self) -> Node:
        self.end_choice()
        inside = self.choices[0] if len(self.choices) == 1 else Alternatives(tuple(self.choices))
        return inside if self.number is None else Group(self.number, inside)

    def end_choice(self) -> None:
        self.choices.append(self.parts[0] if len(self.parts) == 1 else Sequence(tuple(self.parts)))
        self.parts = []


class _Parser:
    """The parser: one pass over a pattern."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.flags = _Flags()
        self.open = [_Open(None, self.flags)]
        self.groups = 0
        self.repeated = -1  # start of the repetition that ends here

    def run(self) -> tuple[Node, int]:
        while self.at < len(self.text):
            self._step(self.text[self.at])
        if len(self.open) > 1:
            raise PatternError(f"missing ): {self.text}")
        return self.open[0].close(), self.groups

    def _put(self, node: Node, taken: int) -> None:
        self.open[-1].parts.append(node)
        self.at += taken

    def _step(self, character: str) -> None:
        if character in "*+?" or (character == "{" and _COUNTED.match(self.text, self.at) is not None):
            self._repeat()
            return
        self.repeated = -1
        if character == "(":
            self._group()
        elif character == ")":
            self._end()
        elif character == "|":
            self.open[-1].end_choice()
            self.at += 1
        elif character == "[":
            self._class()
        elif character == "\\":
            self._escape()
        elif character == ".":
            apart = [] if self.flags.dot_all else [(10, 10)]
            self._put(_characters(_negated(apart)), 1)
        elif character == "^":
            self._put(Look(BEGIN_LINE if self.flags.lines else BEGIN_TEXT), 1)
        elif character == "$":
            self._put(Look(END_LINE if self.flags.lines else END_TEXT), 1)
        else:
            self._put(self._literal(ord(character)), 1)

    def _literal(self, code: int) -> Node:
        return _characters(self._folded([(code, code)]))

    def _folded(self, ranges: _Ranges) -> _Ranges:
        return _with_other_cases(ranges) if self.flags.fold else ranges

    # -- groups ------------------------------------------------------------------------------------

    def _group(self) -> None:
        if len(self.open) > _DEEPEST:
            raise PatternError("expression nests too deeply")
        if self.text.startswith("(?", self.at):
            self._perl_group()
            return
        self._begin_group(1)

    def _begin_group(self, taken: int) -> None:
        self.groups += 1
        self.open.append(_Open(self.groups, self.flags))
        self.at += taken

    def _perl_group(self) -> None:
        if self.text.startswith("(?P<", self.at):
            group = _NAMED_GROUP.match(self.text, self.at)
            if group is None:
                end = self.text.find(">", self.at) + 1 or len(self.text)
                raise PatternError(f"invalid named capture group: {self.text[self.at : end]}")
            self._begin_group(group.end() - self.at)
            return
        flags, end = self._flags_from(self.at + 2)
        if self.text[end] == ":":
            self.open.append(_Open(None, self.flags))
        self.flags = flags
        self.at = end + 1

    def _flags_from(self, at: int) -> tuple[_Flags, int]:
        """Parse flags; return them and the position of the ``:`` or ``)`` that follows."""
        names = {"i": "fold", "m": "lines", "s": "dot_all", "U": "swap_greed"}
        settings = {name: getattr(self.flags, name) for name in names.values()}
        on, any_since_minus = True, True
        while at < len(self.text) and self.text[at] not in ":)":
            character = self.text[at]
            if character in names:
                settings[names[character]] = on
                any_since_minus = True
            elif character == "-" and on:
                on = any_since_minus = False
            else:
                raise PatternError(f"invalid perl operator: {self.text[self.at : at + 1]}")
            at += 1
        if at >= len(self.text) or not any_since_minus:
            raise PatternError(f"invalid perl operator: {self.text[self.at : at + 1]}")
        return _Flags(**settings), at

    def _end(self) -> None:
        if len(self.open) == 1:
            raise PatternError(f"unexpected ): {self.text}")
        group = self.open.pop()
        self.flags = group.flags
        self._put(group.close(), 1)

    # -- repetitions -------------------------------------------------------------------------------

    def _repeat(self) -> None:
        counted = _COUNTED.match(self.text, self.at)
        sign = counted[0] if counted else self.text[self.at]
        end = self.at + len(sign)
        lazy = self.text.startswith("?", end)
        end += lazy
        if self.repeated >= 0:
            raise PatternError(f"bad repetition operator: {self.text[self.repeated : end]}")
        if not self.open[-1].parts:
            raise PatternError(f"no argument for repetition operator: {self.text[self.at : end]}")
        if counted:
            least = int(counted[1][:9])
            most = least if not counted[2] else int(counted[3][:9]) if counted[3] else -1
        else:
            least, most = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}[sign]
        body = self.open[-1].parts.pop()
        repeat = Repeat(body, least, most, lazy == self.flags.swap_greed)
        wrong = max(least, most) > _MOST_REPEATED or 0 <= most < least
        if wrong or (max(least, most) > 1 and _copies(repeat) > _MOST_REPEATED):
            raise PatternError(f"invalid repetition size: {sign}")
        self.repeated = self.at
        self._put(repeat, end - self.at)

    # -- classes and escapes -----------------------------------------------------------------------

    def _class(self) -> None:
        """Parse a class in brackets."""
        begin = self.at
        self.at += 1
        negative = self.text.startswith("^", self.at)
        self.at += negative
        ranges: _Ranges = []
        first = True
        while first or not self.text.startswith("]", self.at):
            if self.at >= len(self.text):
                raise PatternError(f"missing ]: {self.text[begin:]}")
            first = False
            ranges += self._class_item(begin)
        merged = _joined(ranges)
        self._put(_characters(_negated(merged) if negative else merged), 1)

    def _class_item(self, begin: int) -> _Ranges:
        """Parse the next item of a class, and return its ranges."""
        named = _NAMED_CLASS.match(self.text, self.at)
        if named is not None:
            if named[2] not in _POSIX:
                raise PatternError(f"invalid character class range: {named[0]}")
            self.at = named.end()
            return self._signed(_POSIX[named[2]], negative=bool(named[1]))
        known = self._letter_class()
        if known is not None:
            return known
        first = self.at
        low = high = self._class_character(begin)
        following = self.text[self.at : self.at + 2]
        if len(following) == 2 and following[0] == "-" and following[1] != "]":
            self.at += 1
            high = self._class_character(begin)
            if high < low:
                raise PatternError(f"invalid character class range: {self.text[first : self.at]}")
        return self._folded([(low, high)])

    def _class_character(self, begin: int) -> int:
        if self.at >= len(self.text):
            raise PatternError(f"missing ]: {self.text[begin:]}")
        if self.text[self.at] == "\\":
            return self._escaped()
        self.at += 1
        return ord(self.text[self.at - 1])

    def _signed(self, ranges: _Ranges, *, negative: bool) -> _Ranges:
        """Return a predefined class with case folding, negated if requested."""
        merged = _joined(self._folded(ranges))
        return _negated(merged) if negative else merged

    def _letter_class(self) -> _Ranges | None:
        """Parse the class of a letter after a backslash, such as ``\\d`` or ``\\pL``, or return ``None``."""
        letter = self.text[self.at + 1 : self.at + 2]
        if self.text[self.at] != "\\" or not letter:
            return None
        if letter.lower() in _PERL:
            self.at += 2
            return self._signed(_PERL[letter.lower()], negative=letter.isupper())
        if letter not in "pP" or self.at + 2 >= len(self.text):
            return None
        match = re.compile(r"\{(\^?)(.*?)\}|()([^{])", re.DOTALL).match(self.text, self.at + 2)
        if match is None:
            raise PatternError(f"invalid character class range: {self.text[self.at :]}")
        whole, name = self.text[self.at : match.end()], match[2] or match[4] or ""
        ranges = [(0, _LAST)] if name == "Any" else _category(name)
        if not ranges:
            raise PatternError(f"invalid character class range: {whole}")
        self.at = match.end()
        return self._signed(ranges, negative=(letter == "P") != bool(match[1]))

    def _escape(self) -> None:
        """Parse a backslash outside brackets."""
        letter = self.text[self.at + 1 : self.at + 2]
        if letter and letter in _ASSERTIONS:
            self._put(Look(_ASSERTIONS[letter]), 2)
        elif letter == "C":
            self._put(Bytes(_ALL), 2)
        elif letter == "Q":
            end = self.text.find("\\E", self.at + 2)
            last = len(self.text) if end < 0 else end
            for character in self.text[self.at + 2 : last]:
                self._put(self._literal(ord(character)), 0)
            self.at = last if end < 0 else last + 2
        else:
            ranges = self._letter_class()
            if ranges is None:
                code = self._escaped()
                ranges = self._folded([(code, code)])
            self._put(_characters(ranges), 0)

    def _escaped(self) -> int:
        """Parse an escape, and return the character that it represents."""
        begin, text = self.at, self.text
        letter = text[begin + 1 : begin + 2]
        if not letter:
            raise PatternError("trailing \\")
        end = begin + 2
        code = -1
        if letter in _SINGLE:
            code = _SINGLE[letter]
        elif letter == "0" or (letter in "1234567" and text[end : end + 1] in tuple("01234567")):
            while end < begin + 4 and text[end : end + 1] in tuple("01234567"):
                end += 1
            code = int(text[begin + 1 : end], 8)
        elif letter == "x":
            code, end = self._hexadecimal(end)
        elif letter.isascii() and not letter.isalnum():
            code = ord(letter)
        if code < 0:
            raise PatternError(f"invalid escape sequence: {text[begin:end]}")
        self.at = end
        return code

    def _hexadecimal(self, at: int) -> tuple[int, int]:
        """Return the number after ``\\x``, or -1, and the position after it."""
        braces = self.text.startswith("{", at)
        match = _HEX.match(self.text, at + braces)
        assert match is not None
        digits = match[0] if braces else match[0][:2]
        if not braces:
            end = min(at + 2, len(self.text))
            return (int(digits, 16) if len(digits) == 2 else -1), end
        for count in range(1, len(digits) + 1):
            if int(digits[:count], 16) > _LAST:
                return -1, at + 1 + count
        end = min(match.end() + 1, len(self.text))
        closed = self.text.startswith("}", match.end())
        return (int(digits, 16) if digits and closed else -1), end


def _copies(node: Node) -> int:
    """Return how many copies of its most repeated part a tree contains after counts are expanded."""
    if isinstance(node, Repeat):
        times = node.most if node.most >= 0 else node.least
        return max(times, 1) * _copies(node.body)
    if isinstance(node, Group):
        return _copies(node.body)
    inner: Iterable[Node] = ()
    if isinstance(node, Sequence):
        inner = node.parts
    elif isinstance(node, Alternatives):
        inner = node.choices
    return max(map(_copies, inner), default=1)


# -- sets of characters ----------------------------------------------------------------------------


def _characters(ranges: _Ranges) -> Node:
    return Characters(tuple(_joined(ranges)))


def _joined(ranges: _Ranges) -> _Ranges:
    """Return ranges in order, with those that touch or overlap merged."""
    merged: _Ranges = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged


def _negated(ranges: _Ranges) -> _Ranges:
    """Return all characters outside the given ordered ranges."""
    edges = [-1, *[edge for low, high in ranges for edge in (low - 1, high)], _LAST]
    return [(a + 1, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]


def _with_other_cases(ranges: _Ranges) -> _Ranges:
    """Return ranges extended by the other cases of their characters."""
    more = [
        (other, other)
        for code, others in _cases().items()
        if any(low <= code <= high for low, high in ranges)
        for other in others
    ]
    return _joined([*ranges, *more])


@functools.cache
def _cases() -> dict[int, tuple[int, ...]]:
    """Return all other cases of each character that has any, by Unicode's simple case folding."""
    same: dict[int, set[int]] = {}
    for code in range(0x1F000):  # there are no scripts with cases beyond
        character = chr(code)
        # The dotted and the dotless i fold to other letters only in Turkish.
        if code in (0x130, 0x131):
            continue
        for other in (character.lower(), character.upper(), character.casefold()):
            if len(other) == 1 and other != character:
                both = same.get(code, {code}) | same.get(ord(other), {ord(other)})
                same.update(dict.fromkeys(both, both))
    return {code: tuple(sorted(codes)) for code, codes in same.items()}


@functools.cache
def _categories() -> dict[str, _Ranges]:
    """Return the ranges of each general category of Unicode."""
    categories: dict[str, _Ranges] = {}
    begin, name = 0, unicodedata.category("\0")
    for code in range(1, _LAST + 2):
        now = unicodedata.category(chr(code)) if code <= _LAST else ""
        if now != name:
            categories.setdefault(name, []).append((begin, code - 1))
            begin, name = code, now
    categories.pop("Cn", None)  # RE2 has no name for unassigned characters
    return categories


def _category(name: str) -> _Ranges:
    """Return the ranges of a category, or of all that begin with one letter; none if unknown."""
    categories = _categories()
    names = [name] if len(name) == 2 else [n for n in categories if len(name) == 1 and n[0] == name]
    return _joined([r for n in names for r in categories.get(n, [])])
