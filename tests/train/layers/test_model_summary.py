"""``model_summary``: layers with the shapes of their outputs and their parameters."""

from __future__ import annotations

import numpy as np

import actorsession as acts
from actorsession import Graph, layers
from actorsession.train import model_summary


def rows(graph: Graph | None = None) -> list[tuple[object, ...]]:
    return [(each.name, each.kind, each.calls, each.parameters) for each in model_summary(graph).layers]


def test_each_layer_is_a_row_with_the_numbers_in_its_variables() -> None:
    images = acts.placeholder(acts.float32, [None, 8, 8, 1])
    hidden = layers.flatten(layers.conv2d(images, 2, 3, name="first"))
    layers.batch_normalization(layers.dense(hidden, 10))
    assert rows() == [
        ("first", "Conv2D", 1, 20),
        ("flatten", "Flatten", 1, 0),
        ("dense", "Dense", 1, 730),
        ("batch_normalization", "BatchNormalization", 1, 40),
    ]
    summary = model_summary()
    assert [list(map(str, each.outputs)) for each in summary.layers][:2] == [["(None, 6, 6, 2)"], ["(None, 72)"]]
    assert (summary.parameters, summary.trainable) == (790, 770)


def test_a_layer_that_is_called_twice_is_counted_once() -> None:
    dense = layers.Dense(2)
    dense(np.ones([1, 3], np.float32))
    dense(np.ones([5, 3], np.float32))
    layers.rnn(acts.zeros([2, 3, 4]), layers.LSTMCell(5))
    assert rows() == [("dense", "Dense", 2, 8), ("rnn/lstm_cell", "LSTMCell", 1, 200), ("rnn", "RNN", 1, 0)]


def test_variables_of_no_layer_and_of_unknown_shape_are_told() -> None:
    acts.Variable(np.zeros([3, 4]), trainable=False)
    acts.Variable(acts.placeholder(acts.float32), validate_shape=False, name="unknown")
    summary = model_summary()
    assert (summary.layers, summary.parameters, summary.trainable) == ((), 12, 0)
    assert summary.unknown == ("unknown",)
    assert "of no layer:       12" in str(summary)


def test_graphs_have_summaries_of_their_own_and_all_rows_are_printed() -> None:
    with Graph().as_default() as graph:
        for _ in range(20):
            layers.dense(np.ones([1, 2], np.float32), 1)
    assert rows() == []
    assert len(rows(graph)) == 20
    assert str(model_summary(graph)).count("Dense") == 20
    assert "<table>" in model_summary(graph)._repr_html_()
