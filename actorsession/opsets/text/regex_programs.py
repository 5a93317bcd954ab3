"""Patterns as programs of a non-deterministic automaton over bytes, executed in linear time.

Owns ``Expression``. A program consists of **leaves**, which read a byte of a set; of choices in order of
preference, group marks and assertions, which read nothing; and of one end. Characters are read as their UTF-8
bytes, so invalid UTF-8 can be matched like any other text.

A text is read twice. Backwards, a deterministic automaton that is built on demand determines for each
position the leaves from which a match is still possible; its states are sets of leaves. Forwards, the matcher
then takes the most preferred of these leaves at each position and never backtracks: this yields the match
that RE2 and Perl would find. Both passes take one iteration per byte, so the time is linear in the text for
every pattern, and successive matches share the backward pass.

Invariant: the number of cached states, and of positions whose states are kept, is bounded.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from typing import NamedTuple

from actorsession.errors import InvalidArgumentError
from actorsession.opsets.text.regex_patterns import (
    BEGIN_LINE,
    BEGIN_TEXT,
    END_LINE,
    END_TEXT,
    NOT_WORD,
    WORD,
    Alternatives,
    Bytes,
    Characters,
    Group,
    Look,
    Node,
    PatternError,
    Repeat,
    Sequence,
    parse,
)

__all__ = ["Expression", "compiled"]

# Maximum number of instructions of a program; RE2 rejects patterns of about five times as many.
_MOST_CODE = 50_000
# Number of states cached by one automaton, and of positions of a text whose states are kept at a time.
MOST_STATES = 4_000
BLOCK = 1 << 14
_SHOWN = 200

_LEAF, _CHOICE, _MARK, _LOOK, _END = range(5)
# The index of the end, which is written first.
_END_AT = 0
# The outcomes of a match that reads no further byte.
_OVER, _FAILED = -1, -2
_TAIL = (0x80, 0xBF)
# The kinds of neighbours of a position: nothing, the end of a line, a letter of a word, or anything else.
_NOTHING, _NEWLINE, _LETTER, _OTHER = range(4)
_LETTERS = sum(1 << b for b in b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")


class _Instruction(NamedTuple):
    """One instruction: its kind, its byte set, group mark or assertion, and its possible successors."""

    kind: int
    value: int
    next: tuple[int, ...]


class _Compiler:
    """A compiler that writes a program from its end to its beginning, so successors already exist."""

    def __init__(self) -> None:
        self.code: list[_Instruction] = []
        self._known: dict[_Instruction, int] = {}

    def add(self, kind: int, value: int, *following: int) -> int:
        instruction = _Instruction(kind, value, following)
        place = self._known.get(instruction)
        if place is None:
            place = self._known[instruction] = self.place(instruction)
        return place

    def place(self, instruction: _Instruction) -> int:
        if len(self.code) >= _MOST_CODE:
            raise PatternError("pattern too large - compile failed")
        self.code.append(instruction)
        return len(self.code) - 1

    def write(self, node: Node, after: int) -> int:
        """Write a part that is followed by ``after``, and return its start."""
        match node:
            case Bytes(mask):
                return self.add(_LEAF, mask, after)
            case Characters(ranges):
                return self._characters(ranges, after)
            case Look(assertion):
                return self.add(_LOOK, assertion, after)
            case Group(number, body):
                end = self.add(_MARK, 2 * number + 1, after)
                return self.add(_MARK, 2 * number, self.write(body, end))
            case Sequence(parts):
                for part in reversed(parts):
                    after = self.write(part, after)
                return after
            case Alternatives(choices):
                return self.add(_CHOICE, 0, *[self.write(choice, after) for choice in choices])
            case Repeat():
                return self._repeat(node, after)

    def _repeat(self, node: Repeat, after: int) -> int:
        if node.most < 0 and node.least <= 1:
            after = self._loop(node, after)
        elif node.most < 0:
            after = self._loop(Repeat(node.body, 1, -1, node.greedy), after)
            for _ in range(node.least - 1):
                after = self.write(node.body, after)
        else:
            end = after
            for _ in range(node.most - node.least):
                after = self._choice(self.write(node.body, after), end, node.greedy)
            for _ in range(node.least):
                after = self.write(node.body, after)
        return after

    def _loop(self, node: Repeat, after: int) -> int:
        """Write ``x+`` or ``x*``; the latter is an optional ``x+`` where ``x`` may be empty, as in RE2."""
        loop = self.place(_Instruction(_CHOICE, 0, ()))
        body = self.write(node.body, loop)
        self.code[loop] = _Instruction(_CHOICE, 0, (body, after) if node.greedy else (after, body))
        if node.least:
            return body
        return self._choice(body, after, node.greedy) if _may_be_empty(node.body) else loop

    def _choice(self, body: int, after: int, greedy: bool) -> int:
        return self.add(_CHOICE, 0, *((body, after) if greedy else (after, body)))

    def _characters(self, ranges: tuple[tuple[int, int], ...], after: int) -> int:
        """Write a character: sets of first bytes, each with the bytes that may follow."""
        masks: dict[int, int] = {}
        for low, high in ranges:
            for first, *rest in _sequences(low, high):
                following = after
                for least, most in reversed(rest):
                    following = self.add(_LEAF, _mask(least, most), following)
                masks[following] = masks.get(following, 0) | _mask(*first)
        leaves = [self.add(_LEAF, mask, following) for following, mask in masks.items()]
        return leaves[0] if len(leaves) == 1 else self.add(_CHOICE, 0, *leaves)


def _may_be_empty(node: Node) -> bool:
    match node:
        case Bytes() | Characters():
            return False
        case Look():
            return True
        case Group(_, body):
            return _may_be_empty(body)
        case Sequence(parts):
            return all(map(_may_be_empty, parts))
        case Alternatives(choices):
            return any(map(_may_be_empty, choices))
        case Repeat(body, least, _, _):
            return least == 0 or _may_be_empty(body)


def _mask(low: int, high: int) -> int:
    return (1 << high + 1) - (1 << low)


def _sequences(low: int, high: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield ranges of characters as ranges of their UTF-8 bytes, split as RE2 splits them."""
    if (low, high) == (0x80, sys.maxunicode):  # a frequent range: RE2 is not strict here, and neither is this
        yield (0xC2, 0xDF), _TAIL
        yield (0xE0, 0xEF), _TAIL, _TAIL
        yield (0xF0, 0xF4), _TAIL, _TAIL, _TAIL
        return
    cut = next((last for last in (0x7F, 0x7FF, 0xFFFF) if low <= last < high), None)
    for bits in (6, 12, 18) if cut is None and low >= 0x80 else ():
        below = (1 << bits) - 1
        if low | below != high | below:
            if low & below:
                cut = low | below
            elif high & below != below:
                cut = (high & ~below) - 1
        if cut is not None:
            break
    if cut is not None:
        yield from _sequences(low, cut)
        yield from _sequences(cut + 1, high)
        return
    first, last = (chr(c).encode("utf-8", "surrogatepass") for c in (low, high))
    yield tuple(zip(first, last, strict=True))


