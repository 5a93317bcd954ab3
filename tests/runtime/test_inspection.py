"""What can be told of state without its values: rows of graphs and queues, summaries of arrays."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from actorsession.errors import ProtocolError
from actorsession.graph import NodeDef, TensorShape, TensorSpec, as_dtype
from actorsession.runtime.inspection import ArraySummary, GraphShown, NodeRow, QueueRow, graph_rows, summarise


@given(arrays(np.float64, st.integers(0, 50), elements=st.floats(width=64)), st.integers(1, 30))
def test_a_summary_counts_every_element_once(value: np.ndarray, bins: int) -> None:
    summary = summarise(value, bins)
    finite = value[np.isfinite(value)]
    assert sum(summary.counts) == finite.size
    assert summary.nans + summary.infinite + finite.size == value.size
    assert summary.zeros == np.count_nonzero(value == 0)
    if finite.size:
        assert len(summary.bounds) == len(summary.counts) + 1 == bins + 1
        assert list(summary.bounds) == sorted(summary.bounds)
        assert (summary.least, summary.most) == (finite.min(), finite.max())
    else:
        assert (summary.bounds, summary.counts, summary.least, summary.mean) == ((), (), None, None)


@pytest.mark.parametrize(
    "value",
    [
        np.arange(10, dtype=np.int64),
        np.array([True, False, True]),
        np.arange(8).astype(ml_dtypes.bfloat16),
        np.float32(3.5),
        np.arange(12.0).reshape(3, 4)[:, ::2],
        np.array([3 + 4j, 0j]),
    ],
    ids=lambda value: f"{value.dtype}{value.shape}",
)
def test_a_summary_agrees_with_numpy(value: np.ndarray) -> None:
    summary = summarise(value, 5)
    plain = np.abs(value).astype(np.float64) if value.dtype.kind == "c" else value.astype(np.float64)
    assert summary.shape == value.shape
    assert summary.nbytes == value.nbytes
    assert sum(summary.counts) == value.size
    assert summary.mean == pytest.approx(plain.mean())
    assert summary.deviation == pytest.approx(plain.std())


def test_a_large_array_is_read_in_pieces_that_together_are_the_whole() -> None:
    value = np.linspace(0.0, 1.0, 2**20 + 5)
    summary = summarise(value, 4)
    assert sum(summary.counts) == value.size
    assert max(summary.counts) - min(summary.counts) <= 3
    assert summary.mean == pytest.approx(0.5)


def test_texts_have_a_size_and_no_histogram() -> None:
    summary = summarise(np.array([b"a", b"bc"], object), 10)
    assert (summary.dtype, summary.shape, summary.counts) == ("string", (2,), ())


def test_a_summary_holds_no_element_but_the_smallest_and_the_largest() -> None:
    value = np.array([0.0, 0.123456789, 1.0])
    assert "123456789" not in str(summarise(value, 4).to_wire())


@pytest.mark.parametrize(
    "value",
    [
        summarise(np.arange(3.0), 2),
        QueueRow(
            name="q", device="d", size=1, capacity=-1, waiting_enqueues=0, waiting_dequeues=2, closed=False, session="s"
        ),
        NodeRow("n", "Add", "d", ("a:0", "^b"), "float32", (None, 3), "file:1", "why"),
        NodeRow("n", "NoOp", "", (), "", None, ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_rows_are_read_as_they_were_written(value: ArraySummary | QueueRow | NodeRow) -> None:
    assert type(value).from_wire(value.to_wire()) == value


@pytest.mark.parametrize("kind", [ArraySummary, QueueRow, NodeRow])
@pytest.mark.parametrize("wire", [None, [], {}, {"name": 1}, ["n"], 7])
def test_rows_of_another_form_are_refused(kind: type[ArraySummary], wire: object) -> None:
    with pytest.raises(ProtocolError):
        kind.from_wire(wire)


def test_a_later_version_may_say_more() -> None:
    summary = summarise(np.arange(3.0), 2)
    assert ArraySummary.from_wire({**summary.to_wire(), "skewness": 0.0}) == summary
    row = NodeRow("n", "Add", "d", (), "", None, "")
    assert NodeRow.from_wire([*row.to_wire(), "more"]) == row


def test_a_graph_is_told_in_pieces() -> None:
    outputs = [(TensorSpec(as_dtype("float32"), TensorShape([k, None])),) for k in range(5)]
    nodes = {f"n{k}": NodeDef(name=f"n{k}", op="Const", outputs=outputs[k]) for k in range(5)}
    nodes["last"] = NodeDef(name="last", op="NoOp", control_inputs=("n1",), inputs=(("n0", 0),), source="here:1")
    placed: Any = SimpleNamespace(device="cpu", reason="asked for")
    graph = GraphShown(nodes, {"n1": placed})
    assert [row.name for row in graph_rows(graph, 1, 2)] == ["n1", "n2"]
    assert [row.name for row in graph_rows(graph, -7, 1)] == ["n0"]
    assert graph_rows(graph, 9, 3) == graph_rows(graph, 0, -1) == []
    first, last = graph_rows(graph, 1, 5)[0], graph_rows(graph, 5, 1)[0]
    assert (first.device, first.reason, first.shape, first.dtype) == ("cpu", "asked for", (1, None), "float32")
    assert (last.inputs, last.line, last.shape, last.device) == (("n0:0", "^n1"), "here:1", None, "")
