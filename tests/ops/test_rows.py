"""Rows of the op table: what is checked by the signature while a node is built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from actorsession.graph import Graph
from actorsession.graph.dtypes import bool_, float32, int32, int64, resource, string
from actorsession.ops import raw
from actorsession.ops.build import make
from tests.ops.interpreter import source


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


def test_an_input_of_a_fixed_type_has_that_type() -> None:
    with pytest.raises(TypeError, match="Switch takes bool as pred; got int32"):
        raw.Switch(source(float32), source(int32))


def test_an_input_of_a_fixed_rank_has_that_rank() -> None:
    with pytest.raises(ValueError, match=r"Switch takes a scalar as pred; got shape \(2,\)"):
        raw.Switch(source(float32), source(bool_, (2,)))
    assert raw.Switch(source(float32, (3,)), source(bool_, None))[0].shape == (3,)


def test_each_input_of_a_list_is_checked() -> None:
    attrs: dict[str, Any] = {"Nsparse": 1, "Ndense": 0, "sparse_types": [int64], "dense_shapes": []}
    texts = [source(string, ()), source(string, ())]
    assert len(make("ParseExample", [*texts, source(string, ())], attrs).outputs) == 3
    with pytest.raises(TypeError, match="ParseExample takes string as sparse_keys; got int32"):
        make("ParseExample", [*texts, source(int32, ())], attrs)


def test_another_number_of_inputs_is_refused() -> None:
    with pytest.raises(ValueError, match="Switch takes the inputs data, pred; got 1"):
        make("Switch", [source(float32)])


def test_what_tensorflow_calls_a_reference_is_a_handle() -> None:
    barrier = raw.Barrier(component_types=[float32])
    assert barrier.dtype is resource
    with pytest.raises(TypeError, match="takes a resource handle as handle; got string"):
        raw.BarrierReadySize(source(string, ()))


def test_a_list_has_only_the_types_that_the_table_names() -> None:
    handle = raw.VarHandleOp(dtype=float32, shape=())
    with pytest.raises(TypeError, match=r"PyFunc takes .*; got resource"):
        raw.PyFunc([handle], token="f", Tout=[])
