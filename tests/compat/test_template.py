"""``tf.make_template``: the variables of a function are made by its first call."""

from __future__ import annotations

from typing import Any

import pytest

import actorsession.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")


def scaled(x: Any, scale: float = 1.0) -> Any:
    weight = tf.get_variable("weight", [], initializer=tf.ones_initializer())
    return tf.multiply(x * weight, scale, name="scaled")


def names() -> list[str]:
    return [v.op.name for v in tf.global_variables()]


def test_later_calls_share_the_variables_and_have_name_scopes_of_their_own() -> None:
    layer = tf.make_template("layer", scaled, scale=3.0)
    found = [layer(2.0), layer(2.0, scale=5.0)]
    assert [t.op.name for t in found] == ["layer/scaled", "layer_1/scaled"]
    assert names() == ["layer/weight"]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(found) == [6.0, 10.0]


def test_two_templates_of_one_name_are_two() -> None:
    for _ in range(2):
        tf.make_template("layer", scaled)(1.0)
    assert names() == ["layer/weight", "layer_1/weight"]
    # A name that is used as it is is used once.
    tf.make_template("any", scaled, unique_name_="own")(1.0)
    assert names() == ["own/weight"]
    with pytest.raises(ValueError, match="own/weight"):
        tf.make_template("any", scaled, unique_name_="own")(1.0)
    # A later call makes no variables.
    asked = iter("ab")
    layer = tf.make_template("layer", lambda: tf.get_variable(next(asked), [1]))
    layer()
    with pytest.raises(ValueError, match="layer/b"):
        layer()
    # The name is settled by the first call or at once.
    with tf.variable_scope("here"):
        now = tf.make_template("now", scaled, create_scope_now_=True)
        late = tf.make_template("late", scaled)
    with tf.variable_scope("there"):
        now(1.0)
        late(1.0)
    assert names() == ["here/now/weight", "there/late/weight"]


def test_it_knows_its_variables() -> None:
    def function() -> None:
        tf.get_variable("kept", [1], trainable=False)
        tf.get_variable("mine", [1], collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
        scaled(1.0)

    layer: Any = tf.make_template("layer", function)
    assert (layer.name, layer.variable_scope, layer.variable_scope_name) == ("layer", None, None)
    assert layer.variables == layer.local_variables == layer.trainable_variables == []
    layer()
    assert (layer.variable_scope.name, layer.variable_scope_name) == ("layer", "layer/")
    assert [v.op.name for v in layer.variables] == ["layer/kept", "layer/weight"]
    assert [v.op.name for v in layer.local_variables] == ["layer/mine"]
    assert [v.op.name for v in layer.trainable_variables] == ["layer/weight"]


def test_a_custom_getter_stands_between() -> None:
    def twice(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        return getter(name, *args, **kwargs) * 2.0

    made = tf.make_template("layer", scaled, custom_getter_=twice)(3.0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(made) == 6.0
