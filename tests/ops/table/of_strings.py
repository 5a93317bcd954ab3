"""Rows of the op types of strings; what is expected was taken down from TensorFlow 2.21, or is Python's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import actorsession as acts
from actorsession import float64, int16, int32, int64, strings
from tests.nodes import make, make_one
from tests.ops.table.row import Fault, Row

WHY = "strings; TensorFlow marks it so"


def words(*values: Any) -> Any:
    """Strings as an array of bytes; lists in it are rows."""
    array = np.array(values, object)
    flat = np.empty(array.size, object)
    flat[:] = [v.encode() if isinstance(v, str) else v for v in array.flat]
    return flat.reshape(array.shape)


def word(value: str | bytes) -> Any:
    """A string of rank 0."""
    return words(value).reshape(())


EMPTY = np.zeros([0, 2], object)


def _each(function: Callable[[bytes], Any], dtype: Any = object) -> Callable[..., Any]:
    def numpy(value: Any, *_rest: Any) -> Any:
        out = np.empty(value.shape, dtype)
        for place in np.ndindex(value.shape):
            out[place] = function(value[place])
        return out

    return numpy


def _row(op: str, build: Any, numpy: Any, inputs: Any, label: str = "", faults: Any = ()) -> Row:
    return Row(op=op, build=build, numpy=numpy, inputs=inputs, label=label, no_gradient=WHY, faults=faults)


def _known(op: str, build: Any, label: str, *pairs: tuple[tuple[Any, ...], Any]) -> list[Row]:
    """Rows of one case each, with what comes out."""
    return [
        _row(op, build, lambda *_, out=out: out, [given], f"{label}-{number}")
        for number, (given, out) in enumerate(pairs)
    ]


MIXED = [(words("ÄBc", "", "x Y"),), (word("ÄbC"),), (EMPTY,), (words(["A", "b"], ["c", "D"]),)]

CHARACTERS = [
    _row("StringLower", strings.lower, _each(bytes.lower), MIXED),
    _row("StringUpper", strings.upper, _each(bytes.upper), MIXED),
    _row(
        "StringLower",
        lambda x: strings.lower(x, encoding="utf-8"),
        _each(lambda v: v.decode().lower().encode()),
        MIXED,
        "utf8",
    ),
    _row(
        "StringUpper",
        lambda x: strings.upper(x, encoding="utf-8"),
        _each(lambda v: v.decode().upper().encode()),
        [*MIXED, (words("straße"),)],
        "utf8",
    ),
    _row("StringStrip", strings.strip, _each(bytes.strip), [(words(" \t\n\v\f\ra b \0 ", ""),), (EMPTY,)]),
    _row("StringLength", strings.length, _each(len, np.int32), MIXED),
    _row(
        "StringLength",
        lambda x: strings.length(x, unit="UTF8_CHAR"),
        _each(lambda v: len(v.decode()), np.int32),
        MIXED,
        "utf8",
    ),
    *_known(
        "StringLength", lambda x: strings.length(x, unit="UTF8_CHAR"), "broken",
        ((words(b"\xff\x80a"),), np.array([2], np.int32)),
    ),
    *_known(
        "Substr", strings.substr, "bytes",
        ((words("hello", "world"), np.int32(1), np.int32(3)), words("ell", "orl")),
        ((words("hello", "world"), np.int32(-3), np.int32(2)), words("ll", "rl")),
        ((words("hello", "world"), np.int64(2), np.int64(100)), words("llo", "rld")),
        ((words("hello", "world"), np.array([5, 0]), np.array([1, -1])), words("", "world")),
        ((word("hello"), np.array([0, 1]), np.array([1, 2])), words("h", "el")),
        (
            (words(["hello"], ["world"]), np.array([0, 1]), np.array([1, 2])),
            words(["h", "el"], ["w", "or"]),
        ),
        ((word("hello"), np.int32(1), np.int32(2)), word("el")),
        ((EMPTY, np.int32(1), np.int32(2)), EMPTY),
    ),
    *_known(
        "Substr", lambda x, p, n: strings.substr(x, p, n, unit="UTF8_CHAR"), "characters",
        ((words("äöü"), np.int32(1), np.int32(1)), words("ö")),
        ((words("äöü"), np.int32(-2), np.int32(5)), words("öü")),
        ((words("äöü"), np.int32(1), np.int32(-1)), words("")),
    ),
    _row(
        "Substr", strings.substr, lambda x, _p, _n: x, [(words("a"), np.int32(0), np.int32(1))],
        faults=[
            Fault((words("hello"), np.int32(6), np.int32(1)), "position 6 is outside"),
            Fault((words("hello"), np.int32(-6), np.int32(1)), "position -6 is outside"),
            Fault((words("a"), np.array([0, 1]), np.array([1, 1, 1])), "have one shape",
                static="have one shape",
            ),
            Fault((words("a", "b", "c"), np.array([0, 1]), np.array([1, 1])),
                "cannot broadcast", static="cannot broadcast",
            ),
        ],
    ),
    *_known(
        "EncodeBase64", acts.io.encode_base64, "bare",
        ((words(b"\xff\xfe\xfd\xfc", ""),), words("__79_A", "")),
        ((word("a"),), word("YQ")),
        ((EMPTY,), EMPTY),
    ),
    *_known(
        "EncodeBase64", lambda x: acts.io.encode_base64(x, pad=True), "padded",
        ((words(b"\xff\xfe\xfd\xfc", ""),), words("__79_A==", "")),
    ),
    *_known(
        "DecodeBase64", acts.io.decode_base64, "both",
        ((words("__79_A", "__79_A==", "", "YR"),), words(*[b"\xff\xfe\xfd\xfc"] * 2, "", "a")),
        ((word("YQ"),), word("a")),
    ),
    _row(
        "DecodeBase64", acts.io.decode_base64, lambda x: x, [(EMPTY,)],
        faults=[
            Fault((words(bad),), "no web-safe base64")
            for bad in ("a+/b", "a", "ab=", "a=bc", "ab===")
        ],
    ),
    *_known(
        "UnicodeTranscode", lambda x: strings.unicode_transcode(x, "UTF-8", "UTF-16-BE"), "wide",
        ((words("ä", b"\xff"),), words(b"\x00\xe4", b"\xff\xfd")),
    ),
    *_known(
        "UnicodeTranscode",
        lambda x: strings.unicode_transcode(
            x, "UTF-8", "UTF-8", replacement_char=63, replace_control_characters=True
        ),
        "control",
        ((words(b"a\x00\x01\t\n\x7f\xff"),), words(b"a????\x7f?")),
    ),
    _row(
        "UnicodeTranscode",
        lambda x: strings.unicode_transcode(x, "UTF-8", "UTF-8", "strict"),
        lambda x: x,
        [(words("ä"),), (EMPTY,)],
        "strict",
        [Fault((words(b"\xff"),), "no UTF-8")],
    ),
]  # fmt: skip

GRID = words(["a", "b"], ["c", "d"])


def _reduced(*axes: int, **more: Any) -> Callable[..., Any]:
    return lambda x: strings.reduce_join(x, list(axes), separator=",", **more)


JOINING = [
    *_known(
        "StringJoin", lambda *xs: strings.join(xs, separator="-"), "dash",
        ((word("a"), words("b", "c"), words("d", "e")), words("a-b-d", "a-c-e")),
        ((word("a"),), word("a")),
        ((word("a"), word("b")), word("a-b")),
        ((EMPTY, word("a")), EMPTY),
    ),
    _row(
        "StringJoin", lambda x, y: strings.join([x, y]), lambda x, y: x + y, [(GRID, GRID)],
        faults=[
            Fault((words("a"), words("b", "c")), "one shape", static="one shape"),
            Fault((words("a", "b", "c"), words("b", "c")), "one shape", static="one shape"),
        ],
    ),
    *_known("ReduceJoin", _reduced(0), "rows", ((GRID,), words("a,c", "b,d"))),
    *_known("ReduceJoin", _reduced(1, 0), "both", ((GRID,), word("a,b,c,d"))),
    *_known("ReduceJoin", _reduced(0, -1, keepdims=True), "kept", ((GRID,), words(["a,c,b,d"]))),
    *_known("ReduceJoin", _reduced(), "none", ((GRID,), GRID)),
    *_known(
        "ReduceJoin", strings.reduce_join, "all",
        ((GRID,), word("abcd")), ((word("a"),), word("a")), ((EMPTY,), word("")),
    ),
    *_known("ReduceJoin", _reduced(1), "empty", ((np.zeros([2, 0], object),), words("", ""))),
    _row(
        "ReduceJoin", _reduced(-1), lambda x: words(*[b",".join(row) for row in x]), [(GRID,)], "last",
        [Fault((word("a"),), "axis -1 is not in", static="axis -1 is not in")],
    ),
    *_known(
        "UnsortedSegmentJoin",
        lambda x, ids, n: strings.unsorted_segment_join(x, ids, n, ":"),
        "segments",
        ((words("a", "b", "c"), np.array([1, 0, 1]), np.int32(3)), words("b", "a:c", "")),
        ((GRID, np.array([1, 1]), np.int32(2)), words(["", ""], ["a:c", "b:d"])),
        ((GRID, np.array([[1, 1], [0, 1]], np.int32), np.int64(2)), words("c", "a:b:d")),
        ((EMPTY, np.zeros([0], np.int32), np.int32(1)), words(["", ""])),
    ),
    _row(
        "UnsortedSegmentJoin", strings.unsorted_segment_join, lambda x, *_: x,
        [(words("a"), np.array([0]), np.int32(1))],
        faults=[
            Fault((words("a"), np.array([5]), np.int32(3)), "below 3, got"),
            Fault((words("a"), np.array([-1]), np.int32(3)), "below 3, got"),
            Fault((words("a"), np.array([0, 0]), np.int32(3)), "begins", static="begins"),
        ],
    ),
    *_known(
        "StringFormat", lambda *xs: strings.format("<" + "{} " * len(xs) + ">", xs), "values",
        (
            (np.array([1, 2, 3]), np.float32(2.5), words("x", 'a"b\n'), np.array([True, False])),
            word('<[1 2 3] 2.5 ["x" "a\\"b\\n"] [1 0] >'),
        ),
        ((np.arange(7),), word("<[0 1 2 ... 4 5 6] >")),
        ((np.array([1 / 3, 0.1, 1e10, np.nan, np.inf, 1e-7], np.float32),),
         word("<[0.333333343 0.1 1e+10 nan inf 1e-07] >")),
        ((np.array([1 / 3, 0.1]),), word("<[0.33333333333333331 0.1] >")),
        ((np.arange(12).reshape(2, 3, 2),),
         word("<[[[0 1]\n  [2 3]\n  [4 5]]\n\n [[6 7]\n  [8 9]\n  [10 11]]] >")),
        ((np.zeros([0]), word("s")), word('<[] "s" >')),
    ),
    *_known(
        "StringFormat", lambda x: strings.format("%t", x, "%t", summarize=-1), "all",
        ((np.arange(9),), word("[0 1 2 3 4 5 6 7 8]")),
    ),
]  # fmt: skip


def _split(**attrs: Any) -> Callable[..., Any]:
    op = "StringSplitV2" if "maxsplit" in attrs else "StringSplit"
    return lambda *inputs: list(make(op, list(inputs), attrs).outputs)


def _sparse(shape: Any, rows: dict[int, list[str]]) -> list[Any]:
    places = [(i, j) for i, row in rows.items() for j in range(len(row))]
    flat = [text for row in rows.values() for text in row]
    indices = np.array(places, np.int64).reshape(-1, 2)
    return [indices, words(*flat), np.array(shape)]


SPLITTING = [
    *_known(
        "StringSplit",
        _split(),
        "parts",
        ((words("hello world", "a  b c "), word(" ")), _sparse([2, 3], {0: ["hello", "world"], 1: ["a", "b", "c"]})),
        ((words("a,b;c", ",,"), word(",;")), _sparse([2, 3], {0: ["a", "b", "c"]})),
        ((words("abc", ""), word("")), _sparse([2, 3], {0: ["a", "b", "c"]})),
        ((np.zeros([0], object), word(" ")), _sparse([0, 0], {})),
    ),
    *_known(
        "StringSplit",
        _split(skip_empty=False),
        "kept",
        ((words("a  b c ", ""), word(" ")), _sparse([2, 5], {0: ["a", "", "b", "c", ""]})),
    ),
    _row("StringSplit", lambda x: acts.strings.string_split(x).values, lambda x: x, [(words("a", "b"),)]),
    *_known(
        "StringSplitV2",
        _split(maxsplit=-1),
        "parts",
        ((words("hello  world", ""), word("")), _sparse([2, 2], {0: ["hello", "world"]})),
        ((words("a<>b<><>c", ""), word("<>")), _sparse([2, 4], {0: ["a", "b", "", "c"], 1: [""]})),
        ((np.zeros([0], object), word("")), _sparse([0, 0], {})),
    ),
    *_known(
        "StringSplitV2",
        _split(maxsplit=1),
        "once",
        ((words("a b c d", " x y "), word("")), _sparse([2, 2], {0: ["a", "b c d"], 1: ["x", "y "]})),
        ((words("a<>b<><>c", ""), word("<>")), _sparse([2, 2], {0: ["a", "b<><>c"], 1: [""]})),
    ),
]


def _shown(**attrs: Any) -> Callable[..., Any]:
    return lambda x: strings.as_string(x, **attrs)


FLOATS = np.array([1.5, -2.25, 1234567.0, 3.14159265], np.float32)

NUMBERS = [
    *_known(
        "AsString", _shown(), "plain",
        ((np.array([1.5, -2, np.nan, np.inf, 1e10, 1e-7], np.float32),),
         words("1.500000", "-2.000000", "nan", "inf", "10000000000.000000", "0.000000")),
        ((np.array([1, -5]),), words("1", "-5")),
        ((np.array([True, False]),), words("true", "false")),
        ((np.array([1 + 2j]),), words("(1.000000,2.000000)")),
        ((np.array([250], np.uint8),), words("250")),
        ((np.float16(1.5),), word("1.500000")),
        ((words("a"),), words("a")),
        ((np.zeros([0, 2], np.float32),), EMPTY),
    ),
    *_known("AsString", _shown(precision=2), "two",
            ((FLOATS,), words("1.50", "-2.25", "1234567.00", "3.14"))),
    *_known("AsString", _shown(scientific=True, precision=2), "scientific",
            ((FLOATS,), words("1.50e+00", "-2.25e+00", "1.23e+06", "3.14e+00"))),
    *_known("AsString", _shown(shortest=True), "shortest",
            ((FLOATS,), words("1.5", "-2.25", "1.23457e+06", "3.14159"))),
    *_known("AsString", _shown(width=12), "wide",
            ((FLOATS,), words("    1.500000", "   -2.250000", "1234567.000000", "    3.141593"))),
    *_known("AsString", _shown(width=8, fill="0", shortest=True), "zeros",
            ((np.array([1.5, np.nan], np.float32),), words("000001.5", "     nan"))),
    *_known("AsString", _shown(width=12, fill="-"), "left",
            ((FLOATS[:2],), words("1.500000    ", "-2.250000   "))),
    *_known("AsString", _shown(fill="+"), "signed", ((FLOATS[:2],), words("+1.500000", "-2.250000"))),
    *_known("AsString", _shown(width=4, fill="0"), "integers",
            ((np.array([1, -1]),), words("0001", "-001"))),
    *_known("AsString", _shown(width=4, precision=1), "complex",
            ((np.array([1.5 + 2j]),), words("( 1.5, 2.0)"))),
    *_known(
        "StringToNumber", strings.to_number, "floats",
        ((words("1.5", " 2 ", "-3e2", "inf", "NaN", "0x10", "1e400", "+4", "0x1.8p3", "-INFINITY"),),
         np.array([1.5, 2, -300, np.inf, np.nan, 16, np.inf, 4, 12, -np.inf], np.float32)),
        ((word("1"),), np.float32(1)),
        ((EMPTY,), np.zeros([0, 2], np.float32)),
    ),
    *_known("StringToNumber", lambda x: strings.to_number(x, float64), "double",
            ((words("0.1", ".5", "5."),), np.array([0.1, 0.5, 5.0]))),
    *_known("StringToNumber", lambda x: strings.to_number(x, int32), "integers",
            ((words("15", " 2 ", "-3", "+4"),), np.array([15, 2, -3, 4], np.int32))),
    _row(
        "StringToNumber", lambda x: strings.to_number(x, int32), _each(int, np.int32),
        [(words("7"),)], "refusing",
        [
            *[Fault((words(bad),), "could not correctly convert")
              for bad in ("1.5", "", "abc", "0x10", "1_0", "1" * 5000)],
            Fault((words("2147483648"),), "is not between"),
        ],
    ),
    _row(
        "StringToNumber", strings.to_number, _each(float, np.float32), [(words("7"),)], "floating",
        [Fault((words(bad),), "could not correctly convert")
         for bad in ("", "abc", "1.5f", "1_0", "e5")],
    ),
    *_known(
        "DecodeRaw", lambda x: acts.io.decode_raw(x, int16), "little",
        ((words("abcd", "efgh"),), np.frombuffer(b"abcdefgh", "<i2").reshape(2, 2)),
        ((word("ab"),), np.frombuffer(b"ab", "<i2")),
        ((np.zeros([0], object),), np.zeros([0, 0], np.int16)),
        ((words("", ""),), np.zeros([2, 0], np.int16)),
    ),
    *_known("DecodeRaw", lambda x: acts.io.decode_raw(x, int16, little_endian=False), "big",
            ((words(["abcd", "efgh"]),), np.array([[[24930, 25444], [25958, 26472]]], np.int16))),
    *_known("DecodeRaw", lambda x: acts.io.decode_raw(x, bool), "bool",
            ((words(b"\1\0"),), np.array([[True, False]]))),
    *_known("DecodeRaw", lambda x: acts.io.decode_raw(x, "complex64", little_endian=False), "complex",
            ((word(np.array([1.5, -2], ">f4").tobytes()),), np.array([1.5 - 2j], np.complex64))),
    _row(
        "DecodeRaw", lambda x: acts.io.decode_raw(x, int64),
        lambda x: np.array([np.frombuffer(v, "<i8") for v in x]), [(words("abcdefgh"),)], "long",
        [Fault((words("abc", "ab"),), "have one length"),
         Fault((words("abc"),), "multiple of 8 bytes")],
    ),
    *_known("StringToHashBucketFast", lambda x: strings.to_hash_bucket_fast(x, 100), "hundred",
            ((words("a", "bc", ""),), np.array([39, 79, 63])),
            ((word("a"),), np.int64(39)),
            ((EMPTY,), np.zeros([0, 2], np.int64))),
]  # fmt: skip


def _replace(pattern: str, rewrite: str, **more: Any) -> Callable[..., Any]:
    return lambda x: strings.regex_replace(x, pattern, rewrite, **more)


REGEX = [
    *_known("StaticRegexReplace", _replace("a+(b)", r"<\1\0>"), "groups",
            ((words("aab", "b"),), words("<baab>", "b")), ((word("aab"),), word("<baab>")),
            ((EMPTY,), EMPTY)),
    *_known("StaticRegexReplace", _replace("a", "x", replace_global=False), "first",
            ((words("aaa"),), words("xaa"))),
    *_known("StaticRegexReplace", _replace("x*", "-"), "nothing",
            ((words("abc", "axb", ""),), words("-a-b-c-", "-a-b-", "-"))),
    *_known("StaticRegexReplace", _replace(".", "x"), "characters",
            ((words("äb", b"\xff", "a\nb"),), words("xx", b"\xff", "x\nx"))),
    *_known("StaticRegexReplace", _replace("$", "x"), "end", ((words("a\nb\n"),), words("a\nb\nx"))),
    *_known("StaticRegexReplace", _replace(r"\w", "x"), "ascii", ((words("äb"),), words("äx"))),
    *_known("StaticRegexReplace", _replace("[[:alpha:]]+", "-"), "posix",
            ((words("ab1c"),), words("-1-"))),
    *_known("StaticRegexReplace", _replace("(?i)A|(?:b|cd)*c", r"\\"), "flag",
            ((words("axbcdc"),), words("\\x\\"))),
    _row(
        "RegexReplace",
        lambda x, p, r: make_one("RegexReplace", [x, p, r]),
        lambda x, _p, _r: _each(lambda v: v.replace(b"b", b"-"))(x),
        [(words("abc"), word("b"), word("-")), (EMPTY, word("b"), word("-"))],
    ),
    *_known("StaticRegexFullMatch", lambda x: strings.regex_full_match(x, "a.c"), "static",
            ((words("abc", "ab", "abcd", "a\nc"),), np.array([True, False, False, False])),
            ((word("abc"),), np.bool_(True)), ((EMPTY,), np.zeros([0, 2], np.bool_))),
    *_known("RegexFullMatch", strings.regex_full_match, "fed",
            ((words("abc", "ab"), word("a.c")), np.array([True, False]))),
]  # fmt: skip

ROWS = [*CHARACTERS, *JOINING, *SPLITTING, *NUMBERS, *REGEX]
