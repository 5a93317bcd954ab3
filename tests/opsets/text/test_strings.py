"""Strings: names, defaults and what is refused; their values are in the table."""

from __future__ import annotations

import inspect
import sys
import zlib
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import Graph, ops, opsets, strings, uint8
from actorsession.errors import InvalidArgumentError, ResourceExhaustedError
from actorsession.opsets.parsing import serialized
from actorsession.opsets.text import kernels
from actorsession.opsets.text.fingerprints import farmhash64
from actorsession.opsets.text.printing import print_
from actorsession.plan.codegen.memory_check import memory_limit
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each, refused, refusing


def test_a_session_joins_splits_and_counts_words() -> None:
    with acts.Session() as session:
        line = acts.placeholder(acts.string, [None])
        parts = acts.strings.string_split(line)
        [sparse, many] = session.run([parts, acts.strings.length(parts.values)], {line: ["a bc", "d"]})
        assert (sparse.indices.tolist(), sparse.values.tolist()) == ([[0, 0], [0, 1], [1, 0]], [b"a", b"bc", b"d"])
        assert (sparse.dense_shape.tolist(), many.tolist()) == ([2, 2], [1, 2, 1])
        whole = acts.strings.join(["<", acts.strings.reduce_join(parts.values, separator="+"), ">"])
        assert session.run(whole, {line: ["a bc", "d"]}) == b"<a+bc+d>"


@for_each(
    "one, other",
    [
        (opsets.string_join, strings.join),
        (opsets.string_strip, strings.strip),
        (opsets.string_to_number, strings.to_number),
        (opsets.as_string, strings.as_string),
        (opsets.substr, strings.substr),
        (opsets.regex_replace, strings.regex_replace),
        (opsets.reduce_join, strings.reduce_join),
        (opsets.string_to_hash_bucket_fast, strings.to_hash_bucket_fast),
    ],
)
def test_names_at_the_top_are_those_of_the_namespace(one: Any, other: Any) -> None:
    assert one is other


@for_each("name", strings.__all__)
def test_functions_of_the_namespace_are_documented_and_take_names(name: str) -> None:
    function = getattr(strings, name)
    assert inspect.getdoc(function)
    assert "name" in inspect.signature(function).parameters


def test_the_shape_of_a_split_is_known_as_far_as_it_can_be() -> None:
    sparse = opsets.string_split(source("string", [3]))
    assert (sparse.shape.as_list(), strings.split(source("string", [])).shape.as_list()) == ([3, None], [1, None])
    assert opsets.decode_raw(source("string", [2]), acts.uint8).shape.as_list() == [2, None]


test_what_cannot_be_is_refused_by_the_line_that_builds = refusing(
    (lambda x: strings.lower(x, encoding="latin"), ValueError, "encoding is"),
    (lambda x: strings.length(x, unit="WORD"), ValueError, "unit is BYTE"),
    (lambda x: strings.split(x, result_type="RaggedTensor"), ValueError, "nothing is ragged"),
    (lambda x: strings.format("{} {}", x), ValueError, "expects 2 tensors"),
    (lambda x: strings.to_number(x, acts.uint8), TypeError, "gives float32, float64"),
    (lambda x: opsets.decode_raw(x, acts.string), TypeError, "gives bool, signed integers"),
    (lambda x: strings.to_hash_bucket_fast(x, 0), ValueError, "at least 1"),
    (lambda x: strings.as_string(x, precision=2), ValueError, "floating-point numbers"),
    (lambda x: strings.as_string(x, fill="x"), ValueError, "fill is empty"),
    (lambda x: strings.as_string(1.0, scientific=True, shortest=True), ValueError, "exclude"),
    (lambda x: strings.join([]), ValueError, "at least one input"),
    (lambda x: strings.lower(1.0), TypeError, "cannot make a tensor"),
    (lambda x: strings.reduce_join(x, [1]), ValueError, "axis 1 is not in"),
    (lambda x: strings.unicode_transcode(x, "none", "UTF-8"), ValueError, "input_encoding"),
    (lambda x: strings.unicode_transcode(x, "UTF-8", "latin"), ValueError, "output_encoding"),
    (lambda x: strings.unicode_transcode(x, "UTF-8", "UTF-8", "no"), ValueError, "errors is"),
    (lambda x: strings.substr(x, source("int64", []), source("int32", [])), TypeError, "int64"),
    of=lambda build: build(source("string", [2])),
)


@pytest.mark.parametrize("name", ["width", "precision"])
def test_a_number_is_no_wider_than_c_promises(name: str) -> None:
    widest: dict[str, Any] = {name: 4095}
    assert len(evaluate([strings.as_string(0.5, **widest)])[0]) >= 4095
    wider: dict[str, Any] = {name: 4096}
    refused(lambda: strings.as_string(0.5, **wider), InvalidArgumentError, f"{name} is 4095 at most")


