"""Rows of the op types of strings; what is expected was taken down from TensorFlow 2.21, or is Python's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import actorsession as acts
from actorsession import float64, int16, int32, int64, strings
from actorsession.ops.variables.checkpointing import sharded_filename, sharded_filespec
from tests.nodes import make
from tests.ops.table.row import Fault, Row, known


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


MIXED = [words("ÄBc", "", "x Y"), word("ÄbC"), EMPTY, words(["A", "b"], ["c", "D"])]

CHARACTERS = [
    Row("StringLower", strings.lower, _each(bytes.lower)).on(MIXED),
    Row("StringUpper", strings.upper, _each(bytes.upper)).on(MIXED),
    Row(
        "StringLower-utf8", lambda x: strings.lower(x, encoding="utf-8"), _each(lambda v: v.decode().lower().encode())
    ).on(MIXED),
    Row(
        "StringUpper-utf8", lambda x: strings.upper(x, encoding="utf-8"), _each(lambda v: v.decode().upper().encode())
    ).on([*MIXED, words("straße")]),
    Row("StringStrip", strings.strip, _each(bytes.strip)).on([words(" \t\n\v\f\ra b \0 ", ""), EMPTY]),
    Row("StringLength", strings.length, _each(len, np.int32)).on(MIXED),
    Row(
        "StringLength-utf8", lambda x: strings.length(x, unit="UTF8_CHAR"), _each(lambda v: len(v.decode()), np.int32)
    ).on(MIXED),
    *known(
        "StringLength-broken", lambda x: strings.length(x, unit="UTF8_CHAR"),
        (words(b"\xff\x80a"), np.array([2], np.int32)),
    ),
    *known(
        "Substr-bytes",
        strings.substr,
        ((words("hello", "world"), np.int32(1), np.int32(3)), words("ell", "orl")),
        ((words("hello", "world"), np.int32(-3), np.int32(2)), words("ll", "rl")),
        ((words("hello", "world"), np.int64(2), np.int64(100)), words("llo", "rld")),
        ((words("hello", "world"), np.array([5, 0]), np.array([1, -1])), words("", "world")),
        ((word("hello"), np.array([0, 1]), np.array([1, 2])), words("h", "el")),
        ((words(["hello"], ["world"]), np.array([0, 1]), np.array([1, 2])), words(["h", "el"], ["w", "or"])),
        ((word("hello"), np.int32(1), np.int32(2)), word("el")),
        ((EMPTY, np.int32(1), np.int32(2)), EMPTY),
    ),
    *known(
        "Substr-characters", lambda x, p, n: strings.substr(x, p, n, unit="UTF8_CHAR"),
        ((words("äöü"), np.int32(1), np.int32(1)), words("ö")),
        ((words("äöü"), np.int32(-2), np.int32(5)), words("öü")),
        ((words("äöü"), np.int32(1), np.int32(-1)), words("")),
    ),
    Row("Substr", strings.substr, lambda x, _p, _n: x).on(
        [(words("a"), np.int32(0), np.int32(1))],
        faults=[
            Fault((words("hello"), np.int32(6), np.int32(1)), "position 6 is outside"),
            Fault((words("hello"), np.int32(-6), np.int32(1)), "position -6 is outside"),
            Fault((words("a"), np.array([0, 1]), np.array([1, 1, 1])), "have one shape", "have one shape"),
            Fault((words("a", "b", "c"), np.array([0, 1]), np.array([1, 1])), "cannot broadcast", "cannot broadcast"),
        ],
    ),
    *known(
        "EncodeBase64-bare", acts.io.encode_base64,
        (words(b"\xff\xfe\xfd\xfc", ""), words("__79_A", "")),
        (word("a"), word("YQ")),
        (EMPTY, EMPTY),
    ),
    *known(
        "EncodeBase64-padded", lambda x: acts.io.encode_base64(x, pad=True),
        (words(b"\xff\xfe\xfd\xfc", ""), words("__79_A==", "")),
    ),
    *known(
        "DecodeBase64-both", acts.io.decode_base64,
        (words("__79_A", "__79_A==", "", "YR"), words(*[b"\xff\xfe\xfd\xfc"] * 2, "", "a")),
        (word("YQ"), word("a")),
    ),
    Row("DecodeBase64", acts.io.decode_base64, lambda x: x).on(
        [EMPTY], faults=[Fault(words(bad), "no web-safe base64") for bad in ("a+/b", "a", "ab=", "a=bc", "ab===")]
    ),
    *known(
        "UnicodeTranscode-wide", lambda x: strings.unicode_transcode(x, "UTF-8", "UTF-16-BE"),
        (words("ä", b"\xff"), words(b"\x00\xe4", b"\xff\xfd")),
    ),
    *known(
        "UnicodeTranscode-control",
        lambda x: strings.unicode_transcode(x, "UTF-8", "UTF-8", replacement_char=63, replace_control_characters=True),
        (words(b"a\x00\x01\t\n\x7f\xff"), words(b"a????\x7f?")),
    ),
    Row("UnicodeTranscode-strict", lambda x: strings.unicode_transcode(x, "UTF-8", "UTF-8", "strict"), lambda x: x).on(
        [words("ä"), EMPTY], faults=[Fault(words(b"\xff"), "no UTF-8")]
    ),
]  # fmt: skip

GRID = words(["a", "b"], ["c", "d"])


def _reduced(*axes: int, **more: Any) -> Callable[..., Any]:
    return lambda x: strings.reduce_join(x, list(axes), separator=",", **more)


JOINING = [
    *known(
        "StringJoin-dash", lambda *xs: strings.join(xs, separator="-"),
        ((word("a"), words("b", "c"), words("d", "e")), words("a-b-d", "a-c-e")),
        (word("a"), word("a")),
        ((word("a"), word("b")), word("a-b")),
        ((EMPTY, word("a")), EMPTY),
    ),
    Row("StringJoin", lambda x, y: strings.join([x, y]), lambda x, y: x + y).on(
        [(GRID, GRID)],
        faults=[
            Fault((words("a"), words("b", "c")), "one shape", "one shape"),
            Fault((words("a", "b", "c"), words("b", "c")), "one shape", "one shape"),
        ],
    ),
    *known("ReduceJoin-rows", _reduced(0), (GRID, words("a,c", "b,d"))),
    *known("ReduceJoin-both", _reduced(1, 0), (GRID, word("a,b,c,d"))),
    *known("ReduceJoin-kept", _reduced(0, -1, keepdims=True), (GRID, words(["a,c,b,d"]))),
    *known("ReduceJoin-none", _reduced(), (GRID, GRID)),
    *known("ReduceJoin-all", strings.reduce_join, (GRID, word("abcd")), (word("a"), word("a")), (EMPTY, word(""))),
    *known("ReduceJoin-empty", _reduced(1), (np.zeros([2, 0], object), words("", ""))),
    Row("ReduceJoin-last", _reduced(-1), lambda x: words(*[b",".join(row) for row in x])).on(
        [GRID], faults=[Fault(word("a"), "axis -1 is not in", "axis -1 is not in")]
    ),
    *known(
        "UnsortedSegmentJoin-segments",
        lambda x, ids, n: strings.unsorted_segment_join(x, ids, n, ":"),
        ((words("a", "b", "c"), np.array([1, 0, 1]), np.int32(3)), words("b", "a:c", "")),
        ((GRID, np.array([1, 1]), np.int32(2)), words(["", ""], ["a:c", "b:d"])),
        ((GRID, np.array([[1, 1], [0, 1]], np.int32), np.int64(2)), words("c", "a:b:d")),
        ((EMPTY, np.zeros([0], np.int32), np.int32(1)), words(["", ""])),
    ),
    Row("UnsortedSegmentJoin", strings.unsorted_segment_join, lambda x, *_: x).on(
        [(words("a"), np.array([0]), np.int32(1))],
        faults=[
            Fault((words("a"), np.array([5]), np.int32(3)), "below 3, got"),
            Fault((words("a"), np.array([-1]), np.int32(3)), "below 3, got"),
            Fault((words("a"), np.array([0, 0]), np.int32(3)), "begins", "begins"),
        ],
    ),
    *known(
        "StringFormat-values", lambda *xs: strings.format("<" + "{} " * len(xs) + ">", xs),
        (
            (np.array([1, 2, 3]), np.float32(2.5), words("x", 'a"b\n'), np.array([True, False])),
            word('<[1 2 3] 2.5 ["x" "a\\"b\\n"] [1 0] >'),
        ),
        (np.arange(7), word("<[0 1 2 ... 4 5 6] >")),
        (np.array([1 / 3, 0.1, 1e10, np.nan, np.inf, 1e-7], np.float32),
         word("<[0.333333343 0.1 1e+10 nan inf 1e-07] >")),
        (np.array([1 / 3, 0.1]), word("<[0.33333333333333331 0.1] >")),
        (np.arange(12).reshape(2, 3, 2),
         word("<[[[0 1]\n  [2 3]\n  [4 5]]\n\n [[6 7]\n  [8 9]\n  [10 11]]] >")),
        ((np.zeros([0]), word("s")), word('<[] "s" >')),
    ),
    *known(
        "StringFormat-all", lambda x: strings.format("%t", x, "%t", summarize=-1),
        (np.arange(9), word("[0 1 2 3 4 5 6 7 8]")),
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
    *known(
        "StringSplit-parts",
        _split(),
        ((words("hello world", "a  b c "), word(" ")), _sparse([2, 3], {0: ["hello", "world"], 1: ["a", "b", "c"]})),
        ((words("a,b;c", ",,"), word(",;")), _sparse([2, 3], {0: ["a", "b", "c"]})),
        ((words("abc", ""), word("")), _sparse([2, 3], {0: ["a", "b", "c"]})),
        ((np.zeros([0], object), word(" ")), _sparse([0, 0], {})),
    ),
    *known(
        "StringSplit-kept",
        _split(skip_empty=False),
        ((words("a  b c ", ""), word(" ")), _sparse([2, 5], {0: ["a", "", "b", "c", ""]})),
    ),
    Row("StringSplit", lambda x: acts.strings.string_split(x).values, lambda x: x).on([words("a", "b")]),
    *known(
        "StringSplitV2-parts",
        _split(maxsplit=-1),
        ((words("hello  world", ""), word("")), _sparse([2, 2], {0: ["hello", "world"]})),
        ((words("a<>b<><>c", ""), word("<>")), _sparse([2, 4], {0: ["a", "b", "", "c"], 1: [""]})),
        ((np.zeros([0], object), word("")), _sparse([0, 0], {})),
    ),
    *known(
        "StringSplitV2-once",
        _split(maxsplit=1),
        ((words("a b c d", " x y "), word("")), _sparse([2, 2], {0: ["a", "b c d"], 1: ["x", "y "]})),
        ((words("a<>b<><>c", ""), word("<>")), _sparse([2, 2], {0: ["a", "b<><>c"], 1: [""]})),
    ),
]


def _shown(**attrs: Any) -> Callable[..., Any]:
    return lambda x: strings.as_string(x, **attrs)


FLOATS = np.array([1.5, -2.25, 1234567.0, 3.14159265], np.float32)

NUMBERS = [
    *known(
        "AsString-plain", _shown(),
        (np.array([1.5, -2, np.nan, np.inf, 1e10, 1e-7], np.float32),
         words("1.500000", "-2.000000", "nan", "inf", "10000000000.000000", "0.000000")),
        (np.array([1, -5]), words("1", "-5")),
        (np.array([True, False]), words("true", "false")),
        (np.array([1 + 2j]), words("(1.000000,2.000000)")),
        (np.array([250], np.uint8), words("250")),
        (np.float16(1.5), word("1.500000")),
        (words("a"), words("a")),
        (np.zeros([0, 2], np.float32), EMPTY),
    ),
    *known("AsString-two", _shown(precision=2), (FLOATS, words("1.50", "-2.25", "1234567.00", "3.14"))),
    *known("AsString-scientific", _shown(scientific=True, precision=2),
            (FLOATS, words("1.50e+00", "-2.25e+00", "1.23e+06", "3.14e+00"))),
    *known("AsString-shortest", _shown(shortest=True), (FLOATS, words("1.5", "-2.25", "1.23457e+06", "3.14159"))),
    *known("AsString-wide", _shown(width=12),
            (FLOATS, words("    1.500000", "   -2.250000", "1234567.000000", "    3.141593"))),
    *known("AsString-zeros", _shown(width=8, fill="0", shortest=True),
            (np.array([1.5, np.nan], np.float32), words("000001.5", "     nan"))),
    *known("AsString-left", _shown(width=12, fill="-"), (FLOATS[:2], words("1.500000    ", "-2.250000   "))),
    *known("AsString-signed", _shown(fill="+"), (FLOATS[:2], words("+1.500000", "-2.250000"))),
    *known("AsString-integers", _shown(width=4, fill="0"), (np.array([1, -1]), words("0001", "-001"))),
    *known("AsString-complex", _shown(width=4, precision=1), (np.array([1.5 + 2j]), words("( 1.5, 2.0)"))),
    *known(
        "StringToNumber-floats", strings.to_number,
        (words("1.5", " 2 ", "-3e2", "inf", "NaN", "0x10", "1e400", "+4", "0x1.8p3", "-INFINITY"),
         np.array([1.5, 2, -300, np.inf, np.nan, 16, np.inf, 4, 12, -np.inf], np.float32)),
        (word("1"), np.float32(1)),
        (EMPTY, np.zeros([0, 2], np.float32)),
    ),
    *known("StringToNumber-double", lambda x: strings.to_number(x, float64),
            (words("0.1", ".5", "5."), np.array([0.1, 0.5, 5.0]))),
    *known("StringToNumber-integers", lambda x: strings.to_number(x, int32),
            (words("15", " 2 ", "-3", "+4"), np.array([15, 2, -3, 4], np.int32))),
    Row("StringToNumber-refusing", lambda x: strings.to_number(x, int32), _each(int, np.int32)).on(
        [words("7")],
        faults=[
            *[
                Fault(words(bad), "could not correctly convert")
                for bad in ("1.5", "", "abc", "0x10", "1_0", "1" * 5000)
            ],
            Fault(words("2147483648"), "is not between"),
        ],
    ),
    Row("StringToNumber-floating", strings.to_number, _each(float, np.float32)).on(
        [words("7")],
        faults=[Fault(words(bad), "could not correctly convert") for bad in ("", "abc", "1.5f", "1_0", "e5")],
    ),
    *known(
        "DecodeRaw-little", lambda x: acts.io.decode_raw(x, int16),
        (words("abcd", "efgh"), np.frombuffer(b"abcdefgh", "<i2").reshape(2, 2)),
        (word("ab"), np.frombuffer(b"ab", "<i2")),
        (np.zeros([0], object), np.zeros([0, 0], np.int16)),
        (words("", ""), np.zeros([2, 0], np.int16)),
    ),
    *known("DecodeRaw-big", lambda x: acts.io.decode_raw(x, int16, little_endian=False),
            (words(["abcd", "efgh"]), np.array([[[24930, 25444], [25958, 26472]]], np.int16))),
    *known("DecodeRaw-bool", lambda x: acts.io.decode_raw(x, bool), (words(b"\1\0"), np.array([[True, False]]))),
    *known("DecodeRaw-complex", lambda x: acts.io.decode_raw(x, "complex64", little_endian=False),
            (word(np.array([1.5, -2], ">f4").tobytes()), np.array([1.5 - 2j], np.complex64))),
    Row(
        "DecodeRaw-long",
        lambda x: acts.io.decode_raw(x, int64),
        lambda x: np.array([np.frombuffer(v, "<i8") for v in x]),
    ).on(
        [words("abcdefgh")],
        faults=[Fault(words("abc", "ab"), "have one length"), Fault(words("abc"), "multiple of 8 bytes")],
    ),
    *known("StringToHashBucketFast-hundred", lambda x: strings.to_hash_bucket_fast(x, 100),
            (words("a", "bc", ""), np.array([39, 79, 63])),
            (word("a"), np.int64(39)),
            (EMPTY, np.zeros([0, 2], np.int64))),
]  # fmt: skip


def _replace(pattern: str, rewrite: str, **more: Any) -> Callable[..., Any]:
    return lambda x: strings.regex_replace(x, pattern, rewrite, **more)


REGEX = [
    *known("StaticRegexReplace-groups", _replace("a+(b)", r"<\1\0>"),
            (words("aab", "b"), words("<baab>", "b")), (word("aab"), word("<baab>")),
            (EMPTY, EMPTY)),
    *known("StaticRegexReplace-first", _replace("a", "x", replace_global=False), (words("aaa"), words("xaa"))),
    *known("StaticRegexReplace-nothing", _replace("x*", "-"),
            (words("abc", "axb", ""), words("-a-b-c-", "-a-b-", "-"))),
    *known("StaticRegexReplace-characters", _replace(".", "x"),
            (words("äb", b"\xff", "a\nb"), words("xx", b"\xff", "x\nx"))),
    *known("StaticRegexReplace-end", _replace("$", "x"), (words("a\nb\n"), words("a\nb\nx"))),
    *known("StaticRegexReplace-ascii", _replace(r"\w", "x"), (words("äb"), words("äx"))),
    *known("StaticRegexReplace-posix", _replace("[[:alpha:]]+", "-"), (words("ab1c"), words("-1-"))),
    *known("StaticRegexReplace-flag", _replace("(?i)A|(?:b|cd)*c", r"\\"), (words("axbcdc"), words("\\x\\"))),
    Row(
        "RegexReplace",
        {},
        lambda x, _p, _r: _each(lambda v: v.replace(b"b", b"-"))(x),
    ).on([(words("abc"), word("b"), word("-")), (EMPTY, word("b"), word("-"))]),
    *known("StaticRegexFullMatch-static", lambda x: strings.regex_full_match(x, "a.c"),
            (words("abc", "ab", "abcd", "a\nc"), np.array([True, False, False, False])),
            (word("abc"), np.bool_(True)), (EMPTY, np.zeros([0, 2], np.bool_))),
    *known("RegexFullMatch-fed", strings.regex_full_match,
            ((words("abc", "ab"), word("a.c")), np.array([True, False]))),
]  # fmt: skip


# -- what savers need beside files -----------------------------------------------------------------

PREFIX = np.array(b"folder/model", object)

ROWS = [
    Row(
        "ShardedFilename",
        sharded_filename,
        lambda base, shard, count: np.array(b"%s-%05d-of-%05d" % (base.item(), int(shard), int(count)), object),
    ).on(
        [(PREFIX, np.int32(0), np.int32(2)), (np.array(b"", object), np.int32(7), np.int32(123456))],
        faults=[
            Fault(
                (np.array([b"a", b"b"], object), np.int32(0), np.int32(2)),
                r"one string here, got shape \[2\]",
                "takes a scalar as basename",
            )
        ],
    ),
    Row(
        "ShardedFilespec",
        sharded_filespec,
        lambda base, count: np.array(b"%s-?????-of-%05d" % (base.item(), int(count)), object),
    ).on(
        [(PREFIX, np.int32(2)), (np.array(b"", object), np.int32(123456))],
        faults=[
            Fault(
                (np.array([b"a", b"b"], object), np.int32(2)),
                r"one string here, got shape \[2\]",
                "takes a scalar as basename",
            )
        ],
    ),
]
