"""Sequences parsed: what is wanted is checked, and any bytes are read or refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import actorsession as acts
from actorsession import errors, float32, int32, int64, ops, string
from actorsession.interop.example_protos import Feature
from actorsession.protobuf.wire import length_field
from tests.ops.cases import run
from tests.ops.table.of_parsing import ints, texts
from tests.ops.table.of_parsing import sequence as lists
from tests.rows import for_each, refused, refusing


def sequence(steps: list[list[int]], **context: Feature) -> bytes:
    return lists(context, l=[ints(*step) for step in steps])


def test_the_context_and_the_steps_have_keys_of_their_own() -> None:
    context, steps, lengths = acts.io.parse_sequence_example(
        [sequence([[1], [2]], l=ints(9)), sequence([[3]], l=ints(8))],
        {"l": acts.io.FixedLenFeature([], int64)},
        {"l": acts.io.FixedLenSequenceFeature([], int64)},
    )
    assert (run(context["l"]).tolist(), run(steps["l"]).tolist()) == ([9, 8], [[1, 2], [3, 0]])
    assert run(lengths["l"]).tolist() == [2, 1]
    assert (steps["l"].shape.as_list(), lengths["l"].shape.as_list()) == ([2, None], [2])


def test_one_sequence_has_no_axis_of_a_batch(graph: Any) -> None:
    context, steps = acts.io.parse_single_sequence_example(
        ops.placeholder(string), {"k": acts.io.VarLenFeature(int64)}, {"l": acts.io.VarLenFeature(int64)}
    )
    assert (context["k"].shape.as_list(), steps["l"].shape.as_list()) == ([None], [None, None])
    assert "ParseSingleSequenceExample/ParseSequenceExample/ParseSequenceExampleV2" in {
        op.name for op in graph.get_operations()
    }


@for_each(
    "context, steps, match",
    [
        (None, None, "at least one should have values"),
        ({"a": acts.io.FixedLenSequenceFeature([], int64)}, None, "Unsupported FixedLenSequenceFeature"),
        ({"a": acts.io.SparseFeature("i", "v", int64, 3)}, None, "Unsupported SparseFeature"),
        (None, {"a": acts.io.FixedLenFeature([], int64)}, "Unsupported FixedLenFeature"),
        (None, {"a": acts.io.FixedLenSequenceFeature([], int64, default_value=3)}, "has no default"),
        (None, {"a": acts.io.FixedLenSequenceFeature([None], int64)}, "not fully defined"),
    ],
)
def test_what_a_sequence_cannot_give_is_refused(context: Any, steps: Any, match: str) -> None:
    refused(lambda: acts.io.parse_single_sequence_example(b"", context, steps), ValueError, match)
    refused(lambda: acts.io.parse_sequence_example([b""], context, steps), ValueError, match)


def test_errors_name_the_sequence() -> None:
    wanted = {"k": acts.io.FixedLenFeature([], int64)}
    data = [sequence([], k=ints(1)), sequence([])]
    context, _, _ = acts.io.parse_sequence_example(data, wanted, example_names=["x", "y"])
    refused(lambda: run(context), errors.InvalidArgumentError, r"Name: y, Context feature: k.*required")
    context, _ = acts.io.parse_single_sequence_example(data[1], wanted, example_name="alone")
    refused(lambda: run(context), errors.InvalidArgumentError, "Name: alone, Context feature: k")
    context, _, _ = acts.io.parse_sequence_example(data, wanted, example_names=["x"])
    refused(lambda: run(context), errors.InvalidArgumentError, "1 names, 2 examples")
    refused(lambda: acts.io.parse_single_sequence_example(data, wanted), ValueError, "must be a scalar")


@given(st.lists(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3), max_size=4), max_size=4))
def test_steps_are_those_that_the_messages_hold(batch: list[list[list[int]]]) -> None:
    with acts.Graph().as_default():
        data = ops.placeholder(string, [None])
        _, steps, _ = acts.io.parse_sequence_example(data, None, {"l": acts.io.VarLenFeature(int64)})
        with acts.Session() as session:
            found = session.run(steps["l"], {data: [sequence(each) for each in batch]})
    flat = [
        ([i, j, k], value)
        for i, each in enumerate(batch)
        for j, step in enumerate(each)
        for k, value in enumerate(step)
    ]
    assert found.indices.tolist() == [place for place, _ in flat]
    assert found.values.tolist() == [value for _, value in flat]
    longest = max((len(step) for each in batch for step in each), default=0)
    assert found.dense_shape.tolist() == [len(batch), max(map(len, batch), default=0), longest]


@given(st.binary(max_size=60))
def test_any_bytes_are_a_sequence_or_refused(data: bytes) -> None:
    lists = length_field(2, length_field(1, length_field(1, b"l") + length_field(2, data)))
    for each in (data, lists, length_field(1, data), length_field(2, data)):
        with acts.Graph().as_default(), acts.Session() as session:
            made = acts.io.parse_sequence_example(
                [each],
                {"k": acts.io.VarLenFeature(int64)},
                {"l": acts.io.VarLenFeature(float32), "m": acts.io.VarLenFeature(int64)},
            )
            try:
                session.run(made)
            except errors.InvalidArgumentError:
                continue


# -- ragged features, which graphs of TensorFlow 2 have -------------------------------------------


RAGGED = [
    lists({"f": ints(1, 2), "s": texts(b"a")}, l=[ints(1), ints(2, 3), ints()], m=[texts(b"x")], d=[ints(1), ints(2)]),
    lists({}, l=[], d=[ints(3)]),
    lists({"f": ints()}, m=[texts(b"y", b"z"), texts()], d=[]),
    lists({"f": ints(9)}, l=[ints(4, 5, 6)], d=[ints(9)]),
]


def with_ragged(serialized: Any, **changes: Any) -> list[Any]:
    kinds = {"value_types": [int64, string], "split_types": [int32, int64]}
    given: dict[str, Any] = {
        "debug_name": "" if isinstance(serialized, bytes) else np.array([], object),
        "context_sparse_keys": np.array([], object),
        "context_dense_keys": np.array([], object),
        "context_ragged_keys": ["f", "s"],
        "feature_list_sparse_keys": np.array([], object),
        "feature_list_dense_keys": ["d"],
        "feature_list_ragged_keys": ["l", "m"],
        "feature_list_dense_missing_assumed_empty": [False],
        "context_dense_defaults": [],
        "Nfeature_list_dense": 1,
        "feature_list_dense_types": [int64],
        "feature_list_dense_shapes": [[]],
        **{f"{part}_ragged_{k}": v for part in ("context", "feature_list") for k, v in kinds.items()},
    }
    return list(itertools.chain(*ops.raw.ParseSequenceExampleV2(serialized, **{**given, **changes})))


def test_ragged_features_are_values_and_row_splits() -> None:
    made = with_ragged(RAGGED)
    assert [value.tolist() for value in run(made)] == [
        [1, 2, 9],
        [b"a"],  # the values of the context
        [0, 2, 2, 2, 3],
        [0, 1, 1, 1, 1],
        [[1, 2], [3, 0], [0, 0], [9, 0]],
        [2, 1, 0, 1],
        [1, 2, 3, 4, 5, 6],
        [b"x", b"y", b"z"],
        [0, 3, 3, 3, 4],
        [0, 1, 1, 3, 3],  # steps of the sequences
        [0, 1, 3, 3, 6],
        [0, 1, 3, 3],  # values of the steps
    ]
    assert [t.dtype.name for t in made[2:4] + made[8:]] == ["int32", "int64"] * 3
    shapes = [[None], [None], [5], [5], [4, None], [4], [None], [None], [5], [5], [None], [None]]
    assert [t.shape.as_list() for t in made] == shapes


def test_ragged_features_of_one_sequence_have_splits_of_steps_only() -> None:
    """TensorFlow leaves the splits of a batch without a value there."""
    wanted = [[1, 2], [b"a"], [], [], [1, 2], 2, [1, 2, 3], [b"x"], [], [], [0, 1, 3, 3], [0, 1]]
    assert [value.tolist() for value in run(with_ragged(RAGGED[0]))] == wanted


test_ragged_features_that_cannot_be_are_refused = refusing(
    ({"context_ragged_split_types": [int64]}, ValueError, "2 ragged features have 1"),
    ({"feature_list_ragged_split_types": [int64, string]}, TypeError, "int32 or int64"),
    ({"context_ragged_keys": ["f"]}, errors.InvalidArgumentError, "2 keys of the context"),
    ({"feature_list_ragged_keys": ["m", "l"]}, errors.InvalidArgumentError, "Feature list: [lm], .*type"),
    of=lambda changes: run(with_ragged(RAGGED, **changes)),
)
