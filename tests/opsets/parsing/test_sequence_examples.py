"""Sequences parsed: what is wanted is checked, and any bytes are read or refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import actorsession as acts
from actorsession import errors, ops
from actorsession.graph.dtypes import float32, int64, string
from actorsession.interop.example_protos import (
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    Int64List,
    SequenceExample,
)
from actorsession.opsets import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
    parse_sequence_example,
    parse_single_sequence_example,
)
from actorsession.protobuf.wire import length_field
from tests.rows import for_each


def ints(*values: int) -> Feature:
    return Feature(int64_list=Int64List(value=values))


def sequence(steps: list[list[int]], **context: Feature) -> bytes:
    lists = {"l": FeatureList(feature=[ints(*step) for step in steps])}
    return SequenceExample(
        context=Features(feature=context), feature_lists=FeatureLists(feature_list=lists)
    ).SerializeToString()


def run(fetches: Any) -> Any:
    with acts.Session() as session:
        return session.run(fetches)


def test_the_context_and_the_steps_have_keys_of_their_own() -> None:
    context, steps, lengths = parse_sequence_example(
        [sequence([[1], [2]], l=ints(9)), sequence([[3]], l=ints(8))],
        {"l": FixedLenFeature([], int64)},
        {"l": FixedLenSequenceFeature([], int64)},
    )
    assert run(context["l"]).tolist() == [9, 8]
    assert run(steps["l"]).tolist() == [[1, 2], [3, 0]]
    assert run(lengths["l"]).tolist() == [2, 1]
    assert (steps["l"].shape.as_list(), lengths["l"].shape.as_list()) == ([2, None], [2])


def test_one_sequence_has_no_axis_of_a_batch(graph: Any) -> None:
    context, steps = parse_single_sequence_example(
        ops.placeholder(string), {"k": VarLenFeature(int64)}, {"l": VarLenFeature(int64)}
    )
    assert context["k"].shape.as_list() == [None]
    assert steps["l"].shape.as_list() == [None, None]
    assert "ParseSingleSequenceExample/ParseSequenceExample/ParseSequenceExampleV2" in {
        op.name for op in graph.get_operations()
    }


@for_each(
    "context, steps, match",
    [
        (None, None, "at least one should have values"),
        ({"a": FixedLenSequenceFeature([], int64)}, None, "Unsupported FixedLenSequenceFeature"),
        ({"a": SparseFeature("i", "v", int64, 3)}, None, "Unsupported SparseFeature"),
        (None, {"a": FixedLenFeature([], int64)}, "Unsupported FixedLenFeature"),
        (None, {"a": FixedLenSequenceFeature([], int64, default_value=3)}, "has no default"),
        (None, {"a": FixedLenSequenceFeature([None], int64)}, "not fully defined"),
    ],
)
def test_what_a_sequence_cannot_give_is_refused(context: Any, steps: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        parse_single_sequence_example(b"", context, steps)
    with pytest.raises(ValueError, match=match):
        parse_sequence_example([b""], context, steps)


def test_errors_name_the_sequence() -> None:
    wanted = {"k": FixedLenFeature([], int64)}
    data = [sequence([], k=ints(1)), sequence([])]
    context, _, _ = parse_sequence_example(data, wanted, example_names=["x", "y"])
    with pytest.raises(errors.InvalidArgumentError, match=r"Name: y, Context feature: k.*required"):
        run(context)
    context, _ = parse_single_sequence_example(data[1], wanted, example_name="alone")
    with pytest.raises(errors.InvalidArgumentError, match="Name: alone, Context feature: k"):
        run(context)
    context, _, _ = parse_sequence_example(data, wanted, example_names=["x"])
    with pytest.raises(errors.InvalidArgumentError, match="1 names, 2 examples"):
        run(context)
    with pytest.raises(ValueError, match="must be a scalar"):
        parse_single_sequence_example(data, wanted)


@given(
    st.lists(
        st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3), max_size=4), max_size=4
    )
)
def test_steps_are_those_that_the_messages_hold(batch: list[list[list[int]]]) -> None:
    with acts.Graph().as_default():
        data = ops.placeholder(string, [None])
        _, steps, _ = parse_sequence_example(data, None, {"l": VarLenFeature(int64)})
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
            made = parse_sequence_example(
                [each],
                {"k": VarLenFeature(int64)},
                {"l": VarLenFeature(float32), "m": VarLenFeature(int64)},
            )
            try:
                session.run(made)
            except errors.InvalidArgumentError:
                continue
