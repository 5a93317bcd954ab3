"""Reader and writer of the text form of messages, as in ``.pbtxt`` files.

The functions have the names of those in protobuf's own ``text_format``, so that programs only change an
import. The output is that of protobuf. The input may be hostile: nesting is bounded, and every error is an
``InvalidArgumentError`` that names the line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from actorsession.checkpoints.seals import open_text
from actorsession.errors import InvalidArgumentError
from actorsession.interop.enums import ENUMS, label_of
from actorsession.interop.fields import Field
from actorsession.interop.message import Message, new_entry
from actorsession.protobuf.scalars import scalar
from actorsession.protobuf.wire import MAX_DEPTH
from actorsession.records import dataclass
from actorsession.whole_numbers import is_index

__all__ = ["Merge", "MessageToBytes", "MessageToString", "Parse", "ParseError", "ParseLines", "shown"]

M = TypeVar("M", bound=Message)

# -- writing -------------------------------------------------------------------------------------


class ParseError(InvalidArgumentError):
    """The text is no message of the class."""


def MessageToString(
    message: Message,
    as_utf8: bool = True,
    as_one_line: bool = False,
    use_short_repeated_primitives: bool = False,
    pointy_brackets: bool = False,
    use_index_order: bool = False,
    float_format: str | None = None,
    double_format: str | None = None,
    use_field_number: bool = False,
    descriptor_pool: Any = None,
    indent: int = 0,
    **options: Any,
) -> str:
    """Return the text form of a message, a line per field.

    Args:
        message: the message.
        as_utf8: whether letters beyond ASCII in strings stay as they are.
        as_one_line: whether spaces stand instead of line ends.
        use_short_repeated_primitives: whether numbers of a repeated field stand in one list.
        pointy_brackets: whether messages are in ``<>`` instead of ``{}``.
        use_index_order: without effect; fields are in the order of their numbers.
        float_format: form of floats, as for ``format``.
        double_format: likewise for doubles; that of floats if omitted.
        use_field_number: whether fields have numbers instead of names.
        descriptor_pool: without effect.
        indent: number of spaces before each line.
        options: without effect.
    """
    writer = _Writer(
        as_utf8=as_utf8,
        short=use_short_repeated_primitives,
        brackets="<>" if pointy_brackets else "{}",
        by_number=use_field_number,
        floats=float_format,
        doubles=double_format or float_format,
    )
    if as_one_line:
        return " ".join([line.strip() for line in writer.lines(message, "")])
    return "".join([line + "\n" for line in writer.lines(message, " " * indent)])


def MessageToBytes(message: Message, **options: Any) -> bytes:
    """Return the text form of a message as UTF-8; see ``MessageToString``."""
    return MessageToString(message, **options).encode()


def shown(message: Message) -> str:
    """Return the text form in which protobuf shows a message: with numbers as C writes them."""
    return "".join([line + "\n" for line in _Writer(plain=True).lines(message, "")])


@dataclass(frozen=True, slots=True)
class _Writer:
    """How a text form is written; the fields are those of ``MessageToString``."""

    as_utf8: bool = True
    short: bool = False
    brackets: str = "{}"
    by_number: bool = False
    floats: str | None = None
    doubles: str | None = None
    plain: bool = False

    def lines(self, message: Message, indent: str) -> Iterator[str]:
        opening, closing = self.brackets[0], self.brackets[1]
        for field, value in message.ListFields():
            name = str(field.number) if self.by_number else field.name
            if field.key:
                for key in sorted(value):
                    yield f"{indent}{name} {opening}"
                    yield f"{indent}  key: {self._token(field.key, key)}"
                    yield from self._field(field, "value", value[key], indent + "  ")
                    yield f"{indent}{closing}"
            elif self.short and field.packed:
                yield f"{indent}{name}: [{', '.join([self._token(field.kind, v) for v in value])}]"
            else:
                for item in value if field.repeated else (value,):
                    yield from self._field(field, name, item, indent)

    def _field(self, field: Field, name: str, value: Any, indent: str) -> Iterator[str]:
        if field.scalar is not None:
            yield f"{indent}{name}: {self._token(field.kind, value)}"
            return
        yield f"{indent}{name} {self.brackets[0]}"
        yield from self.lines(value, indent + "  ")
        yield f"{indent}{self.brackets[1]}"

    def _token(self, kind: str, value: Any) -> str:
        if kind in ENUMS:
            return label_of(kind, value) or str(value)
        if kind == "bool":
            return "true" if value else "false"
        if kind == "string":
            return f'"{_escaped(value, self.as_utf8)}"'
        if kind == "bytes":
            return f'"{_escaped(value)}"'
        if kind in ("float", "double"):
            return self._number(kind, value)
        return str(value)

    def _number(self, kind: str, value: float) -> str:
        form = self.floats if kind == "float" else self.doubles
        if form is not None and math.isfinite(value):
            return format(value, form)
        if self.plain:
            return _as_in_c(kind, value)
        return str(shortest(value) if kind == "float" else value)


def _as_in_c(kind: str, value: float) -> str:
    """Return a number with the fewest digits of which C's ``%g`` needs no more to give it back."""
    least, most = (6, 9) if kind == "float" else (15, 17)
    with np.errstate(over="ignore"):
        text = f"{value:.{least}g}"
        rounded = float(text)
        same = float(np.float32(rounded)) == value if kind == "float" else rounded == value
    return text if same or value != value else f"{value:.{most}g}"