@for_each(
    "build",
    [
        lambda x: strings.join([x, x], "-"),
        lambda x: strings.reduce_join(ops.stack([x, x, x])),
        lambda x: strings.unsorted_segment_join(ops.stack([x, x, x]), [0, 0, 0], 1),
        lambda x: strings.regex_replace(x, "", "xx"),
        lambda x: opsets.decode_compressed(ops.constant(zlib.compress(bytes(1000))), compression_type="ZLIB"),
    ],
    ids=["join", "reduce", "segment", "replace", "inflate"],
)
def test_a_string_has_a_longest_length(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (kernels, serialized):
        monkeypatch.setattr(module, "LONGEST", 20)
    x = source("string", [])
    made = build(x)
    if made.op.inputs[0] is x or made.op.inputs[0].op.type == "Pack":
        assert len(str(evaluate([made], {x: b"12345"})[0])) > 5
    refused(lambda: evaluate([made], {x: b"1234567890"}), InvalidArgumentError, "a string has 20 bytes at most")


def test_strings_for_which_there_is_no_memory_are_refused() -> None:
    """The strings that are joined are one; what is made of them would be 16 TiB."""
    x = ops.fill([1 << 20], source("string", []))
    made = strings.join([x, x])
    with pytest.raises(ResourceExhaustedError, match=rf"would take {1 << 44} bytes; .* have {memory_limit()}"):
        evaluate([made], {x.op.inputs[1]: b"x" * (1 << 23)})


def test_one_axis_is_not_joined_twice() -> None:
    joined = strings.reduce_join([["a", "b"]], [1, -1])
    refused(lambda: evaluate([joined]), InvalidArgumentError, "name one twice")


# -- ``print_`` ------------------------------------------------------------------------------------

MATRIX = np.array([[1, 2], [3, 4]], np.int32)


def printed(capfd: Any, *inputs: Any, **options: Any) -> str:
    """What a step writes to standard output. Lines are written by a thread of their own."""
    with acts.Graph().as_default() as graph, acts.Session(graph=graph) as session:
        made = [ops.constant(x) if isinstance(x, np.ndarray) else x for x in inputs]
        made = [{"k": ops.constant(MATRIX)} if x is dict else x for x in made]
        session.run(print_(*made, output_stream=sys.stdout, end="|", **options))
    sys.stdout.flush()
    found: str = capfd.readouterr().out
    return found


@pytest.mark.parametrize(
    ("inputs", "options", "said"),
    [
        (("x", MATRIX, 1.5), {}, "x [[1 2]\n [3 4]] 1.5|"),
        (("a", "b"), {"sep": ""}, "ab|"),
        ((np.array(b"st", object), np.array(True), np.float64(2.5)), {}, '"st" 1 2.5|'),
        (([0, 1], ("q",)), {}, "[0, 1] ('q',)|"),
        ((np.arange(20),), {}, "[0 1 2 ... 17 18 19]|"),
        ((np.arange(5),), {"summarize": -1}, "[0 1 2 3 4]|"),
        ((dict,), {}, "{'k': [[1 2]\n [3 4]]}|"),
    ],
)
def test_a_step_writes_tensors_and_values(capfd: Any, inputs: Any, options: Any, said: str) -> None:
    assert printed(capfd, *inputs, **options) == said


def test_another_stream_is_refused() -> None:
    with acts.Graph().as_default(), pytest.raises(ValueError, match=r"sys\.stderr or sys\.stdout"):
        print_("x", output_stream="nowhere")


# -- fingerprints ----------------------------------------------------------------------------------

# By the length of bytes that count up from 0.
KNOWN = {
    0: 0x9AE16A3B2F90404F,
    1: 0xBE6056EDF5E94B54,
    3: 0x94A13D22E9EBA49A,
    4: 0x82BFFD898958E540,
    7: 0xA2E0BFF20DB0A6A1,
    8: 0xAD5A13E1E8E93B98,
    16: 0x0EFD25A0A34156D4,
    17: 0xBBB6A6F8F20D1F1C,
    32: 0x1A9D8199972CDF49,
    33: 0xE8756EC1CB75524E,
    64: 0xF58504BB53DECC4B,
    65: 0xC6A3282C3E793DBE,
    128: 0x1C484C95F0EA5DD3,
    200: 0x074C7FCC26D66FB3,
}


@for_each("size", KNOWN)
def test_each_length_has_the_fingerprint_of_tensorflow(size: int) -> None:
    assert farmhash64(bytes(range(size))) == KNOWN[size]


def _numbers(data: Any) -> list[int]:
    with Graph().as_default():
        [found] = evaluate([acts.strings.fingerprint(data)])
    return [int.from_bytes(row.tobytes(), "little") for row in found]


def test_rows_of_numbers_are_hashed_by_their_bytes() -> None:
    rows = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert _numbers(rows) == [0x34A4D98923E761E2, 0x51B11570D6F7CD87]


def test_rows_of_several_strings_are_hashed_by_the_fingerprints_of_each() -> None:
    assert _numbers([["a", "b"], ["c", ""]]) == [0x53373C88A93B407A, 0x871DC03407E15B65]
    assert _numbers([["a"], ["b"]]) == _numbers(["a", "b"]) == [farmhash64(b"a"), farmhash64(b"b")]


def test_a_fingerprint_has_8_bytes() -> None:
    known = acts.strings.fingerprint(source("float32", [3, None]))
    assert (known.dtype, known.shape.as_list()) == (uint8, [3, 8])
    assert acts.strings.fingerprint(source("float32")).shape.as_list() == [None, 8]


def test_scalars_and_other_methods_are_refused() -> None:
    refused(lambda: acts.strings.fingerprint(1), ValueError, "rank at least 1")
    refused(lambda: acts.strings.fingerprint([1], method="md5"), ValueError, "farmhash64, got b'md5'")
