"""Small behaviours of this face as TensorFlow 2.21 was seen to have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.graph.shape import dimensions_are_used, use_dimensions

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def dimensions() -> Iterator[None]:
    before = dimensions_are_used()
    use_dimensions(True)
    yield
    use_dimensions(before)


def test_control_inputs_and_outputs_are_equal_to_lists_and_added_to_them() -> None:
    a = tf.constant(1)
    with tf.control_dependencies([a]):
        b = tf.constant(2)
    assert b.op.control_inputs == [a.op]
    assert b.op.control_inputs.__add__([b.op]) == [a.op, b.op]
    assert b.op.control_inputs.__radd__([b.op]) == [b.op, a.op]
    assert a.op.control_inputs == []
    assert a.op.outputs == [a]
    assert repr(a.op.outputs) == repr([a])


def test_tensors_and_variables_are_keys_and_shown_by_their_parts() -> None:
    a, v = tf.constant(1), tf.Variable(1)
    assert {a.ref(): "a", v.ref(): "v"}[v.ref()] == "v"
    assert a.ref() == a.ref() != v.ref()
    assert a.ref().deref() is a
    # A reference variable is true.
    assert bool(tf.Variable(0.0))
    # A sparse tensor is shown by its parts.
    made = tf.SparseTensor([[0]], [1.0], [2])
    assert repr(made) == str(made)
    # A device type is in capitals.
    assert tf.DeviceSpec(device_type="cpu", device_index=1).to_string() == "/device:CPU:1"
    # Parts that programs look at are tensorflows.
    sparse = tf.SparseTensor([[0, 1]], [1.0], [2, 3])
    assert repr(tf.FIFOQueue(2, tf.float32).shapes) == "[TensorShape(None)]"
    assert tf.sparse.softmax(sparse).values.name == "SparseSoftmax/SparseSoftmax:0"
    with pytest.raises(ValueError, match="No such job in cluster: 'zz'"):
        tf.train.Server({"w": ["localhost:0"]}, job_name="zz")
    scaffold = tf.train.Scaffold().finalize()
    assert (scaffold.init_op.name, scaffold.ready_op.name) == ("group_deps", "concat:0")


def test_colocation_may_leave_out_what_is_around() -> None:
    a, b = tf.constant(1, name="a"), tf.constant(1, name="b")
    with tf.colocate_with(a), tf.colocate_with(b, ignore_existing=True):
        c = tf.constant(1)
    with tf.colocate_with(a), tf.get_default_graph().colocate_with(None, True):
        d = tf.constant(1, name="d")
    assert c.op.colocation_groups() == [b"loc:@b"]
    assert d.op.colocation_groups() == [b"loc:@d"]


def test_shapes_that_programs_make_consist_of_dimensions(dimensions: None) -> None:
    shape: Any = tf.TensorShape([3, None])
    assert shape[0].value == 3
    assert [size.value for size in shape] == [3, None]
    assert isinstance(tf.constant(1).shape, tf.TensorShape)
    assert type(shape).__name__ == "TensorShape"
    assert repr(tf.TensorShape(None)[5]) == "Dimension(None)"


def test_numpy_values_are_converted_to_the_dtype_that_is_wanted() -> None:
    whole = tf.constant(np.array([1.7, -1.7]), tf.int32)
    summed = tf.add([1, 2], np.array([1.5, 2.5]))
    with tf.Session() as session:
        assert session.run(whole).tolist() == [1, -1]
        assert session.run(summed).tolist() == [2, 4]
    with pytest.raises(TypeError):
        tf.constant(1.5, tf.int32)
    with pytest.raises(TypeError):
        tf.concat([np.array([1.5]), np.array([1])], 0)
    # An element of an array is written once.
    array = tf.TensorArray(tf.float32, 2).write(0, 1.0)
    with tf.Session() as session:
        assert session.run(array.write(1, 2.0).stack()).tolist() == [1.0, 2.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="has already been written to"):
            session.run(array.write(0, 2.0).stack())


def test_assertions_have_tensorflows_names() -> None:
    p, q = tf.placeholder(tf.int32), tf.placeholder(tf.float32)
    assert tf.assert_less(p, 3).name == "assert_less/Assert/Assert"
    assert tf.assert_less(q, 3.0).name == "assert_less_1/Assert/AssertGuard/Merge"
    assert tf.assert_equal(tf.constant(1), tf.constant(1)).name == "assert_equal_1/Assert/Assert"
    assert tf.assert_positive(p).name == "assert_positive/assert_less/Assert/Assert"
    with pytest.raises(TypeError, match="Expected list"):
        tf.Assert(True, "text")
    with pytest.raises(ValueError, match="empty"):
        tf.Assert(True, [])


def test_arrays_of_tensors_have_tensorflows_names() -> None:
    array = tf.TensorArray(tf.float32, 2).unstack([1.0, 2.0])
    assert array.read(0).name == "TensorArrayReadV3:0"
    assert array.stack().name == "TensorArrayStack/TensorArrayGatherV3:0"
    assert tf.map_fn(lambda x: x, tf.constant([1.0])).name == "map/TensorArrayStack/TensorArrayGatherV3:0"
    assert tf.while_loop(lambda i: i < 9, lambda i: i + 1, [0], maximum_iterations=2).name == "while/Exit_1:0"
    assert tf.convert_to_tensor([tf.constant(1), 2]).name == "packed:0"


def test_messages_begin_as_tensorflows() -> None:
    c, p = tf.constant([1, 2, 3]), tf.placeholder(tf.float32, [2, 3])
    refused: dict[str, Any] = {
        "Dimensions must be equal, but are 3 and 2": lambda: tf.add(c, [1, 2]),
        r"Cannot reshape a tensor with 3 elements to shape \[2,2\] \(4 elements\)": (lambda: tf.reshape(c, [2, 2])),
        "slice index 5 of dimension 0 out of bounds": lambda: c[5],
        "Only integers, slices": lambda: c["x"],
        "Duplicate node name in graph: 'q'": lambda: [tf.constant(1, name="q/") for _ in range(2)],
        "Dimension 0 in both shapes must be equal, but are 2 and 4. Shapes are": (lambda: p.set_shape([4, 3])),
        "Shapes must be equal rank, but are 2 and 1": lambda: p.set_shape([4]),
        "Expected int32, but got 1.5 of type 'float'": lambda: tf.constant(1.5, tf.int32),
        "Tensor conversion requested dtype float32 for Tensor with dtype int32": (
            lambda: tf.convert_to_tensor(c, tf.float32)
        ),
        "Shape must be at least rank 2 but is rank 1": lambda: tf.matmul(c, c),
        "DataType string not in list of allowed values": lambda: -tf.constant("a"),
        r"Shapes \(1, 2\) and \(2, 2\) are not compatible": (lambda: tf.TensorShape([1, 2]).merge_with([2, 2])),
    }
    for message, build in refused.items():
        with pytest.raises((TypeError, ValueError), match=message):
            build()


def test_a_wrong_feed_is_refused_before_a_wrong_fetch() -> None:
    p = tf.placeholder(tf.float32, [2])
    with tf.Session() as session:
        with pytest.raises(ValueError, match=r"Cannot feed value of shape \(1,\)"):
            session.run(3, {p: [1.0]})
        with pytest.raises(TypeError, match="fetch"):
            session.run(3, {p: [1.0, 2.0]})
    # The capacity of a queue is a whole number.
    with pytest.raises(TypeError):
        tf.FIFOQueue("a", tf.float32)  # type: ignore[arg-type]
    # A shuffling queue keeps less than it can hold.
    queue = tf.RandomShuffleQueue(2, 3, tf.int32, shapes=())
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(queue.size())
    # Arguments that are missing are type errors.
    a = tf.constant([1.0])
    assert tf.stack(a) is a
    missing: list[Any] = [
        lambda: tf.check_numerics(a, None),  # type: ignore[arg-type]
        lambda: tf.extract_image_patches(tf.zeros([1, 2, 2, 1])),
        lambda: tf.make_tensor_proto(a),
    ]
    for build in missing:
        with pytest.raises(TypeError):
            build()


def test_a_matrix_without_a_factor_has_one_of_nothing() -> None:
    with tf.Session() as session:
        found = session.run(tf.cholesky([[[1.0, 2.0], [2.0, 1.0]], [[4.0, 0.0], [0.0, 1.0]]]))
    assert np.isnan(found[0]).tolist() == [[True, False], [True, True]]
    assert found[1].tolist() == [[2.0, 0.0], [0.0, 1.0]]
    # Patches of volumes are the values of cubes.
    volume = np.arange(27.0, dtype=np.float32).reshape(1, 3, 3, 3, 1)
    patches = tf.extract_volume_patches(volume, [1, 2, 2, 2, 1], [1, 1, 1, 1, 1], "VALID")
    with tf.Session() as session:
        found = session.run(patches)
    assert found.shape == (1, 2, 2, 2, 8)
    np.testing.assert_array_equal(found[0, 1, 0, 1], volume[0, 1:, :2, 1:, 0].reshape(-1))


def test_results_of_several_operations_have_tensorflows_names() -> None:
    a, image = tf.constant([[1.0, 0.0], [0.0, 1.0]]), tf.zeros([2, 2, 3])
    named: dict[str, Any] = {
        "MatVec/Squeeze:0": tf.linalg.matvec(a, [1.0, 2.0]),
        "eye/diag:0": tf.eye(2),
        "eye_1/set_diag:0": tf.eye(2, 3),
        "triangular_solve/MatrixTriangularSolve:0": tf.matrix_triangular_solve(a, a),
        "cholesky_solve/MatrixTriangularSolve_1:0": tf.cholesky_solve(a, a),
        "softmax_cross_entropy_with_logits/Reshape_2:0": (tf.nn.softmax_cross_entropy_with_logits_v2(a, a)),
        "softmax_cross_entropy_with_logits_sg/Reshape_2:0": (
            tf.nn.softmax_cross_entropy_with_logits(labels=a, logits=a)
        ),
        "random_uniform/Mul:0": tf.random_uniform([2], maxval=3.0),
        "true_positives/Identity:0": tf.metrics.true_positives([1], [1])[0],
        "rgb_to_grayscale:0": tf.image.rgb_to_grayscale(image),
        "grayscale_to_rgb:0": tf.image.grayscale_to_rgb(image[..., :1]),
        "convert_image:0": tf.image.convert_image_dtype(tf.cast(image, tf.uint8), tf.float32),
        "fftshift:0": tf.signal.fftshift(a),
    }
    for name, tensor in named.items():
        assert tensor.name == name


def test_variables_of_layers_are_in_each_collection_once() -> None:
    slim = tf.contrib.slim
    keys = [tf.GraphKeys.TRAINABLE_VARIABLES, tf.GraphKeys.GLOBAL_VARIABLES, "mine"]
    slim.batch_norm(tf.zeros([2, 3]), scale=True, variables_collections=keys[:1], scope="norm")
    slim.fully_connected(tf.zeros([2, 3]), 3, variables_collections={"weights": keys}, scope="dense")
    for key in keys[:2]:
        members = tf.get_collection(key)
        assert len(members) == len(set(members))
    assert [v.op.name for v in tf.get_collection("mine")] == ["dense/weights"]
    utils = __import__(f"{slim.__package__}.utils", fromlist=["get_variable_collections"])
    assert utils.get_variable_collections({"weights": keys}, "weights") is keys
    assert utils.get_variable_collections(keys, "biases") is keys
    assert utils.get_variable_collections({"weights": keys}, "biases") is None


def test_parts_of_a_variable_are_made_as_a_list() -> None:
    whole = np.arange(8, dtype=np.float32).reshape(4, 2)
    parts = tf.create_partitioned_variables([4, 2], [2, 1], tf.constant(whole), name="p")
    assert [(v.op.name, v.shape.as_list()) for v in parts] == [("p/part_0", [2, 2]), ("p/part_1", [2, 2])]
    assert tf.create_partitioned_variables([4, 2], [2, 1], None, name="p", reuse=True) == parts
    unnamed = tf.create_partitioned_variables([4], [4], tf.zeros_initializer(), trainable=False)
    assert unnamed[3].op.name == "PartitionedVariable/part_3"
    assert tf.trainable_variables() == parts
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(parts[1]).tolist() == [[4.0, 5.0], [6.0, 7.0]]
    with pytest.raises(ValueError, match=r"slicing \[1, 2\] for shape \(4,\)"):
        tf.create_partitioned_variables([4], [1, 2], tf.zeros_initializer())


def test_a_module_finds_its_variables_and_the_modules_in_it() -> None:
    class Inner(tf.Module):
        def __init__(self, name: str | None = None) -> None:
            super().__init__(name)
            self.q = tf.Variable(3.0, name="q")

    class MyNet(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope:
                self.w = tf.Variable(1.0, name="w")
                self.b = [tf.Variable(2.0, name="b", trainable=False)]
            self.inner = {"z": Inner(), "a": Inner("other")}

        @tf.Module.with_name_scope
        def __call__(self, x: Any) -> Any:
            return x * self.w

    net, again = MyNet(), MyNet()
    assert [v.op.name for v in net.variables] == ["my_net/b", "my_net/w", "q_1", "q"]
    assert [v.op.name for v in net.non_trainable_variables] == ["my_net/b"]
    assert len(net.trainable_variables) == 3
    assert [module.name for module in net.submodules] == ["other", "inner"]
    assert again.w.op.name == "my_net_1/w"
    assert net(tf.constant(1.0)).op.name == "my_net/mul"
    with pytest.raises(ValueError, match="'a b' is not a valid module name"):
        tf.Module("a b")


def test_functions_are_left_as_they_are() -> None:
    def function() -> int:
        return 1

    experimental = tf.autograph.experimental
    assert experimental.do_not_convert(function) is function
    assert experimental.do_not_convert()(function) is function
    assert tf.contrib.autograph.do_not_convert(function) is function
    with pytest.raises(AttributeError, match="functions are not rewritten"):
        _ = tf.autograph.to_graph


def test_a_gradient_is_summed_to_the_shape_of_a_bias_by_a_sum_and_a_reshape() -> None:
    """What readers of graphs, such as K-FAC, look for."""
    x, bias, column = tf.ones([4, 3]), tf.ones([3]), tf.ones([4, 1])
    for other in (bias, column):
        (grad,) = tf.gradients(x + other, other)
        assert (grad.op.type, grad.op.inputs[0].op.type) == ("Reshape", "Sum")
        assert grad.shape == other.shape


def test_operations_of_a_tuple_wait_for_each_other() -> None:
    value, op = tf.tuple([tf.constant(1), tf.no_op("first")])
    assert op.type == "NoOp"
    assert tf.get_default_graph().get_operation_by_name("first") in [
        each for gate in op.control_inputs for each in [gate, *gate.control_inputs]
    ]
    assert value.op.type == "Identity"


def test_a_handle_of_a_variable_can_be_asked_whether_it_has_a_value(graph: Any) -> None:
    v = tf.get_variable("v", (), use_resource=False)
    with tf.Session() as session:
        assert not session.run(tf.is_variable_initialized(v))
        session.run(v.initializer)
        assert session.run(tf.is_variable_initialized(v))
    # A coordinator knows the threads that were registered.
    import threading

    coord, thread = tf.train.Coordinator(), threading.Thread(target=lambda: None)
    coord.register_thread(thread)
    assert coord._registered_threads == {thread}


def test_collections_of_a_graph_are_a_dictionary_of_lists(graph: Any) -> None:
    graph.add_to_collection("names", 1)
    graph.add_to_collection("names", 2)
    assert graph._collections == {"names": [1, 2]}
    assert graph.get_collection_ref("names") is graph._collections["names"]


def test_runners_are_not_started_a_second_time_with_a_monitored_session(caplog: pytest.LogCaptureFixture) -> None:
    queue = tf.FIFOQueue(4, tf.int32, shapes=())
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(1)]))
    taken = queue.dequeue()
    with tf.train.MonitoredSession() as session:
        starting: Any = session
        assert tf.train.start_queue_runners(starting) == []
        assert session.run(taken) == 1
    assert "starts its queue runners itself" in caplog.text


def test_a_traced_function_is_called_in_the_graph() -> None:
    @tf.function
    def scaled(x: Any, by: int) -> Any:
        return x * by

    two, three = scaled(tf.constant(2.0), 3), scaled(tf.constant(3.0), 4)
    with tf.Session() as session:
        assert session.run([two, three]) == [6.0, 12.0]
    (gradient,) = tf.gradients(scaled(three, 2), [three])
    with tf.Session() as session:
        assert session.run(gradient) == 2.0


def test_a_benchmark_tells_times_of_an_operation() -> None:
    from actorsession.compat.v1.test import benchmarks

    class Sums(tf.test.Benchmark):
        def benchmark_sum(self, session: Any, total: Any) -> Any:
            return self.run_op_benchmark(session, total, min_iters=3, mbs=6, extras={"n": 1})

    assert Sums in benchmarks.GLOBAL_BENCHMARK_REGISTRY
    with tf.Session() as session:
        found = Sums().benchmark_sum(session, tf.reduce_sum(tf.ones((10,))))
    assert found["iters"] == 3
    assert found["throughput"] == 6 / found["wall_time"]
    assert found["extras"]["n"] == 1
    assert found["extras"]["wall_time_min"] <= found["wall_time"] <= found["extras"]["wall_time_max"]
    with pytest.raises(TypeError, match="extras must be a dict"):
        Sums().report_benchmark(extras=[])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Unable to determine calling Benchmark class"):
        _call(Sums().report_benchmark)


def _call(function: Any) -> None:
    # A thread has no caller whose name says which benchmark it is.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        pool.submit(function).result()


def test_a_writer_that_keeps_summaries_stands_for_those_of_hooks() -> None:
    fake = tf.contrib.testing.FakeSummaryWriter
    train = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    tf.summary.scalar("loss", 2.0)
    hook = tf.train.SummarySaverHook(save_steps=1, output_dir="kept_in_memory", summary_op=tf.summary.merge_all())
    fake.install()
    try:
        with pytest.raises(ValueError, match="already installed"):
            fake.install()
        with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
            session.run(train)
        writer: Any = tf.summary.FileWriterCache.get("kept_in_memory")
        assert list(writer.summaries) == [1]
        (kept,) = writer.summaries[1]
        tf.contrib.testing.assert_summary(["loss"], {"loss": 2.0}, kept)
        with pytest.raises(ValueError, match="Expected tags"):
            tf.contrib.testing.assert_summary(["cost"], {}, kept)
    finally:
        fake.uninstall()
        tf.summary.FileWriterCache.clear()
    with pytest.raises(ValueError, match="not installed"):
        fake.uninstall()
