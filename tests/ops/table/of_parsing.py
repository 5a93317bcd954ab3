"""Rows of the op types that take bytes apart; what is expected was taken down from TensorFlow 2.21."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

import actorsession as acts
from actorsession import bfloat16, constant, float32, int64, string, uint8
from actorsession.interop.example_protos import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)
from actorsession.interop.protos import TensorProto
from tests.nodes import make
from tests.ops.table.of_strings import word, words
from tests.ops.table.row import Fault, Row, known

EMPTY = np.zeros([0], object)


# -- examples --------------------------------------------------------------------------------------


def example(**features: list[Any]) -> bytes:
    """A serialized example; the type of a feature is that of its first value."""
    made = Example(features=Features())
    for key, values in features.items():
        kind = type(values[0])
        made.features.feature[key].CopyFrom(
            Feature(int64_list=Int64List(value=values))
            if kind is int
            else Feature(float_list=FloatList(value=values))
            if kind is float
            else Feature(bytes_list=BytesList(value=values))
        )
    return made.SerializeToString()


FULL = example(a=[1.0, 2.0], b=[5], c=[b"x", b"y"])
BARE = example(a=[3.0, 4.0], b=[-6])


def _parsed(features: dict[str, Any]) -> Callable[..., Any]:
    """All tensors of a node, sparse ones first."""
    return lambda x: next(iter(acts.io.parse_example(x, features).values())).op.outputs


ABC = {
    "a": acts.io.FixedLenFeature([2], float32),
    "b": acts.io.FixedLenFeature([], int64),
    "c": acts.io.VarLenFeature(string),
}
BLOCKS = {
    "a": acts.io.FixedLenSequenceFeature([1], float32, True, -1.0),
    "c": acts.io.FixedLenSequenceFeature([], string, True),
}


def _older(x: Any) -> Any:
    """The node of TensorFlow 1, whose keys are scalars."""
    keys = [constant(key, string) for key in ("c", "a", "b")]
    defaults = [constant([], float32), constant([9], int64)]
    attrs = {"Nsparse": 1, "Ndense": 2, "sparse_types": (string,), "dense_shapes": ((2,), (1,))}
    return list(make("ParseExample", [x, constant([], string), *keys, *defaults], attrs).outputs)


def _single(x: Any) -> Any:
    attrs = {
        "num_sparse": 1,
        "sparse_keys": ("c",),
        "sparse_types": (string,),
        "dense_keys": ("a",),
        "dense_shapes": ((2,),),
    }
    return list(make("ParseSingleExample", [x, constant([], float32)], attrs).outputs)


NONE = [np.zeros([0, 2], np.int64), EMPTY, np.zeros(2, np.int64)]
EXAMPLES = [
    *known(
        "ParseExampleV2-features", _parsed(ABC),
        (
            words(FULL, BARE),
            [np.array([[0, 0], [0, 1]]), words("x", "y"), np.array([2, 2]),
             np.array([[1, 2], [3, 4]], np.float32), np.array([5, -6])],
        ),
        (EMPTY, [*NONE, np.zeros([0, 2], np.float32), np.zeros(0, np.int64)]),
        (
            word(FULL),
            [np.array([[0], [1]]), words("x", "y"), np.array([2]),
             np.array([1, 2], np.float32), np.int64(5)],
        ),
    ),
    *known(
        "ParseExampleV2-blocks", _parsed(BLOCKS),
        (
            words(FULL, example(a=[7.0]), b""),
            [np.array([[[1], [2]], [[7], [-1]], [[-1], [-1]]], np.float32),
             words(["x", "y"], ["", ""], ["", ""])],
        ),
        (EMPTY, [np.zeros([0, 0, 1], np.float32), np.zeros([0, 0], object)]),
    ),
    Row(
        "ParseExampleV2-default",
        _parsed({"a": acts.io.FixedLenFeature([2], float32, [8.0, 9.0])}),
        lambda _: np.array([[8, 9]], np.float32),
    ).on(
        [words(b"")],
        faults=[
            Fault(words(FULL, "garbage"), "Could not parse example input 1"),
            Fault(words(example(a=[1.0])), r"Key: a, Index: 0.*float values != expected"),
            Fault(words(example(a=[1])), "Expected type: float, actual type: int64"),
            Fault(words(["a"]), "vector of examples or one", "vector of examples"),
        ],
    ),
    Row(
        "ParseExampleV2-required", _parsed({"c": acts.io.FixedLenFeature([2], string)}), lambda _: words(["x", "y"])
    ).on([words(FULL)], faults=[Fault(words(FULL, BARE), "Key: c, Index: 1.*is required but could not be found")]),
    *known(
        "ParseExample-features", _older,
        (
            words(FULL, example(a=[3.0, 4.0])),
            [np.array([[0, 0], [0, 1]]), words("x", "y"), np.array([2, 2]),
             np.array([[1, 2], [3, 4]], np.float32), np.array([[5], [9]])],
        ),
        (EMPTY, [*NONE, np.zeros([0, 2], np.float32), np.zeros([0, 1], np.int64)]),
    ),
    Row(
        "ParseSingleExample",
        _single,
        lambda _: [np.array([[0], [1]]), words("x", "y"), np.array([2]), np.array([1, 2], np.float32)],
    ).on([word(FULL)], faults=[Fault(words(FULL), "takes a vector of examples or one", "takes one example")]),
]  # fmt: skip


# -- sequences -------------------------------------------------------------------------------------


def sequence(context: dict[str, Feature], **lists: list[Feature]) -> bytes:
    """A serialized sequence."""
    made = SequenceExample(context=Features(feature=context))
    for key, steps in lists.items():
        made.feature_lists.feature_list[key].CopyFrom(FeatureList(feature=steps))
    return made.SerializeToString()


def ints(*values: int) -> Feature:
    """A feature of whole numbers."""
    return Feature(int64_list=Int64List(value=values))


def floats(*values: float) -> Feature:
    """A feature of numbers."""
    return Feature(float_list=FloatList(value=values))


def texts(*values: bytes) -> Feature:
    """A feature of strings."""
    return Feature(bytes_list=BytesList(value=values))


LONG = sequence({"k": ints(7), "f": floats(1.5, 2.5)}, l=[ints(1), ints(2, 3)], m=[floats(1, 2), floats(3, 4)])
BRIEF = sequence({"k": ints(8)}, l=[ints(4, 5, 6)], m=[floats(5, 6)])


def _sequences(context: dict[str, Any], steps: dict[str, Any]) -> Callable[..., Any]:
    """All tensors of a node."""
    return lambda x: next(iter(acts.io.parse_sequence_example(x, context, steps)[1].values())).op.outputs


SEQUENCES = [
    *known(
        "ParseSequenceExampleV2-batch",
        _sequences(
            {"k": acts.io.FixedLenFeature([], int64), "f": acts.io.VarLenFeature(float32)},
            {"l": acts.io.VarLenFeature(int64), "m": acts.io.FixedLenSequenceFeature([2], float32)},
        ),
        (
            words(LONG, BRIEF),
            [np.array([[0, 0], [0, 1]]), np.array([1.5, 2.5], np.float32), np.array([2, 2]),
             np.array([7, 8]),
             np.array([[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 0, 2]]),
             np.arange(1, 7), np.array([2, 2, 3]),
             np.array([[[1, 2], [3, 4]], [[5, 6], [0, 0]]], np.float32), np.array([2, 1])],
        ),
        (
            word(LONG),
            [np.array([[0], [1]]), np.array([1.5, 2.5], np.float32), np.array([2]), np.int64(7),
             np.array([[0, 0], [1, 0], [1, 1]]), np.array([1, 2, 3]), np.array([2, 2]),
             np.array([[1, 2], [3, 4]], np.float32), np.int64(2)],
        ),
        (
            EMPTY,
            [np.zeros([0, 2], np.int64), np.zeros(0, np.float32), np.zeros(2, np.int64),
             np.zeros(0, np.int64), np.zeros([0, 3], np.int64), np.zeros(0, np.int64),
             np.zeros(3, np.int64), np.zeros([0, 0, 2], np.float32), np.zeros(0, np.int64)],
        ),
    ),
    *known(
        "ParseSequenceExampleV2-missing",
        _sequences({}, {"m": acts.io.FixedLenSequenceFeature([2], float32, True)}),
        (words(b"", BRIEF), [np.array([[[0, 0]], [[5, 6]]], np.float32)[:, :1], np.array([0, 1])]),
    ),
    Row(
        "ParseSequenceExampleV2-refusing",
        _sequences({}, {"l": acts.io.FixedLenSequenceFeature([], int64)}),
        lambda _: [np.array([[1, 2]]), np.array([2])],
    ).on(
        [words(sequence({}, l=[ints(1), ints(2)]))],
        faults=[
            Fault(words(b"garbage"), "Invalid protocol message input"),
            Fault(words(b""), "Feature list 'l' is required"),
            Fault(words(LONG), "Key: l, Index: 1. Number of values != expected"),
            Fault(words(sequence({}, l=[ints(1), Feature()])), "Key: l, Index: 1"),
            Fault(
                words(sequence({}, l=[ints(1), floats(1)])),
                "Feature list: l, Index: 1. .*Expected type: int64, actual type: float",
            ),
            Fault(words(["a"]), "vector of examples", "vector of examples"),
        ],
    ),
]  # fmt: skip


# -- CSV -------------------------------------------------------------------------------------------


def _csv(defaults: list[Any], **more: Any) -> Callable[..., Any]:
    return lambda x: acts.io.decode_csv(x, defaults, **more)


CSV = [
    *known(
        "DecodeCSV-columns", _csv([[0], [0.0], [""]]),
        (
            words("1,2.5,x", ' 3 ,-1e3,"y,""z"""'),
            [np.array([1, 3], np.int32), np.array([2.5, -1e3], np.float32), words("x", 'y,"z"')],
        ),
        (word("1,2,"), [np.int32(1), np.float32(2), word("")]),
        (words([",,"], ["7,,q"]),
         [np.array([[0], [7]], np.int32), np.zeros([2, 1], np.float32), words([""], ["q"])]),
        (EMPTY, [np.zeros(0, np.int32), np.zeros(0, np.float32), EMPTY]),
    ),
    *known("DecodeCSV-wide", _csv([np.array([5]), np.float64(1)]),
            (words("99999999999,nan", "1,0x1p3"),
             [np.array([99999999999, 1]), np.array([np.nan, 8.0])])),
    *known("DecodeCSV-missing", _csv([[7], [8]], na_value="NA"),
            (words("NA,2", '1,"NA"'), [np.array([7, 1], np.int32), np.array([2, 8], np.int32)])),
    *known("DecodeCSV-chosen", _csv([[7], [8]], select_cols=[0, 2]),
            (words('1,"x,y",3', "4,5,"), [np.array([1, 4], np.int32), np.array([3, 8], np.int32)])),
    *known("DecodeCSV-unquoted", _csv([[""], [""]], use_quote_delim=False, field_delim="\t"),
            (words('a"b\t"2"'), [words('a"b'), words('"2"')])),
    *known("DecodeCSV-ending in nothing", _csv([[""], [5]]),
            (words('"a,b",', 'c,""'), [words("a,b", "c"), np.array([5, 5], np.int32)])),
    *known("DecodeCSV-lines", _csv([[""], [""]]), (words('\na,"b\nc"'), [words("a"), words("b\nc")])),
    Row(
        "DecodeCSV-refusing",
        _csv([np.zeros(0, np.int32), [0]]),
        lambda _: [np.array([1], np.int32), np.array([2], np.int32)],
    ).on(
        [words("1,2")],
        faults=[
            Fault(words("1,2", ",2"), "Field 0 is required but missing in record 1"),
            Fault(words("1"), "Expect 2 fields but have 1 in record 0"),
            Fault(words("1,2,3"), "Expect 2 fields but have 3 in record 0"),
            Fault(words(""), "Expect 2 fields but have 0 in record 0"),
            *[
                Fault(words("0,0", f"1,{bad}"), "Field 1 in record 1 is not a valid int32")
                for bad in ("x", "1.5", "0x10", "1_0", "2147483648", " ")
            ],
            *[Fault(words(bad), "Unquoted fields cannot have") for bad in ('1"2,3', "1,2\n", "1\r,2")],
            Fault(words('"1,2'), "Quoted field has to end"),
            Fault(words('"1"2,3'), "has to be escaped"),
        ],
    ),
]  # fmt: skip