class Program:
    """A compiled pattern: the instructions, and the predecessors of each leaf.

    Attributes:
        code: the instructions.
        start: index of the first instruction.
        classes: for each byte the number of its class; bytes of one class are never distinguished.
        kinds: for each class, the kind of its bytes as neighbours of a position.
        readers: for each class, the leaves that read it.
        looks: whether the program has any assertion.
    """

    def __init__(self, tree: Node) -> None:
        compiler = _Compiler()
        end = compiler.add(_END, 0)
        self.start = compiler.write(tree, end)
        self.code = compiler.code
        self.looks = any(i.kind == _LOOK for i in self.code)
        leaves = [n for n, i in enumerate(self.code) if i.kind == _LEAF]
        masks = {self.code[n].value for n in leaves}
        if self.looks:
            masks |= {1 << 10, _LETTERS}
        groups: dict[tuple[int, ...], int] = {}
        ordered = sorted(masks)
        table = bytearray(256)
        members: list[int] = []
        for byte in range(256):
            key = tuple([mask >> byte & 1 for mask in ordered])
            number = groups.setdefault(key, len(groups))
            table[byte] = number
            if number == len(members):
                members.append(byte)
        self.classes = bytes(table)
        self.kinds = [self._kind(byte) for byte in members]
        self.readers = [frozenset([n for n in leaves if self.code[n].value >> byte & 1]) for byte in members]
        # The predecessors of each instruction: leaves, and instructions that read nothing.
        self._leaves_of: list[list[int]] = [[] for _ in self.code]
        self._nexts_of: list[list[int]] = [[] for _ in self.code]
        for number, (kind, _, following) in enumerate(self.code):
            for after in following:
                (self._leaves_of if kind == _LEAF else self._nexts_of)[after].append(number)

    def _kind(self, byte: int) -> int:
        if not self.looks:
            return _NOTHING
        return _NEWLINE if byte == 10 else _LETTER if _LETTERS >> byte & 1 else _OTHER

    def holding(self, before: int, behind: int) -> int:
        """Return the assertions that hold between two neighbours of a position, as bits."""
        if not self.looks:
            return 0
        bits = WORD if (before == _LETTER) != (behind == _LETTER) else NOT_WORD
        bits |= BEGIN_TEXT * (before == _NOTHING) | END_TEXT * (behind == _NOTHING)
        return bits | BEGIN_LINE * (before <= _NEWLINE) | END_LINE * (behind <= _NEWLINE)

    def before(self, leaves: frozenset[int], ended: bool, holding: int) -> frozenset[int]:
        """Return the leaves from which some of ``leaves`` can follow, or the end if ``ended``."""
        seen = {*leaves, _END_AT} if ended else set(leaves)
        waiting = list(seen)
        while waiting:
            for number in self._nexts_of[waiting.pop()]:
                kind, value, _ = self.code[number]
                if number not in seen and not (kind == _LOOK and value & ~holding):
                    seen.add(number)
                    waiting.append(number)
        return frozenset([leaf for number in seen for leaf in self._leaves_of[number]])

    def walk(self, start: int, holding: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield the leaves, and the end, that are reachable from an instruction without reading.

        Yields:
            Each with the marks on the way, the most preferred first.
        """
        seen: set[int] = set()
        stack: list[tuple[int, tuple[int, ...]]] = [(start, ())]
        while stack:
            number, marks = stack.pop()
            if number in seen:
                continue
            seen.add(number)
            kind, value, following = self.code[number]
            if kind in (_LEAF, _END):
                yield number, marks
            elif kind == _CHOICE:
                stack.extend([(n, marks) for n in reversed(following)])
            elif kind == _MARK:
                stack.append((following[0], (*marks, value)))
            elif not value & ~holding:
                stack.append((following[0], marks))


class _State:
    """The state of the backward pass at one position of the text.

    Attributes:
        leaves: leaves from which a match is possible at the position.
        behind: kind of the neighbour after the position.
        ended: whether a match may end at the position.
        began: whether a match begins at the position after the byte that was read last.
        rows: for each class of the preceding byte the state at the position before that byte, once known.
        steps: by instruction and kind of the preceding neighbour, the continuation of a match, once known.
    """

    __slots__ = ("began", "behind", "ended", "leaves", "rows", "steps")

    def __init__(self, leaves: frozenset[int], behind: int, ended: bool, began: bool, classes: int) -> None:
        self.leaves = leaves
        self.behind = behind
        self.ended = ended
        self.began = began
        self.rows: list[_State | None] = [None] * classes
        self.steps: dict[tuple[int, int], tuple[tuple[int, ...], int]] = {}


class _Automaton:
    """The deterministic automaton of a program that reads text backwards.

    Args:
        program: the program.
        anywhere: whether a match may end anywhere, or only at the end of the text.
    """

    def __init__(self, program: Program, *, anywhere: bool) -> None:
        self.program = program
        self._anywhere = anywhere
        self._states: dict[tuple[frozenset[int], int, bool], _State] = {}
        self.last = _State(frozenset(), _NOTHING, True, False, len(program.kinds))

    def before(self, state: _State, number: int) -> _State:
        """Return the state at the position before a byte of a class, if it is not cached yet."""
        program = self.program
        kind = program.kinds[number]
        leaves = program.before(state.leaves, state.ended, program.holding(kind, state.behind))
        began = self._anywhere and self.begins(state, kind)
        key = (leaves & program.readers[number], kind, began)
        state_before = self._states.get(key)
        if state_before is None:
            if len(self._states) >= MOST_STATES:
                self._forget()
            state_before = self._states[key] = _State(key[0], kind, self._anywhere, began, len(program.kinds))
        state.rows[number] = state_before
        return state_before

    def _forget(self) -> None:
        """Drop all states, so that states in use do not keep the others alive."""
        states, self._states = self._states, {}
        for state in (*states.values(), self.last):
            state.rows[:] = [None] * len(state.rows)
            state.steps.clear()

    def begins(self, state: _State, before: int) -> bool:
        """Return whether a match begins at a position."""
        return self.step(state, self.program.start, before)[1] != _FAILED

    def step(self, state: _State, start: int, before: int) -> tuple[tuple[int, ...], int]:
        """Return how a match continues that has reached an instruction at a position.

        Returns:
            The marks that it passes, and the instruction after the byte that it then reads; ``_OVER`` if the
            match ends here, ``_FAILED`` if there is none.
        """
        steps = state.steps.get((start, before))
        if steps is None:
            steps = state.steps[start, before] = self._step(state, start, before)
        return steps

    def _step(self, state: _State, start: int, before: int) -> tuple[tuple[int, ...], int]:
        program = self.program
        for number, marks in program.walk(start, program.holding(before, state.behind)):
            if number in state.leaves:
                return marks, program.code[number].next[0]
            if state.ended and number == _END_AT:
                return marks, _OVER
        return (), _FAILED


class Expression:
    """A pattern ready to be matched; may be used by several threads at once.

    Args:
        pattern: a pattern in RE2's syntax.

    Attributes:
        groups: number of captured groups.

    Raises:
        PatternError: for an invalid pattern.
    """

    def __init__(self, pattern: bytes) -> None:
        tree, self.groups = parse(pattern)
        self._program = Program(tree)
        self._whole = _Automaton(self._program, anywhere=False)
        self._anywhere = _Automaton(self._program, anywhere=True)

    def matches(self, text: bytes) -> bool:
        """Return whether the whole text matches."""
        automaton = self._whole
        state = automaton.last
        for number in reversed(text.translate(self._program.classes)):
            state = state.rows[number] or automaton.before(state, number)
        return automaton.begins(state, _NOTHING)

    def search(self, text: bytes) -> Iterator[list[int]]:
        """Yield the successive matches in a text, as replaced by a replacement of all.

        Yields:
            For each match the start and end of the whole and of each group; -1 for a group without text.
        """
        reading = _Reading(self._anywhere, text)
        at, last = 0, -1
        while (begin := reading.begins.find(1, at)) >= 0:
            match = reading.match(begin, self.groups)
            if match[1] == begin == last:
                # RE2 accepts no empty match directly after another one, but continues with the next
                # character.
                at = begin + _character_at(text, begin)
                continue
            yield match
            at = last = match[1]


def _character_at(text: bytes, at: int) -> int:
    """Return the number of bytes of the character at a position; 1 for invalid UTF-8."""
    first = text[at] if at < len(text) else 0
    length = 1 if first < 0xC2 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    try:
        text[at : at + length].decode()
    except UnicodeDecodeError:
        return 1
    return length


class _Reading:
    """One text after the backward pass, ready to be matched from any position.

    The states of all positions would take many times the memory of the text: they are kept at the ends of
    blocks, and recomputed for the block in use.

    Attributes:
        begins: a 1 for each position where a match begins.
    """

    def __init__(self, automaton: _Automaton, text: bytes) -> None:
        self._automaton = automaton
        self._classes = text.translate(automaton.program.classes)
        state = automaton.last
        self._ends: dict[int, _State] = {}
        began = bytearray()
        for block in range(len(text) // BLOCK, -1, -1):
            self._ends[block] = state
            for number in reversed(self._of_block(block)):
                state = state.rows[number] or automaton.before(state, number)
                began.append(state.began)
        began.append(automaton.begins(state, _NOTHING))
        began.reverse()
        self.begins = began
        self._block, self._states = -1, [state]

    def _of_block(self, block: int) -> bytes:
        return self._classes[block * BLOCK : (block + 1) * BLOCK]

    def _state(self, at: int) -> _State:
        """Return the state at a position."""
        block, inside = divmod(at, BLOCK)
        if block != self._block:
            state = self._ends[block]
            states = [state]
            for number in reversed(self._of_block(block)):
                state = state.rows[number] or self._automaton.before(state, number)
                states.append(state)
            states.reverse()
            self._block, self._states = block, states
        return self._states[inside]

    def match(self, begin: int, groups: int) -> list[int]:
        """Return the match that begins at a position: start and end of it and of its groups."""
        step, kinds, classes = self._automaton.step, self._automaton.program.kinds, self._classes
        marks = [-1] * (2 * groups + 2)
        at, number = begin, self._automaton.program.start
        before = kinds[classes[at - 1]] if at else _NOTHING
        while True:
            passed, number = step(self._state(at), number, before)
            for mark in passed:
                marks[mark] = at
            if number < 0:
                marks[:2] = begin, at
                return marks
            before = kinds[classes[at]]
            at += 1


@functools.lru_cache(maxsize=64)
def compiled(pattern: bytes) -> Expression:
    """Return the compiled pattern.

    Raises:
        InvalidArgumentError: for an invalid pattern.
    """
    try:
        return Expression(pattern)
    except (PatternError, RecursionError) as exc:
        error = "expression nests too deeply" if isinstance(exc, RecursionError) else exc
        shown = pattern[:_SHOWN].decode("utf-8", "replace")
        raise InvalidArgumentError(f"Invalid pattern: {shown}, error: {error}"[:1000]) from None