def shortest(value: float) -> float:
    """Return the float with the fewest digits that is equal in single precision."""
    with np.errstate(over="ignore"):
        for digits in range(6, 9):
            short = float(f"{value:.{digits}g}")
            if float(np.float32(short)) == value:
                return short
    return float(f"{value:.9g}")


# By byte: what is written for those that are not written as they are.
_ESCAPES: Mapping[int, str] = {
    **{byte: f"\\{byte:03o}" for byte in range(256) if not 32 <= byte < 127},
    9: r"\t",
    10: r"\n",
    13: r"\r",
    34: r"\"",
    39: r"\'",
    92: r"\\",
}


def _escaped(content: bytes | str, as_utf8: bool = False) -> str:
    if isinstance(content, str):
        if as_utf8 and not content.isascii():
            return "".join([c if ord(c) > 127 else _escaped(c.encode()) for c in content])
        content = content.encode()
    return content.decode("latin-1").translate(_ESCAPES)


# -- reading -------------------------------------------------------------------------------------


def Parse(text: str | bytes, message: M, *flags: bool, **options: Any) -> M:
    """Read a text form into a message, in which no single field may be set already.

    Args:
        text: the text, UTF-8 if bytes.
        message: the message to read into.
        flags: the first two options, by position.
        options: ``allow_unknown_field``, whether fields that the class does not have are skipped;
            ``allow_field_number``, whether fields may have numbers instead of names; others of protobuf are
            accepted and ignored.

    Returns:
        The message.

    Raises:
        ParseError: for text that is not a valid message of this class.
        DataLossError: if it does not have the checksum in its last line that it was written with.
    """
    return _read(text, message, options, once=True)


def Merge(text: str | bytes, message: M, *flags: bool, **options: Any) -> M:
    """Read a text form into a message, whose single fields it replaces; see ``Parse``."""
    return _read(text, message, options, once=False)


def _read(text: str | bytes, message: M, options: Mapping[str, Any], *, once: bool) -> M:
    content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    content = open_text(content, f"the text of the {type(message).__name__}")
    if isinstance(text, str):
        text = content.decode("utf-8", "surrogatepass")
    else:
        try:
            text = content.decode()
        except UnicodeDecodeError as exc:
            raise ParseError(f"the text of a message must be UTF-8: {exc}") from exc
    reader = _Reader(text, bool(options.get("allow_unknown_field")), bool(options.get("allow_field_number")), once)
    message.SetInParent()
    reader.message(message, "", 0)
    return message