# -- tensors and compressed strings ----------------------------------------------------------------


def _numbers(dtype: Any) -> list[Any]:
    values = np.array([[0, 1], [2, 3]]).astype(dtype)
    return [values, values[0, 1], np.zeros([0, 2], dtype)]


ARRAYS = [
    array
    for dtype in (np.float32, np.float16, np.int8, np.uint64, np.complex64, np.bool_, bfloat16.np_dtype)
    for array in _numbers(dtype)
]


def _message(array: Any) -> bytes:
    made = acts.io.make_tensor_proto(array)
    if array.dtype != object and array.size:  # the op has no short form for a single number
        made = TensorProto(dtype=made.dtype, tensor_shape=made.tensor_shape, tensor_content=array.tobytes())
    return made.SerializeToString()


def _serialized(x: Any) -> Any:
    """As numbers: numpy's own strings lose zero bytes at their end."""
    return acts.io.decode_raw(acts.io.serialize_tensor(x), uint8)


def _octets(x: Any) -> Any:
    return np.frombuffer(_message(x), np.uint8)


SHORT = bytes.fromhex("0801 1204 12020803 2d 00000040".replace(" ", ""))
BIG = bytes.fromhex("0801 120a 1208 08ffffffffffff3f 2d 00000040".replace(" ", ""))
# Sizes, and behind them all bytes, as sparse tensors of strings are serialised.
IN_ONE_PIECE = bytes.fromhex("0807 1208 12020801 12020802 2205 0102 616263".replace(" ", ""))
TENSORS = [
    Row("SerializeTensor", _serialized, _octets).on([(a,) for a in ARRAYS]),
    Row("SerializeTensor-strings", _serialized, _octets).on([words(["a", "bc"]), word("abc"), EMPTY]),
    *known("ParseTensor-float32", lambda x: acts.io.parse_tensor(x, float32),
            (word(_message(np.array([[1, 2]], np.float32))), np.array([[1, 2]], np.float32)),
            (word(_message(np.float32(3))), np.float32(3)),
            (word(_message(np.zeros([2, 0], np.float32))), np.zeros([2, 0], np.float32)),
            (word(SHORT), np.array([2, 2, 2], np.float32))),
    *known("ParseTensor-strings", lambda x: acts.io.parse_tensor(x, string),
            (word(_message(words(["a", "b"]))), words(["a", "b"])),
            (word(_message(word("z"))), word("z")),
            (word(IN_ONE_PIECE), words(["a", "bc"]))),
    Row("ParseTensor-refusing", lambda x: acts.io.parse_tensor(x, float32), lambda _: np.float32(1)).on(
        [word(_message(np.float32(1)))],
        faults=[
            Fault(word("garbage"), "Could not parse `serialized`"),
            Fault(word(""), "Type mismatch"),
            Fault(word(_message(np.int32(1))), r"Type mismatch .*int32.*float32"),
            Fault(words("a"), "to be a scalar"),
            Fault(word(SHORT[:2] + b"\x12\x0d\x12\x0b\x08" + b"\xff" * 9 + b"\x01"), "shape"),
            Fault(word(BIG), "cannot have 1 elements"),
        ],
    ),
    *known("DecodeCompressed-zlib", lambda x: acts.io.decode_compressed(x, "ZLIB"),
            (words(zlib.compress(b"abc"), zlib.compress(b"")), words("abc", "")),
            (word(zlib.compress(b"abc" * 50)[:-4]), word("abc" * 50)), (EMPTY, EMPTY)),
    *known("DecodeCompressed-gzip", lambda x: acts.io.decode_compressed(x, "GZIP"),
            (words([gzip.compress(b"abc")]), words(["abc"]))),
    *known("DecodeCompressed-plain", acts.io.decode_compressed, (word("ab"), word("ab"))),
]  # fmt: skip


