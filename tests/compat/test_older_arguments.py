"""Arguments and names of TensorFlow 1 that the library lacks, or takes beside the usual ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from actorsession.compat.v1.ops.arguments import ROWS
from actorsession.extend import REQUIRED, OpDef, register_op
from tests.rows import for_each, refusing

pytestmark = pytest.mark.usefixtures("graph")


M = np.arange(6, dtype=np.float32).reshape(2, 3)
IMAGE = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
FILTER = np.ones((2, 2, 1, 1), np.float32)
ONES, TWOS = [1, 1, 1, 1], [1, 2, 2, 1]
# The stubs of these have the arguments of the library.
math: Any = tf.math
losses: Any = tf.losses
image: Any = tf.image


def value(fetch: Any) -> Any:
    with tf.Session() as sess:
        return sess.run(fetch)


def sparse() -> Any:
    return tf.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])


# A function and what it is given, with older names and with the newer ones: by name, or by the places that follow.
SAME: list[tuple[Any, tuple[Any, ...], Any, Any]] = [
    (tf.argmax, (M,), {"dimension": 1}, {"axis": 1}),
    (tf.convert_to_tensor, (3,), {"preferred_dtype": tf.float64}, {"dtype_hint": tf.float64}),
    (tf.nn.convolution, (IMAGE, FILTER, "VALID"), {"dilation_rate": [2, 2]}, {"dilations": [2, 2]}),
    (tf.nn.softmax_cross_entropy_with_logits_v2, (M, M), {"dim": 0}, (0,)),
    (tf.expand_dims, (M,), {"dim": 0}, (0,)),
    (tf.map_fn, (lambda x: tf.cast(x, tf.int32), M), (tf.int32, 3), {"fn_output_signature": tf.int32}),
    (tf.matmul, (M, M), (False, True, False, False, True, True), {"transpose_b": True}),
    (tf.norm, (M,), {"axis": 0, "keep_dims": True}, {"axis": 0, "keepdims": True}),
    (tf.reduce_join, ([["a", "b"]],), (1, True), {"reduction_indices": 1, "keepdims": True}),
    (tf.reverse_sequence, (M, [2, 1]), {"seq_dim": 1, "batch_dim": 0}, (1, 0)),
    (tf.squeeze, (M[None],), {"squeeze_dims": [0]}, (0,)),
    (lambda *args, **names: tf.string_split(*args, **names).values, (["a,b"],), {"delimiter": ","}, (",",)),
]

# Calls of which the newer one names or orders all its arguments anew.
CALLS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "conv1d": (
        lambda: tf.nn.conv1d(IMAGE[0], FILTER[0], 1, "SAME", True),
        lambda: tf.nn.conv1d(input=IMAGE[0], filters=FILTER[0], stride=1, padding="SAME"),
    ),
    "conv2d": (
        lambda: tf.nn.conv2d(IMAGE, FILTER, ONES, "SAME", False, "NHWC"),
        lambda: tf.nn.conv2d(IMAGE, filters=FILTER, strides=ONES, padding="SAME"),
    ),
    "count": (
        lambda: tf.count_nonzero(M, reduction_indices=0, keep_dims=True),
        lambda: tf.count_nonzero(input=M, axis=0, keepdims=True),
    ),
    "crop": (
        lambda: tf.image.crop_and_resize(IMAGE, [[0.0, 0.0, 1.0, 1.0]], [0], [2, 2]),
        lambda: tf.image.crop_and_resize(IMAGE, [[0.0, 0.0, 1.0, 1.0]], crop_size=[2, 2], box_indices=[0]),
    ),
    "max_pool": (
        lambda: tf.nn.max_pool(IMAGE, TWOS, TWOS, "VALID"),
        lambda: tf.nn.max_pool(None, TWOS, TWOS, "VALID", input=IMAGE),
    ),
    "patches": (
        lambda: image.extract_image_patches(IMAGE, TWOS, TWOS, ONES, "VALID"),
        lambda: tf.extract_image_patches(IMAGE, sizes=TWOS, strides=TWOS, rates=ONES, padding="VALID"),
    ),
    "moments": (lambda: tf.nn.moments(M, [0], None, "m", True)[1], lambda: tf.nn.moments(M, [0], keepdims=True)[1]),
    "softmax": (lambda: tf.nn.softmax(M, dim=0), lambda: tf.math.softmax(M, axis=0)),
    "reduce_sum": (lambda: math.reduce_sum(M, reduction_indices=1, keep_dims=True), lambda: tf.reduce_sum(M, 1, True)),
    "sparse": (
        lambda: tf.sparse_reduce_sum(sparse(), reduction_axes=0, keep_dims=True),
        lambda: tf.sparse.reduce_sum(sparse(), 0, True),
    ),
    "targets": (
        lambda: tf.nn.weighted_cross_entropy_with_logits(targets=M, logits=M, pos_weight=2.0),
        lambda: tf.nn.weighted_cross_entropy_with_logits(M, M, 2.0),
    ),
    "to_number": (lambda: tf.string_to_number(["1"]), lambda: tf.strings.to_number(input=["1"])),
}


@for_each("function, args, older, newer", SAME)
def test_an_older_name_does_what_the_newer_one_does(function: Any, args: Any, older: Any, newer: Any) -> None:
    first, second = (
        function(*args, **given) if isinstance(given, dict) else function(*args, *given) for given in (older, newer)
    )
    np.testing.assert_array_equal(*value((first, second)))


@for_each("name", CALLS)
def test_an_older_call_does_what_the_newer_one_does(name: str) -> None:
    older, newer = CALLS[name]
    np.testing.assert_array_equal(*value((older(), newer())))


# As in TensorFlow: an argument was given under both its names, or is missing.
REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: tf.reduce_sum(M, 0, reduction_indices=1),
        ValueError,
        "Cannot specify both 'reduction_indices' and 'axis'",
    ),
    (lambda: tf.norm(M, keepdims=True, keep_dims=True), ValueError, "Cannot specify both 'keep_dims' and 'keepdims'"),
    (lambda: tf.expand_dims(M, axis=0, dim=0), ValueError, "both 'dim' and 'axis'"),
    (lambda: tf.nn.conv2d(IMAGE, FILTER, ONES, "SAME", filters=FILTER), ValueError, "both 'filter' and 'filters'"),
    (lambda: tf.nn.dropout(M, 0.5, rate=0.5), ValueError, "both 'keep_prob' and 'rate'"),
    (lambda: losses.cosine_distance(M, M, 0, dim=0), ValueError, "both 'dim' and 'axis'"),
    (lambda: losses.cosine_distance(M, M), ValueError, "You must specify 'axis'"),
    (
        lambda: tf.cond(tf.constant(True), lambda: 1, lambda: 2, fn1=lambda: 3),
        TypeError,
        r"cond\(\): 'true_fn' and 'fn1' may not be set simultaneously",
    ),
    (lambda: tf.cond(tf.constant(True), lambda: 1), TypeError, "'false_fn' must be callable"),
    (
        lambda: tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], parallel_iterations=0),
        TypeError,
        "'parallel_iterations' must be a positive integer",
    ),
    (lambda: tf.extract_image_patches(IMAGE, TWOS, sizes=TWOS), ValueError, "both 'ksizes' and"),
    (lambda: tf.extract_image_patches(IMAGE, TWOS), TypeError, "needs ksizes, strides"),
    (lambda: tf.reverse_sequence(M, [1, 2]), TypeError, "NoneType"),
    (lambda: tf.reduce_sum(M, no_such=1), TypeError, "unexpected keyword argument 'no_such'"),
]


test_what_contradicts_itself_is_refused = refusing(*REFUSED)


def test_a_kept_share_is_one_less_the_rate() -> None:
    assert set(value(tf.nn.dropout(tf.ones([1000]), 0.75, seed=1)).tolist()) == {0.0, np.float32(1 / 0.75).item()}
    assert value(tf.nn.dropout(tf.ones([2]), 1.0)).tolist() == [1, 1]


def functions(module: Any, seen: set[int]) -> Iterator[Any]:
    for name in module.__all__:
        found = getattr(module, name, None)
        if isinstance(found, ModuleType) and found.__name__.startswith("actorsession.compat.v1"):
            if id(found) not in seen and hasattr(found, "__all__"):
                seen.add(id(found))
                yield from functions(found, seen)
        elif isinstance(found, FunctionType):
            yield found


def test_each_row_is_of_a_function_and_the_library_has_none_of_its_older_names() -> None:
    made = {f.__name__: f for f in functions(tf, set()) if hasattr(f, "__signature__")}
    # ``While`` and ``For`` are names of a module of ``tensorflow.python`` alone.
    assert set(ROWS) - set(made) == {"For", "While"}
    for name in set(ROWS) & set(made):
        words = [word for word in ROWS[name].split() if word[0] == "-" or ">" in word]
        older = {word.partition(">")[0].partition("=")[0].lstrip("-") for word in words}
        assert not older & set(inspect.signature(made[name].__wrapped__).parameters), name


def test_modules_of_the_face_are_their_own_and_hold_the_library_s_names() -> None:
    assert math is not acts.math
    assert set(math.__all__) == set(acts.math.__all__)
    assert math.exp is acts.exp
    assert math.reduce_sum is tf.reduce_sum
    with pytest.raises(AttributeError, match="no_such"):
        _ = math.no_such


@for_each("wanted", [0, "2", None, 2.5])
def test_iterations_at_a_time_are_counted_although_they_have_no_effect(wanted: Any) -> None:
    with pytest.raises(TypeError, match=r"'parallel_iterations' must be a positive integer"):
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], parallel_iterations=wanted)


# -- operations ----------------------------------------------------------------------------------------


def test_a_constant_may_have_to_have_its_shape_already() -> None:
    assert tf.constant([1, 2], shape=[2], verify_shape=True).shape.as_list() == [2]
    assert tf.constant(1, shape=[2]).shape.as_list() == [2]
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(2,\), but got \(\)"):
        tf.constant(1, shape=[2], verify_shape=True)
    # A hint at a type is taken where it fits.
    assert tf.convert_to_tensor(3, dtype_hint=tf.float64).dtype == tf.float64
    assert tf.convert_to_tensor(3, preferred_dtype=tf.int64).dtype == tf.int64
    assert tf.convert_to_tensor(3.5, preferred_dtype=tf.int32).dtype == tf.float32
    assert tf.convert_to_tensor(3, tf.int32, dtype_hint=tf.float64).dtype == tf.int32
    assert tf.convert_to_tensor(tf.constant(1), dtype_hint=tf.float32).dtype == tf.int32
    # Products are summed in the type that is wanted.
    x = tf.constant([[100, 100]], tf.int8)
    wide = tf.matmul(x, x, transpose_b=True, output_type=tf.int32)
    assert (wide.dtype, value(wide).tolist()) == (tf.int32, [[20000]])
    # The places that are true are found.
    assert value(tf.where_v2([True, False, True])).tolist() == [[0], [2]]
    # Defaults of names and types are tensorflows.
    x = tf.placeholder(tf.float32, [None])
    names = [t.op.name for t in (tf.zeros([2]), tf.ones([2]), tf.logical_xor([True], [False]))]
    assert names == ["zeros", "ones", "LogicalXor"]
    assert (tf.shape(x).dtype, tf.size(x, out_type=tf.int64).dtype) == (tf.int32, tf.int64)


@pytest.mark.parametrize("index_type", [tf.int16, tf.int32, tf.int64])
def test_indices_of_the_largest_have_the_type_that_is_wanted(index_type: Any) -> None:
    found = tf.nn.top_k([1.0, 3.0, 2.0], 2, index_type=index_type)
    assert found.indices.dtype == index_type
    assert value(found.indices).tolist() == [1, 2]


def test_a_loop_without_arguments_is_called_without_any() -> None:
    coord = tf.train.Coordinator()
    calls: list[int] = []

    def call() -> None:
        calls.append(1)
        coord.request_stop()

    coord.join([tf.train.LooperThread.loop(coord, None, target=call)])
    assert calls == [1]


# -- graphs and files ----------------------------------------------------------------------------------


def test_a_default_graph_that_others_made_speaks_tensorflows_language() -> None:
    with acts.Graph().as_default() as plain:
        tf.constant(1.0, name="c")
        assert isinstance(acts.Graph.as_graph_def(plain), acts.GraphDef)
        found = tf.get_default_graph()
        assert found is plain
        assert isinstance(found, tf.Graph)
        assert [node.name for node in found.as_graph_def().node] == ["c"]


def test_a_graph_as_a_message_has_shapes_and_a_beginning_as_asked_for(graph: Any) -> None:
    tf.constant([1.0, 2.0], name="a")
    tf.constant(1.0, name="b")
    later = graph.as_graph_def(from_version=1)
    assert [node.name for node in later.node] == ["b"]
    shaped = graph.as_graph_def(add_shapes=True).node[0].attr["_output_shapes"]
    assert [dim.size for dim in shaped.list.shape[0].dim] == [2]
    assert "_output_shapes" not in graph.as_graph_def().node[0].attr
    for kind in (tf.Session, tf.InteractiveSession):
        session = kind()
        assert [node.name for node in session.graph_def.node] == ["a", "b"]
        session.close()


def test_a_saver_says_as_a_message_where_its_nodes_are() -> None:
    tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    said: Any = saver.as_saver_def()
    assert isinstance(said, tf.train.SaverDef)
    assert saver.to_proto() == saver.saver_def == tf.train.SaverDef.FromString(said.SerializeToString())
    assert tf.train.Saver.from_proto(said).saver_def == said
    assert (tf.train.SaverDef.V1, tf.train.SaverDef.V2) == (1, 2)


def test_a_graph_without_variables_needs_no_saver(tmp_path: Path) -> None:
    tf.constant(1.0, name="c")
    file = str(tmp_path / "graph.meta")
    tf.train.export_meta_graph(file, as_text=True)
    with tf.Graph().as_default() as graph:
        assert tf.train.import_meta_graph(file) is None
        assert value("c:0") == 1.0
        v = tf.Variable(2.0)
        with_variables = tf.train.export_meta_graph(graph=graph)
    with tf.Graph().as_default(), tf.Session() as sess:
        saver: Any = tf.train.import_meta_graph(with_variables)
        sess.run(tf.global_variables_initializer())
        assert saver.save(sess, str(tmp_path / "m")) == str(tmp_path / "m")
        assert sess.run(v.name) == 2.0
    with pytest.raises(OSError, match="no_such"):
        tf.train.import_meta_graph(str(tmp_path / "no_such.meta"))


def test_a_graph_that_has_no_message_is_left_out_beside_its_checkpoint(
    tmp_path: Path, registrations: None, caplog: pytest.LogCaptureFixture
) -> None:
    v = tf.Variable(1.0)
    saver = tf.train.Saver()
    register_op(OpDef(name="TestOfAny", infer=lambda ctx: (), kernel=lambda ctx: lambda: None, attrs={"of": REQUIRED}))
    acts.get_default_graph().create_op("TestOfAny", attrs={"of": object()})
    with tf.Session() as sess:
        sess.run(v.initializer)
        path = str(saver.save(sess, str(tmp_path / "m")))
        saver.restore(sess, path)
    assert not Path(path + ".meta").exists()
    assert "an attribute that is a object cannot be exported" in caplog.text


def test_arrays_and_messages_of_tensors_are_turned_into_each_other() -> None:
    np.testing.assert_array_equal(tf.make_ndarray(tf.make_tensor_proto([[1, 2]])), [[1, 2]])


FORMER = [line.split()[0] for line in (Path(__file__).parent / "former_names.txt").read_text().splitlines()]


def find(name: str) -> Any:
    found: Any = tf
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


ELSEWHERE = (
    "contrib.learn",
    "contrib.tensorboard",
    "estimator",
    "g3doc",
    "histogram_summary",
    "image_summary",
    "merge_all_summaries",
    "scalar_summary",
    "train.SummaryWriter",
    "contrib.layers.real_valued_column",
)


def test_older_names_do_what_the_newer_ones_do() -> None:
    """The others are of libraries around TensorFlow, and of summaries before TensorFlow 1.0."""
    missing = [name for name in FORMER if find(name) is None]
    assert [name for name in missing if not name.startswith(ELSEWHERE)] == []
    assert value([tf.mul(2, 3), tf.sub(2, 3), tf.neg(2)]) == [6, -1, -2]
    assert (tf.mul, tf.sub, tf.neg) == (tf.multiply, tf.subtract, tf.negative)
    packed = tf.pack([[1, 2], [3, 4]], axis=1)
    assert (packed.op.name, packed.op.type) == ("pack", "Pack")
    assert value(packed).tolist() == [[1, 3], [2, 4]]
    assert [part.tolist() for part in value(tf.unpack(packed, axis=1))] == [[1, 2], [3, 4]]
    x, y = np.arange(12.0).reshape(2, 2, 3), np.arange(12.0, 24.0).reshape(2, 2, 3)
    np.testing.assert_allclose(value(tf.batch_matmul(x, y, adj_y=True)), x @ y.swapaxes(1, 2))
    np.testing.assert_allclose(value(tf.batch_matmul(x, y, adj_x=True)), x.swapaxes(1, 2) @ y)
    step = tf.contrib.framework.get_or_create_global_step()
    assert tf.train.get_global_step() is tf.contrib.framework.get_global_step() is step
    message = tf.contrib.util.make_tensor_proto([[1, 2]], dtype=tf.int64)
    np.testing.assert_array_equal(tf.contrib.util.make_ndarray(message), [[1, 2]])
    assert tf.contrib.util.constant_value(tf.constant(3)) == 3


def test_initialisers_spread_by_the_inputs_of_a_unit() -> None:
    layers = tf.contrib.layers
    xavier = layers.xavier_initializer()
    common = {"distribution": "uniform", "dtype": "float32"}
    assert xavier.get_config() == {**common, "scale": 1.0, "mode": "fan_avg", "seed": None}
    bound = np.sqrt(6.0 / 50)
    drawn = value(xavier([20, 30]))
    assert 0.9 * bound < np.abs(drawn).max() <= bound
    assert layers.xavier_initializer_conv2d(uniform=False).distribution == "truncated_normal"
    scaling = layers.variance_scaling_initializer(factor=3.0, mode="FAN_OUT", uniform=True, seed=5)
    assert scaling.get_config() == {**common, "scale": 3.0, "mode": "fan_out", "seed": 5}
    with pytest.raises(TypeError, match="int32"):
        layers.xavier_initializer(dtype=tf.int32)
    with pytest.raises(ValueError, match="fan_most"):
        layers.variance_scaling_initializer(mode="FAN_MOST")


def test_regularisers_are_losses_of_weights() -> None:
    layers = tf.contrib.layers
    with tf.variable_scope("layer", regularizer=layers.l2_regularizer(0.5)):
        tf.get_variable("w", initializer=[3.0, -4.0])
    (loss,) = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert loss.op.name == "layer/w/Regularizer/l2_regularizer"
    l1: Any = layers.l1_regularizer(2.0)(tf.constant([3.0, -4.0], tf.float64))
    assert (l1.op.name, l1.dtype) == ("l1_regularizer", tf.float64)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run([loss, l1]) == [6.25, 14.0]
    assert layers.l2_regularizer(0.0)(loss) is None


test_a_regulariser_is_scaled_by_a_fraction = refusing(
    (1, "integer"), (-0.5, "less than 0"), of=tf.contrib.layers.l1_regularizer
)


def test_streaming_metrics_take_predictions_first() -> None:
    labels, predictions = tf.constant([0, 0, 1, 1]), tf.constant([0.1, 0.4, 0.35, 0.8])
    area, update = tf.contrib.metrics.streaming_auc(predictions, labels)
    share, count = tf.contrib.metrics.streaming_accuracy(tf.constant([0, 1, 1, 1]), labels)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        sess.run([update, count])
        found = sess.run([area, share])
    np.testing.assert_allclose(found, [0.75, 0.75], atol=0.01)