def ParseLines(lines: Iterable[str | bytes], message: M, **options: Any) -> M:
    """Read the lines of a text form into a message; see ``Parse``."""
    texts = [line.decode() if isinstance(line, bytes) else line for line in lines]
    return Parse("\n".join(texts), message, **options)


_TOKEN = re.compile(
    # Possessive repetitions: with backtracking, input without a following token takes exponential time.
    r"""(?:\s|\#[^\n]*+)*+
    (?: (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<number>-?\s*(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fF]?|inf(?:inity)?|nan))
      | (?P<string>"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+')
      | (?P<sign>[{}<>\[\]:,;])
      | (?P<end>\Z) )""",
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)
_CLOSING = {"{": "}", "<": ">"}


class _Reader:
    """A cursor over the tokens of a text."""

    def __init__(self, text: str, skips: bool, numbers: bool, once: bool) -> None:
        self._text = text
        self._skips = skips
        self._numbers = numbers
        self._once = once
        self._at = 0
        self._kind, self._token = "", ""
        self._next()

    def _next(self) -> str:
        """Advance to the next token and return the current one."""
        before = self._token
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            raise self._fault(f"this is not a token of a text message: {self._text[self._at : self._at + 20]!r}")
        self._kind = match.lastgroup or ""
        self._token = match.group(self._kind)
        self._at = match.end()
        return before

    def _fault(self, what: str) -> ParseError:
        line = self._text.count("\n", 0, self._at) + 1
        return ParseError(f"line {line}: {what}")

    def _take(self, sign: str) -> bool:
        matches = self._kind == "sign" and self._token == sign
        if matches:
            self._next()
        return matches

    def message(self, message: Message, closing: str, depth: int) -> None:
        """Read fields up to the closing sign, or the end of the text."""
        if depth > MAX_DEPTH:
            raise self._fault(f"messages are nested more than {MAX_DEPTH} deep")
        while True:
            if closing and self._take(closing):
                return
            if self._kind == "end" and not closing:
                return
            if self._kind != "name" and not (self._numbers and self._kind == "number"):
                expected = f"a field or {closing!r}" if closing else "a field"
                raise self._fault(f"expected {expected}, found {self._token or 'the end'!r:.60}")
            self._field(message, depth)
            if not self._take(","):
                self._take(";")

    def _field(self, message: Message, depth: int) -> None:
        name = self._next()
        field = message.FIELDS.get(name)
        if field is None and is_index(name):
            field = message._BY_NUMBER.get(int(name))
        if field is None:
            if not self._skips:
                known = ", ".join(message.FIELDS)
                raise self._fault(f"{type(message).__name__} has no field {name!r}; it has {known}")
            self._skip_value(depth)
            return
        if self._once and not field.is_repeated and message._has(field):
            raise self._fault(f"{type(message).__name__} has {name!r} twice")
        colon = self._take(":")
        if field.scalar is not None and not field.key and not colon:
            raise self._fault(f"{name!r} must be followed by ':', found {self._token!r:.60}")
        if (field.repeated or field.key) and self._take("["):
            while not self._take("]"):
                self._value(message, field, depth)
                if not self._take(",") and not (self._kind == "sign" and self._token == "]"):
                    raise self._fault(f"expected ',' or ']', found {self._token!r:.60}")
        else:
            self._value(message, field, depth)

    def _value(self, message: Message, field: Field, depth: int) -> None:
        if field.key:
            self._entry(message, field, depth)
        elif field.scalar is not None:
            value = self._scalar(field.kind)
            if field.repeated:
                list.append(getattr(message, field.name), value)
            else:
                message._set(field, value)
        elif field.repeated:
            submessage = field.message()
            self._body(submessage, depth)
            list.append(getattr(message, field.name), submessage)
        else:
            self._body(message._submessage(field), depth)

    def _body(self, message: Message, depth: int) -> None:
        opening = self._token
        if self._kind != "sign" or opening not in _CLOSING:
            raise self._fault(f"expected '{{', found {opening or 'the end'!r:.60}")
        self._next()
        self.message(message, _CLOSING[opening], depth + 1)

    def _entry(self, message: Message, field: Field, depth: int) -> None:
        entry = new_entry(field)
        self._body(entry, depth)
        dict.__setitem__(getattr(message, field.name), entry.key, entry.value)

    def _skip_value(self, depth: int) -> None:
        """Skip the value of a field that is not kept."""
        if depth > MAX_DEPTH:
            raise self._fault(f"messages are nested more than {MAX_DEPTH} deep")
        self._take(":")
        closing = {"{": "}", "<": ">", "[": "]"}.get(self._token if self._kind == "sign" else "")
        if closing is None:
            if self._kind not in ("name", "number", "string"):
                raise self._fault(f"expected a value, found {self._token or 'the end'!r:.60}")
            self._next()
            return
        self._next()
        while not self._take(closing):
            if self._kind == "end":
                raise self._fault(f"expected {closing!r}, found the end")
            if self._kind == "sign" and self._token in "{<[":
                self._skip_value(depth + 1)
            else:
                self._next()

    # -- values --------------------------------------------------------------------------------

    def _scalar(self, kind: str) -> Any:
        token_kind, word = self._kind, self._token
        try:
            if kind in ("string", "bytes"):
                return self._strings(kind)
            if kind in ENUMS and token_kind == "name":
                value: Any = ENUMS[kind][word]
            elif kind == "bool" and token_kind == "name":
                value = _BOOLS[word]
            elif kind in ("float", "double") and token_kind in ("name", "number"):
                value = float(word.replace(" ", "").rstrip("fF") if _is_decimal(word) else word)
            elif token_kind == "number":
                value = int(word.replace(" ", ""), 16 if "x" in word.lower() else 10)
            else:
                raise ValueError(word)
            checked = scalar("enum" if kind in ENUMS else kind)
            assert checked is not None
            value = checked.check(value)
        except (KeyError, ValueError, TypeError) as exc:
            raise self._fault(f"expected a value of type {kind}, found {word or 'the end'!r:.60}") from exc
        self._next()
        return value

    def _strings(self, kind: str) -> Any:
        if self._kind != "string":
            raise ValueError(self._token)
        parts = []
        while self._kind == "string":
            parts.append(_unescaped(self._token[1:-1]))
            self._next()
        content = b"".join(parts)
        return content if kind == "bytes" else content.decode()


_BOOLS = {"true": True, "True": True, "t": True, "false": False, "False": False, "f": False}


def _is_decimal(word: str) -> bool:
    return word[-1] in "fF" and "inf" not in word.lower()


_UNESCAPE = re.compile(r"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_PLAIN = {
    "n": b"\n",
    "r": b"\r",
    "t": b"\t",
    "a": b"\a",
    "b": b"\b",
    "f": b"\f",
    "v": b"\v",
    "?": b"?",
    '"': b'"',
    "'": b"'",
    "\\": b"\\",
}


def _unescaped(text: str) -> bytes:
    """Return the bytes of a quoted text.

    Raises:
        ValueError: for an invalid escape.
    """
    out, at = [], 0
    for match in _UNESCAPE.finditer(text):
        out.append(text[at : match.start()].encode())
        octal, hexadecimal, short, long, plain = match.groups()
        if plain is not None:
            out.append(_PLAIN[plain])
        elif octal or hexadecimal:
            out.append(bytes((int(octal, 8) & 0xFF if octal else int(hexadecimal, 16),)))
        else:
            out.append(chr(int(short or long, 16)).encode())
        at = match.end()
    out.append(text[at:].encode())
    return b"".join(out)