JSON = '{"features":{"feature":{%s}}}'
PLAIN = JSON % (
    '"a":{"int64List":{"value":["1",2,-1]}},"b":{"float_list":{"value":[1.5,"NaN"]}},'
    '"c":{"bytesList":{"value":["YWI="]}},"d":{}'
)
JSON_EXAMPLES = [
    *known(
        "DecodeJSONExample-parsed", lambda x: list(
            acts.io.parse_example(acts.io.decode_json_example(x), {
                "a": acts.io.FixedLenFeature([3], int64), "b": acts.io.FixedLenFeature([2], float32),
                "c": acts.io.FixedLenFeature([], string), "d": acts.io.FixedLenFeature([], int64, 4),
            }).values()
        ),
        (words(PLAIN), [np.array([[1, 2, -1]]), np.array([[1.5, np.nan]], np.float32), words("ab"),
                           np.array([4])]),
    ),
    *known(
        "DecodeJSONExample-bytes", acts.io.decode_json_example,
        (words("{}", JSON % ""), words(b"", b"\x0a\x00")),
        # TensorFlow's own bytes.
        (word(JSON % '"a":{"int64_list":{"value":[1]}}'),
         word(b"\x0a\x0b\x0a\x09\x0a\x01a\x12\x04\x1a\x02\x08\x01")),
        (EMPTY, EMPTY),
    ),
    Row("DecodeJSONExample-refusing", acts.io.decode_json_example, lambda _: words(b"")).on(
        [words("{}")],
        faults=[
            Fault(words(bad), "Error while parsing JSON")
            for bad in (
                "",
                "3",
                "[]",
                '{"features"',
                '{"x":1}',
                '{"features":3}',
                JSON % '"a":3',
                "[" * 99999,
                *[
                    JSON % f'"a":{{"int64List":{{"value":{v}}}}}'
                    for v in ("3", "[1.5]", '["x"]', "[true]", "[9223372036854775808]", "[null]")
                ],
                JSON % '"a":{"floatList":{"value":["x"]}}',
                JSON % '"a":{"bytesList":{"value":["?"]}}',
                JSON % '"a":{"bytesList":{},"floatList":{}}',
            )
        ],
    ),
]  # fmt: skip


# -- hashes ----------------------------------------------------------------------------------------

TEXTS = words("a", "bc", "", "hello world this is longer than 8")
HASHES = [
    *known("StringToHashBucket-prime", lambda x: acts.strings.to_hash_bucket(x, 1000000007),
            (TEXTS, np.array([395105680, 857900967, 727638525, 211846230])),
            (word("bc"), np.int64(857900967)), (EMPTY, np.zeros(0, np.int64))),
    *known("StringToHashBucketStrong-prime",
            lambda x: acts.strings.to_hash_bucket_strong(x, 1000000007, [1, 2]),
            (TEXTS, np.array([142192448, 968030473, 436933189, 422100444])),
            (word("a"), np.int64(142192448)), (EMPTY, np.zeros(0, np.int64))),
    *known("StringToHashBucketStrong-large key",
            lambda x: acts.strings.to_hash_bucket_strong(x, 2**62, [2**62, -5]),
            (words("a"), np.array([2514515071904507145]))),
    Row("StringToHashBucketStrong-empty", lambda x: acts.strings.to_hash_bucket_strong(x, 10, [1, 2]),
         lambda x: np.zeros(x.shape, np.int64)).on([EMPTY]),
]  # fmt: skip
