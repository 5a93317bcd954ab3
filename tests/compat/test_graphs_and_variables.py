"""Graphs, variables, templates, functions and control flow as TensorFlow 1 shows them to programs."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.v1.python.framework import function
from actorsession.compat.v1.python.ops import functional_ops

pytestmark = pytest.mark.usefixtures("graph")


def test_variables_are_reference_variables_unless_a_call_says_otherwise() -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    with tf.variable_scope("scope", use_resource=True):
        r = tf.get_variable("r", [2])
    assert str(v) == "<tf.Variable 'v:0' shape=(2,) dtype=float32_ref>"
    assert str(r) == "<tf.Variable 'scope/r:0' shape=(2,) dtype=float32>"
    assert (v.op.type, r.op.type) == ("VariableV2", "VarHandleOp")
    assert isinstance(v, tf.Variable)
    # Resource variables can be made the default.
    tf.enable_resource_variables()
    try:
        assert tf.resource_variables_enabled()
        assert tf.Variable(1.0).op.type == "VarHandleOp"
    finally:
        tf.disable_resource_variables()
    assert tf.Variable(1.0).op.type == "VariableV2"


def test_the_default_graph_has_reference_variables_too() -> None:
    from threading import Thread

    kinds: list[str] = []

    def build() -> None:
        tf.reset_default_graph()
        kinds.append(tf.get_variable("w", [1]).op.type)

    thread = Thread(target=build)
    thread.start()
    thread.join(20.0)
    assert kinds == ["VariableV2"]


def test_elements_print_as_in_tensorflow(graph: Any) -> None:
    v = tf.Variable([1.0], name="v")
    x = tf.placeholder(tf.float32, [2, None], name="x")
    assert str(tf.assign(v, [2.0])) == 'Tensor("Assign:0", shape=(1,), dtype=float32_ref)'
    assert repr(x) == "<tf.Tensor 'x:0' shape=(2, None) dtype=float32>"
    tf.disable_v2_behavior()
    assert str(x) == 'Tensor("x:0", shape=(2, ?), dtype=float32)'
    assert (repr(x.shape[0]), repr(tf.float32)) == ("Dimension(2)", "tf.float32")
    assert repr(x.op) == "<tf.Operation 'x' type=Placeholder>"
    assert str(tf.no_op(name="n")) == 'name: "n"\nop: "NoOp"\n'
    assert graph.building_function is False


def test_answers_of_device_functions_are_kept_as_they_are_spelt() -> None:
    with tf.device(lambda op: "/cpu:0"):
        assert tf.constant(1).device == "/cpu:0"
    with tf.device("/job:a"), tf.device(lambda op: "/cpu:0"):
        assert tf.constant(1).device == "/job:a/device:CPU:0"


def test_raw_operations_take_their_inputs_by_name() -> None:
    with pytest.raises(TypeError, match="only takes keyword args"):
        tf.raw_ops.Add(1.0, 2.0)
    v: Any = tf.Variable([1.0, 2.0])
    with tf.Session() as sess:
        changed = sess.run(tf.raw_ops.Assign(ref=v._ref(), value=[3.0, 4.0]))
    np.testing.assert_array_equal(changed, [3, 4])


def test_branches_of_other_dtypes_are_a_value_error() -> None:
    with pytest.raises(ValueError, match="must have the same type"):
        tf.cond(tf.constant(True), lambda: 1, lambda: 2.0)
    with pytest.raises(TypeError, match="'true_fn' must be callable"):
        tf.cond(tf.constant(True), 1, 2)


Pair = collections.namedtuple("Pair", ["a", "b"])


def test_results_of_loops_have_the_structure_that_the_body_returned() -> None:
    with tf.Session() as sess:
        found = sess.run(
            tf.while_loop(
                lambda i, *_: i < 3,
                lambda i, p, d: (i + 1, Pair(p.a + 1, p.b * 2), {"x": d["x"] + 1}),
                [tf.constant(0), Pair(1, 2), {"x": 1}],
            )
        )
        assert found == (3, Pair(4, 16), {"x": 4})
        assert sess.run(tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [0])) == 3


def test_updates_without_a_value_are_a_failed_precondition() -> None:
    v, r = tf.Variable(1.0), tf.Variable(1.0, use_resource=True)
    with tf.Session() as sess:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value") as caught:
            sess.run(v.assign_add(1.0))
        assert caught.value.error_code == tf.errors.FAILED_PRECONDITION
        with pytest.raises(tf.errors.NotFoundError):
            sess.run(r.assign_add(1.0))
    # A wrong value is reported before a missing feed.
    x, y = tf.placeholder(tf.int32), tf.placeholder(tf.float32)
    with tf.Session() as sess, pytest.raises(ValueError, match="invalid literal"):
        sess.run(y, {x: "a"})
    # A variable survives the way through its message.
    v = tf.Variable([1.0], name="v")
    assert v.to_proto().is_resource is False
    again = tf.Variable.from_proto(v.to_proto())
    assert (again.name, again.value().name, again.op.type) == ("v:0", "v/read:0", "VariableV2")


def test_the_target_of_a_server_is_known_before_it_is_started() -> None:
    server = tf.train.Server.create_local_server(start=False)
    target = server.target
    assert target.startswith("grpc://localhost:")
    server.start()
    try:
        assert server.target == target
        config = tf.ConfigProto()
        config.cluster_def.job.add(name="own").tasks[0] = target.removeprefix("grpc://")
        with tf.Session(target, config=config) as sess:
            assert sess.run(tf.constant(3)) == 3
            assert sess.list_devices()[0].name.startswith("/job:own/")
            found: Any = sess
            assert found.sess_str == target.encode()
    finally:
        server.stop()


def test_a_master_that_does_not_answer_in_time_is_a_deadline() -> None:
    config = tf.ConfigProto(operation_timeout_in_ms=100)
    one = tf.constant(1)
    with tf.Session("grpc://localhost:1", config=config) as sess:
        with pytest.raises(tf.errors.DeadlineExceededError, match="no master answers"):
            sess.run(one)


def scaled(x: Any, scale: float = 1.0) -> Any:
    return tf.multiply(x * tf.get_variable("weight", [], initializer=tf.ones_initializer()), scale, name="scaled")


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


def test_the_name_is_settled_by_the_first_call_or_at_once() -> None:
    with tf.variable_scope("here"):
        now, late = tf.make_template("now", scaled, create_scope_now_=True), tf.make_template("late", scaled)
    with tf.variable_scope("there"):
        now(1.0)
        late(1.0)
    assert names() == ["here/now/weight", "there/late/weight"]


def test_a_later_call_makes_no_variables() -> None:
    asked = iter("ab")
    layer = tf.make_template("layer", lambda: tf.get_variable(next(asked), [1]))
    layer()
    with pytest.raises(ValueError, match="layer/b"):
        layer()


def test_a_name_that_is_used_as_it_is_is_used_once() -> None:
    tf.make_template("any", scaled, unique_name_="own")(1.0)
    assert names() == ["own/weight"]
    with pytest.raises(ValueError, match="own/weight"):
        tf.make_template("any", scaled, unique_name_="own")(1.0)


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


def test_a_program_that_calls_functions_runs() -> None:
    with tf.Graph().as_default(), tf.Session() as session:

        @function.Defun(tf.float32, tf.float32, func_name="Axpy")
        def axpy(x: Any, y: Any) -> Any:
            return 2.0 * x + y

        a = tf.constant(3.0)
        found = axpy(a, 1.0)
        (remote,) = functional_ops.remote_call(args=[a, 2.0], Tout=[tf.float32], f=axpy, target="/cpu:0")
        (grad,) = tf.gradients(found, a)
        assert session.run([found, remote, grad]) == [7.0, 8.0, 2.0]
        assert list(session.run(tf.map_fn(lambda v: axpy(v, a), tf.constant([1.0, 2.0])))) == [5.0, 7.0]


def test_functions_that_call_each_other_twice_are_built_in_time_by_their_number() -> None:
    """Each is built once, and not once for each of its 1,024 calls."""
    calls = []

    def twice(inner: Any, number: int) -> Any:
        @function.Defun(tf.float32, func_name=f"Twice{number}")
        def outer(x: Any) -> Any:
            return inner(inner(x))

        return outer

    def grow(x: Any) -> Any:
        calls.append(x)
        return x + 1.0

    whole = grow
    for number in range(10):
        whole = twice(whole, number)
    built = whole(tf.constant([1.0, 2.0]))
    assert len(built.graph.as_graph_def().library.function) == 10
    assert len(calls) == 2  # in the innermost function
    with tf.Session() as session:
        assert session.run(built).tolist() == [2.0**10 + 1.0, 2.0**10 + 2.0]


def ran(func: Any, inp: Any, Tout: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as sess:
        return sess.run(tf.py_function(func, inp, Tout))


@pytest.mark.parametrize(
    ("func", "expected"),
    [
        (lambda x: x.numpy() * 2, [2, 4]),
        (lambda x: x * 2, [2, 4]),
        (lambda x: (x + 1).numpy(), [2, 3]),
        (lambda x: x[0].numpy(), 1),
        (lambda x: tf.reduce_sum(x) + 1, 4),
        (lambda x: 1, 1),
        (lambda x: np.array([1.0, 2.0]), [1, 2]),
        (lambda x: x.get_shape().as_list()[0], 2),
        # Of several values for one result the first is taken.
        (lambda x: (1.0, 2.0), 1),
        (lambda x: [each.numpy() * 2 for each in x], 2),
    ],
)
def test_a_function_has_values_and_may_use_operations(func: Any, expected: Any) -> None:
    found = ran(func, [[1.0, 2.0]], tf.float32)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected)


def test_several_results_come_as_a_list() -> None:
    first, second = ran(lambda x: [x, tf.constant(3)], [[1.0]], [tf.float32, tf.int32])
    assert (first.tolist(), second) == ([1.0], 3)
    # Strings come as bytes and may be returned as text.
    assert ran(lambda x: x.numpy().decode() + "!", [b"ab"], tf.string) == b"ab!"
    seen: list[Any] = []
    assert ran(lambda x: seen.append(x.numpy()), ["ab"], []) is None
    assert seen == [b"ab"]
    assert type(seen[0]) is bytes
    # An error of the function ends the step.
    with pytest.raises(tf.errors.UnknownError, match="ZeroDivisionError"):
        ran(lambda x: 1 / 0, [1.0], tf.float32)
    # The operation has the name that tensorflow gives it.
    assert tf.py_function(lambda: 1.0, [], tf.float32).name == "EagerPyFunc:0"
    assert tf.py_function(lambda: 1.0, [], [], name="own").name == "own"


@pytest.mark.parametrize(
    ("func", "Tout"), [(lambda: 1.5, tf.int32), (lambda: None, tf.float32), (lambda: tf.constant(1), tf.float32)]
)
def test_a_result_of_another_type_is_an_invalid_argument(func: Any, Tout: Any) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        ran(func, [], Tout)


def test_a_function_is_decorated_or_mapped_over_a_dataset() -> None:
    @tf.py_function(Tout=tf.string)
    def marked(text: Any) -> Any:
        return text.numpy() + b"?"

    with tf.Graph().as_default(), tf.Session() as sess:
        following = tf.data.Dataset.from_tensor_slices(["a", "bc"]).map(marked).make_one_shot_iterator().get_next()
        assert [sess.run(following) for _ in range(2)] == [b"a?", b"bc?"]
    with pytest.raises(ValueError, match="inputs are given with a function"):
        tf.py_function(inp=[1.0], Tout=tf.float32)
