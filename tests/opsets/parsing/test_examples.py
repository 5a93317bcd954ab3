"""Examples parsed: what is wanted is checked, what is found is what the messages hold, damage is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import actorsession as acts
from actorsession import errors, float32, int32, int64, ops, string
from actorsession.interop.example_protos import Example, Feature, Features
from actorsession.opsets.parsing.example_reader import ExampleReader, WrongKindError
from actorsession.protobuf.wire import WireError, length_field
from tests.ops.cases import run
from tests.ops.table.of_parsing import floats, ints, texts
from tests.rows import for_each, refused, refusing


def example(**features: Feature) -> bytes:
    return Example(features=Features(feature=features)).SerializeToString()


def says(serialized: Any, features: dict[str, Any], match: str, names: Any = None) -> None:
    parsed = acts.io.parse_example(serialized, features, example_names=names)
    with pytest.raises(errors.InvalidArgumentError, match=match):
        run(parsed)


# -- what is wanted --------------------------------------------------------------------------------


def _parse(**features: Any) -> Any:
    return lambda: acts.io.parse_example([b""], features)


test_a_feature_that_says_too_little_is_refused = refusing(
    (3, ValueError, "Unsupported int 3 for key 'a'"),
    (acts.io.FixedLenFeature(None, float32), ValueError, "Missing shape for feature a"),
    (acts.io.FixedLenFeature([2], None), ValueError, "Missing type for feature a"),
    (acts.io.FixedLenFeature([None], float32), ValueError, "First dimension .* unknown"),
    (acts.io.FixedLenFeature([2, None], float32), ValueError, "All dimensions of shape"),
    (acts.io.FixedLenFeature([2], "int32"), TypeError, "of int32: string, float32 and int64"),
    (acts.io.FixedLenFeature([2], float32, [1.0]), ValueError, "1 elements"),
    (acts.io.FixedLenFeature([1], float32, ["x"]), TypeError, "float32"),
    (acts.io.FixedLenSequenceFeature([], float32), ValueError, "requires allow_missing"),
    (acts.io.FixedLenSequenceFeature([], float32, True, [1.0, 2.0]), ValueError, "2 elements"),
    (acts.io.VarLenFeature(None), ValueError, "Missing type"),
    (acts.io.VarLenFeature("float64"), TypeError, "of float64"),
    (acts.io.SparseFeature(None, "v", float32, 5), ValueError, "Missing index_key"),
    (acts.io.SparseFeature("i", None, float32, 5), ValueError, "Missing value_key"),
    (acts.io.SparseFeature(["i", "j"], "v", float32, [5]), ValueError, "has as many sizes"),
    of=lambda feature: acts.io.parse_example([b""], {"a": feature}),
)


def test_a_key_is_wanted_in_one_way() -> None:
    twice = {"i": acts.io.FixedLenFeature([], int64), "s": acts.io.SparseFeature("i", "v", float32, 5)}
    refused(_parse(**twice), ValueError, r"must not intersect.*intersection: \['i'\]")
    both = {"a": acts.io.SparseFeature("v", "x", int64, 5), "v": acts.io.VarLenFeature(float32)}
    refused(_parse(**both), ValueError, "Conflicting type int64 vs float32 for feature v")
    refused(_parse(), ValueError, "features")
    refused(lambda: acts.io.parse_single_example([b""], {}), ValueError, "features")


def test_one_example_is_a_scalar_and_many_are_a_vector() -> None:
    wanted = {"a": acts.io.VarLenFeature(int64)}
    with pytest.raises(ValueError, match="must be a scalar"):
        acts.io.parse_single_example([b""], wanted)
    with pytest.raises(ValueError, match="vector of examples or one"):
        acts.io.parse_example([[b""]], wanted)
    assert acts.io.parse_single_example(ops.placeholder(string), wanted)["a"].shape.as_list() == [None]


def test_shapes_are_known_and_nodes_have_tensorflows_names(graph: Any) -> None:
    made = acts.io.parse_example(
        ops.placeholder(string, [None]),
        {
            "a b": acts.io.FixedLenFeature([1], int64, 7),
            "f": acts.io.FixedLenFeature([2, 3], float32),
            "v": acts.io.VarLenFeature(string),
            "s": acts.io.FixedLenSequenceFeature([4], float32, True),
        },
    )
    shapes = {key: value.shape.as_list() for key, value in made.items()}
    assert shapes == {"a b": [None, 1], "f": [None, 2, 3], "v": [None, None], "s": [None, None, 4]}
    names = {op.name for op in graph.get_operations()}
    assert names >= {"ParseExample/key_a_b", "ParseExample/ParseExampleV2"}
    single = acts.io.parse_single_example(b"", {"f": acts.io.FixedLenFeature([2, 3], float32)}, name="one")
    assert (single["f"].op.name, single["f"].shape.as_list()) == ("one/one/one", [2, 3])


# -- what is found ---------------------------------------------------------------------------------


def test_a_sparse_feature_is_put_together_of_its_parts_in_order() -> None:
    data = [example(i=ints(3, 0), j=ints(1, 1), v=floats(1, 2)), example(i=ints(1), j=ints(0), v=floats(9))]
    wanted = {
        "flat": acts.io.SparseFeature("i", "v", float32, 5),
        "as_is": acts.io.SparseFeature("i", "v", float32, 5, True),
        "deep": acts.io.SparseFeature(["i", "j"], "v", float32, [5, 2]),
    }
    made = acts.io.parse_example(data, wanted)
    assert (list(made), made["deep"].shape.as_list()) == (["flat", "as_is", "deep"], [None, 5, 2])
    found = run(made)
    assert (found["flat"].indices.tolist(), found["flat"].values.tolist()) == ([[0, 0], [0, 3], [1, 1]], [2, 1, 9])
    assert (found["flat"].dense_shape.tolist(), found["as_is"].indices.tolist()) == ([2, 5], [[0, 3], [0, 0], [1, 1]])
    assert found["deep"].indices.tolist() == [[0, 0, 1], [0, 3, 1], [1, 1, 0]]
    single = run(acts.io.parse_single_example(data[0], wanted))
    assert (single["flat"].indices.tolist(), single["flat"].dense_shape.tolist()) == ([[0], [3]], [5])


def test_errors_name_the_example_the_key_and_what_was_found() -> None:
    data = [example(a=floats(1, 2)), example(b=ints(1))]
    names = ["first", "second"]
    wanted = {"a": acts.io.FixedLenFeature([2], float32)}
    says(data, wanted, "Name: second, Key: a, Index: 1. .*required but could not", names)
    says(data[:1] * 2, {"a": acts.io.VarLenFeature(int64)}, "Key: a, Index: 0. Data types don't match")
    says([data[0], b"\x0a\x05"], wanted, "example input 1, called b'second'", names)
    says(data, wanted, "same shape as serialized: 1 names, 2 examples", ["x"])
    blocks = {"a": acts.io.FixedLenSequenceFeature([3], float32, True)}
    says(data, blocks, r"Index: 0.*not a multiple .*Saw 2 values .*\[\?,3\]")


def test_a_feature_that_comes_twice_is_the_last_one_unless_that_is_empty() -> None:
    first, last, empty = (
        length_field(1, length_field(1, b"a") + length_field(2, feature.SerializeToString()))
        for feature in (ints(5), ints(6), Feature())
    )
    wanted = {"a": acts.io.FixedLenFeature([], int64)}
    for entries, value in ((first + last, 6), (last + first, 5), (first + empty, 5)):
        assert run(acts.io.parse_single_example(length_field(1, entries), wanted))["a"] == value
    # The map itself may come in two pieces.
    assert run(acts.io.parse_single_example(length_field(1, first) + length_field(1, last), wanted))["a"] == 6


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"\x1a\x04\x08\x05\x08\x06", [5, 6]),  # one by one
        (b"\x1a\x02\x08\x05\x50\x01", [5]),  # and a field that nobody knows
        (b"\x1a\x00", []),
    ],
)
def test_numbers_may_stand_one_by_one(content: bytes, wanted: list[int]) -> None:
    entry = length_field(1, b"a") + length_field(2, content)
    swapped = length_field(2, content) + length_field(1, b"a")
    for each in (entry, swapped):
        data = length_field(1, length_field(1, each)) + b"\x50\x01"
        found = run(acts.io.parse_single_example(data, {"a": acts.io.VarLenFeature(int64)}))["a"]
        assert found.values.tolist() == wanted


def test_many_numbers_are_values_of_their_own() -> None:
    """They are not copied when they are cut out, but when they become an array."""
    rows = [[float(i + j) for j in range(1000)] for i in range(3)]
    data = [example(f=floats(*row), i=ints(*map(int, row))) for row in rows]
    wanted = {"f": acts.io.FixedLenFeature([10, 100], float32), "i": acts.io.FixedLenSequenceFeature([], int64, True)}
    made = acts.io.parse_example(data, wanted)
    with acts.Session() as session:
        for _ in range(2):
            found = session.run(made)
            assert (found["f"].reshape(3, -1).tolist(), found["i"].tolist()) == (rows, rows)
            found["f"][:] = found["i"][:] = 0


FEATURE = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4).map(lambda v: ints(*v)),
    st.lists(st.floats(width=32, allow_nan=False), max_size=4).map(lambda v: floats(*v)),
    st.lists(st.binary(max_size=200), max_size=4).map(lambda v: texts(*v)),
    st.just(Feature()),
)
KINDS = {"a": int64, "b": float32, "c": string}
LISTS = {"a": "int64_list", "b": "float_list", "c": "bytes_list"}


@st.composite
def batches(draw: st.DrawFn) -> list[Example]:
    """Examples whose keys come in any order, with features that nobody wants between them."""
    found = []
    for _ in range(draw(st.integers(0, 6))):
        made = Example(features=Features())
        for key in draw(st.permutations(["a", "b", "c", "unwanted", "more"])):
            feature = draw(FEATURE)
            if key not in LISTS or feature.WhichOneof("kind") in (None, LISTS[key]):
                made.features.feature[key].CopyFrom(feature)
        found.append(made)
    return found


@given(batches())
def test_values_are_those_that_the_messages_hold(examples: list[Example]) -> None:
    data = [_in_any_order(each) for each in examples]
    with acts.Graph().as_default():
        wanted = {key: acts.io.VarLenFeature(kind) for key, kind in KINDS.items()}
        found = run(acts.io.parse_example(np.array([*data, None], object)[:-1], wanted))
    for key, name in LISTS.items():
        lists = [list(getattr(each.features.feature[key], name).value) for each in examples]
        flat = [value for values in lists for value in values]
        places = [[i, j] for i, values in enumerate(lists) for j in range(len(values))]
        assert (found[key].values.tolist(), found[key].indices.tolist()) == (flat, places)
        assert found[key].dense_shape.tolist() == [len(lists), max(map(len, lists), default=0)]


def _in_any_order(made: Example) -> bytes:
    """The bytes, with the entries of the map as they were put in."""
    entries = [
        length_field(1, length_field(1, key.encode()) + length_field(2, value.SerializeToString()))
        for key, value in dict(made.features.feature).items()
    ]
    return length_field(1, b"".join(entries))


# -- what is remembered ----------------------------------------------------------------------------


def reader() -> ExampleReader:
    return ExampleReader([b"a", b"b", b"c"], [3, 2, 1])


def cells(read: ExampleReader, data: bytes) -> Any:
    """What a reader finds in one example, or the class of what it raises."""
    columns: list[Any] = [[None], [None], [None]]
    try:
        read.read(data, 0, columns)
    except (WireError, WrongKindError) as exc:
        return type(exc)
    return columns


@given(st.lists(st.tuples(batches(), st.integers(0, 400), st.integers(0, 255)), max_size=4))
def test_what_was_read_before_changes_no_answer(rounds: list[Any]) -> None:
    """A reader that remembers says the same of spoilt bytes as one that sees them first."""
    old = reader()
    for examples, at, byte in rounds:
        for each in examples:
            data = bytearray(_in_any_order(each))
            assert cells(old, bytes(data)) == cells(reader(), bytes(data))
            data[at % len(data)] = byte
            assert cells(old, bytes(data)) == cells(reader(), bytes(data))
            del data[at % len(data) :]
            assert cells(old, bytes(data)) == cells(reader(), bytes(data))


@given(st.binary(max_size=60))
def test_any_bytes_are_an_example_or_refused(data: bytes) -> None:
    assert cells(reader(), length_field(1, data)) == cells(reader(), length_field(1, data))
    with acts.Graph().as_default():
        made = acts.io.parse_example([data], {"a": acts.io.VarLenFeature(int64), "b": acts.io.VarLenFeature(float32)})
        with acts.Session() as session:
            try:
                session.run(made)
            except errors.InvalidArgumentError:
                return


def test_what_never_comes_again_does_not_fill_the_memory() -> None:
    read = reader()
    for i in range(1500):
        cells(read, example(**{f"key{i}": ints(1)}))
    assert cells(read, example(a=ints(7))) == cells(reader(), example(a=ints(7)))
    assert len(read._places) <= 1024


# -- ragged features, which graphs of TensorFlow 2 have -------------------------------------------


def with_ragged(serialized: Any, splits: Any = (int32, int64, int64), **changes: Any) -> Any:
    given: dict[str, Any] = {
        "names": np.array([], object),
        "sparse_keys": ["i"],
        "dense_keys": ["d"],
        "ragged_keys": ["f", "s", "none"],
        "dense_defaults": [ops.constant([], int64)],
        "num_sparse": 1,
        "sparse_types": [int64],
        "dense_shapes": [[]],
        "ragged_value_types": [float32, string, int64],
        "ragged_split_types": splits,
    }
    found: Any = ops.raw.ParseExampleV2(serialized, **{**given, **changes})
    return [found.dense_values[0], *found.ragged_values, *found.ragged_row_splits]


RAGGED = [
    example(f=floats(1, 2), s=texts(b"a"), i=ints(5), d=ints(7)),
    example(f=floats(), d=ints(8)),
    example(s=texts(b"b", b"c"), d=ints(9)),
    example(f=floats(3), i=ints(1, 2), d=ints(10)),
]


@for_each("times", [1, 10])
def test_ragged_features_are_values_and_row_splits(times: int) -> None:
    """Few examples are read one by one, many together."""
    made = with_ragged(RAGGED * times)
    dense, numbers, words, none, *splits = run(made)
    assert (dense.tolist(), numbers.tolist()) == ([7, 8, 9, 10] * times, [1, 2, 3] * times)
    assert (words.tolist(), none.tolist()) == ([b"a", b"b", b"c"] * times, [])
    first = [row for k in range(times) for row in (3 * k, *[3 * k + 2] * 3)]
    assert (splits[0].tolist(), splits[1].tolist()[:5]) == ([*first, 3 * times], [0, 1, 1, 3, 3])
    assert splits[2].tolist() == [0] * (4 * times + 1)
    assert [split.dtype.name for split in splits] == ["int32", "int64", "int64"]
    assert [t.shape.as_list() for t in made[3:5]] == [[None], [4 * times + 1]]


def test_one_example_has_no_row_splits() -> None:
    made = with_ragged(RAGGED[0])
    assert [value.tolist() for value in run(made)] == [7, [1, 2], [b"a"], [], [], [], []]
    assert [t.shape.as_list() for t in made[4:]] == [[None]] * 3


def test_ragged_features_of_no_examples_have_one_split() -> None:
    found = run(with_ragged(ops.constant([], string)))
    assert [value.tolist() for value in found] == [[], [], [], [], [0], [0], [0]]


test_ragged_features_that_cannot_be_are_refused = refusing(
    ({"splits": [int64]}, ValueError, "3 ragged features have 1 types of row splits"),
    ({"splits": [int64, int64, float32]}, TypeError, "row splits are int32 or int64"),
    ({"ragged_value_types": [float32, string, int32]}, TypeError, "got int32"),
    ({"ragged_keys": ["f"]}, errors.InvalidArgumentError, r"got \[1, 1, 1\] keys"),
    ({"ragged_keys": ["f", "f", "s"]}, errors.InvalidArgumentError, "is wanted twice"),
    ({"ragged_keys": ["s", "f", "n"]}, errors.InvalidArgumentError, "Key: [fs], .*Expected type: (string|float)"),
    of=lambda changes: run(with_ragged(RAGGED, **changes)),
)
