"""``tf.feature_column``: numbers of columns, names of variables, and specifications for parsing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.v1.feature_column.sequences import sequence_input_layer

pytestmark = pytest.mark.usefixtures("graph")

fc = tf.feature_column


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(fetches)


CITIES = fc.categorical_column_with_vocabulary_list("city", ["oslo", "rome"])
FEATURES = {"age": np.array([20.0, 60.0]), "city": np.array([["rome"], ["bern"]])}


def test_columns_stand_side_by_side_in_the_order_of_their_names() -> None:
    age = fc.numeric_column("age")
    net = fc.input_layer(FEATURES, [fc.indicator_column(CITIES), age, fc.bucketized_column(age, [30, 50])])
    assert net.shape.as_list() == [2, 6]
    assert run(net).tolist() == [[20, 1, 0, 0, 0, 1], [60, 0, 0, 1, 0, 0]]
    # Shared embeddings are one variable.
    home = fc.categorical_column_with_identity("home", 3)
    work = fc.categorical_column_with_identity("work", 3)
    both = fc.shared_embedding_columns([home, work], 2, initializer=tf.ones_initializer())
    net = fc.input_layer({"home": [[0], [1]], "work": [[2], [2]]}, both)
    assert [v.name for v in tf.global_variables()] == ["input_layer/home_work_shared_embedding/embedding_weights:0"]
    assert run(net).tolist() == [[1.0] * 4] * 2
    # An id out of range is an error of the step.
    column = fc.indicator_column(fc.categorical_column_with_identity("n", 2))
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(fc.input_layer({"n": [[5]]}, [column]))


def test_variables_have_the_names_of_columns() -> None:
    fc.input_layer(FEATURES, [fc.embedding_column(CITIES, 3)])
    fc.linear_model(FEATURES, [fc.numeric_column("age"), CITIES], units=2)
    assert {v.name: v.shape.as_list() for v in tf.global_variables()} == {
        "input_layer/city_embedding/embedding_weights:0": [2, 3],
        "linear_model/age/weights:0": [1, 2],
        "linear_model/city/weights:0": [2, 2],
        "linear_model/bias_weights:0": [2],
    }
    assert tf.get_collection(tf.GraphKeys.MODEL_VARIABLES) == tf.global_variables()


def test_parsed_examples_become_numbers() -> None:
    columns = [
        fc.numeric_column("age", default_value=7.0),
        fc.indicator_column(fc.crossed_column(["city", "job"], 4)),
        fc.indicator_column(CITIES),
    ]
    example = tf.train.Example()
    example.features.feature["city"].bytes_list.value.append(b"rome")
    spec = fc.make_parse_example_spec(columns)
    assert sorted(spec) == ["age", "city", "job"]
    parsed = tf.io.parse_example([example.SerializeToString()], spec)
    assert run(fc.input_layer(parsed, columns)).tolist() == [[7, 0, 0, 0, 0, 0, 1]]


def test_sequences_have_a_row_for_each_step_and_a_length() -> None:
    words = fc.sequence_categorical_column_with_identity("word", 4)
    table = tf.constant_initializer(np.arange(8.0).reshape(4, 2))
    columns = [fc.embedding_column(words, 2, initializer=table), fc.sequence_numeric_column("speed")]
    steps = [[0, 0], [1, 0], [1, 1]]
    features = {
        "word": tf.SparseTensor(steps, np.array([3, 1, 2], np.int64), [2, 2]),
        "speed": tf.SparseTensor(steps, [0.5, 1.5, 2.5], [2, 2]),
    }
    net, lengths = sequence_input_layer(features, columns)
    found = run([net, lengths])
    assert found[1].tolist() == [1, 2]
    assert found[0].tolist() == [[[0.5, 6, 7], [0, 0, 0]], [[1.5, 2, 3], [2.5, 4, 5]]]


def test_what_is_no_column_of_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match="wrap a categorical column"):
        fc.input_layer(FEATURES, [CITIES])
    with pytest.raises(ValueError, match="Duplicate feature column name"):
        fc.input_layer(FEATURES, [fc.numeric_column("age")] * 2)
    with pytest.raises(ValueError, match="Feature x is not in features dictionary"):
        fc.input_layer(FEATURES, [fc.numeric_column("x")])
