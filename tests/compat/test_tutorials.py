"""Tutorials for TensorFlow 1, each with something that must come out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.v1.internals.timeline import Timeline
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")


def blobs(seed: int = 0, count: int = 60) -> tuple[Any, Any]:
    """Points around three centres, and which one each belongs to, as one-hot rows."""
    random = np.random.RandomState(seed)
    kinds = np.arange(count) % 3
    points = np.array([[0.0, 2.0], [2.0, -1.0], [-2.0, -1.0]])[kinds] + 0.4 * random.randn(count, 2)
    return points.astype(np.float32), np.eye(3, dtype=np.float32)[kinds]


def test_logistic_regression_tells_classes_apart() -> None:
    tf.set_random_seed(0)
    xs, ys = blobs()
    x, y = tf.placeholder("float", [None, 2]), tf.placeholder("float", [None, 3])
    W, b = tf.Variable(tf.zeros([2, 3])), tf.Variable(tf.zeros([3]))
    pred = tf.nn.softmax(tf.matmul(x, W) + b)
    cost = tf.reduce_mean(-tf.reduce_sum(y * tf.log(pred), reduction_indices=1))
    optimizer = tf.train.GradientDescentOptimizer(0.5).minimize(cost)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(pred, 1), tf.argmax(y, 1)), tf.float32))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        _, first = sess.run([optimizer, cost], feed_dict={x: xs, y: ys})
        assert first == pytest.approx(np.log(3), rel=1e-5)
        for _ in range(50):
            _, c = sess.run([optimizer, cost], feed_dict={x: xs, y: ys})
        assert c < 0.2
        assert accuracy.eval({x: xs, y: ys}) > 0.95


def test_layers_have_scopes_and_dropout_only_trains() -> None:
    tf.set_random_seed(1)
    xs, ys = blobs(1)
    x, y = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None, 3])
    keep_prob = tf.placeholder(tf.float32)
    with tf.name_scope("hidden"):
        weights = tf.Variable(tf.truncated_normal([2, 16], stddev=0.5), name="weights")
        biases = tf.Variable(tf.zeros([16]), name="biases")
        hidden = tf.nn.dropout(tf.nn.relu(tf.matmul(x, weights) + biases), keep_prob)
    with tf.name_scope("output"):
        weights = tf.Variable(tf.truncated_normal([16, 3], stddev=0.5), name="weights")
        biases = tf.Variable(tf.zeros([3]), name="biases")
        logits = tf.nn.xw_plus_b(hidden, weights, biases)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
    global_step = tf.Variable(0, trainable=False, name="global_step")
    rate = tf.train.exponential_decay(0.05, global_step, 20, 0.9, staircase=True)
    train_op = tf.train.AdamOptimizer(rate).minimize(loss, global_step=global_step)
    assert [v.name for v in tf.trainable_variables()] == [
        "hidden/weights:0",
        "hidden/biases:0",
        "output/weights:0",
        "output/biases:0",
    ]
    right = tf.nn.in_top_k(logits, tf.argmax(y, 1), 1)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(60):
            sess.run(train_op, {x: xs, y: ys, keep_prob: 0.8})
        assert sess.run(global_step) == 60
        assert sess.run(rate) == pytest.approx(0.05 * 0.9**3)
        assert sess.run(right, {x: xs, y: ys, keep_prob: 1.0}).mean() > 0.95


def test_a_convolutional_network_tells_stripes_apart() -> None:
    tf.set_random_seed(2)
    random = np.random.RandomState(2)
    images = np.zeros((40, 8, 8), np.float32)
    labels = np.arange(40) % 2
    for image, label in zip(images, labels, strict=True):
        lines = image if label else image.T
        lines[random.randint(0, 2) :: 2] = 1.0
    flat_images = images.reshape(40, 64) + 0.1 * random.randn(40, 64)

    def weight_variable(shape: list[int]) -> Any:
        return tf.Variable(tf.truncated_normal(shape, stddev=0.1))

    x, y = tf.placeholder(tf.float32, shape=[None, 64]), tf.placeholder(tf.int64, shape=[None])
    pixels = tf.reshape(x, [-1, 8, 8, 1])
    conv = tf.nn.conv2d(pixels, weight_variable([3, 3, 1, 4]), strides=[1, 1, 1, 1], padding="SAME")
    conv = tf.nn.relu(tf.nn.bias_add(conv, tf.Variable(tf.constant(0.1, shape=[4]))))
    pool = tf.nn.max_pool(conv, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    assert pool.get_shape().as_list() == [None, 4, 4, 4]
    logits = tf.matmul(tf.reshape(pool, [-1, 4 * 4 * 4]), weight_variable([64, 2])) + tf.Variable(tf.zeros([2]))
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    train_step = tf.train.AdamOptimizer(1e-2).minimize(tf.reduce_mean(losses))
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(40):
            train_step.run(feed_dict={x: flat_images, y: labels})
        assert sess.run(accuracy, feed_dict={x: flat_images, y: labels}) == 1.0


@pytest.mark.parametrize("loss_of", [tf.nn.nce_loss, tf.nn.sampled_softmax_loss])
def test_words_that_stand_together_get_similar_vectors(loss_of: Any) -> None:
    tf.set_random_seed(3)
    # Words 0-3 are neighbours of each other, and so are words 4-7.
    random = np.random.RandomState(3)
    first = random.randint(0, 8, 400)
    second = first // 4 * 4 + random.randint(0, 4, 400)
    inputs, labels = tf.placeholder(tf.int32, shape=[None]), tf.placeholder(tf.int32, shape=[None, 1])
    with tf.device("/cpu:0"):
        embeddings = tf.Variable(tf.random_uniform([8, 6], -1.0, 1.0))
        embed = tf.nn.embedding_lookup(embeddings, inputs)
        weights, biases = tf.Variable(tf.truncated_normal([8, 6], stddev=0.4)), tf.Variable(tf.zeros([8]))
    loss = tf.reduce_mean(
        loss_of(weights=weights, biases=biases, labels=labels, inputs=embed, num_sampled=4, num_classes=8)
    )
    optimizer = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    normalized = embeddings / tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keep_dims=True))
    similarity = tf.matmul(normalized, normalized, transpose_b=True)
    with tf.Session() as sess:
        tf.global_variables_initializer().run()
        for _ in range(60):
            sess.run(optimizer, {inputs: first, labels: second[:, None]})
        sim = similarity.eval()
    near = np.kron(np.eye(2), np.ones((4, 4))).astype(bool)
    assert sim[near].mean() > sim[~near].mean() + 0.5


def test_batches_come_from_files_names_and_queues(tmp_path: Path) -> None:
    names = [f"file{i}" for i in range(5)]
    name = tf.train.string_input_producer(names, num_epochs=2, shuffle=True, seed=4).dequeue()
    pair = tf.train.shuffle_batch(
        [name, tf.constant([1.0, 2.0])], batch_size=2, capacity=8, min_after_dequeue=3, num_threads=2
    )
    seen: list[bytes] = []
    with tf.Session() as sess:
        sess.run(tf.group(tf.global_variables_initializer(), tf.local_variables_initializer()))
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        try:
            while not coord.should_stop():
                words, numbers = sess.run(pair)
                seen += list(words)
                assert numbers.tolist() == [[1.0, 2.0]] * 2
        except tf.errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
        coord.join(threads)
    assert sorted(seen) == sorted(2 * [n.encode() for n in names])


def test_a_model_is_saved_and_restored_and_goes_on(tmp_path: Path) -> None:
    v1 = tf.get_variable("v1", shape=[3], initializer=tf.zeros_initializer)
    v2 = tf.get_variable("v2", shape=[5], initializer=tf.zeros_initializer)
    step = tf.train.get_or_create_global_step()
    change = tf.group(v1.assign(v1 + 1), v2.assign(v2 - 1), step.assign_add(1))
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(3):
            sess.run(change)
            path = saver.save(sess, str(tmp_path / "model.ckpt"), global_step=step)
    assert path == str(tmp_path / "model.ckpt-3")
    latest = tf.train.latest_checkpoint(str(tmp_path))
    assert latest == path
    with tf.Session() as sess:
        saver.restore(sess, latest)
        sess.run(change)
        assert sess.run(v1).tolist() == [4.0] * 3
        assert sess.run(v2).tolist() == [-4.0] * 5


def test_a_graph_is_rebuilt_from_its_file(tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.Variable([[1.0], [2.0]], name="w")
    y = tf.matmul(x, w, name="y")
    loss = tf.reduce_mean(tf.square(y - 1.0), name="loss")
    train_op = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, name="train")
    tf.add_to_collection("outputs", y)
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train_op, {x: [[1.0, 1.0]]})
        trained = sess.run(w)
        path = str(saver.save(sess, str(tmp_path / "model")))
    for scope in (None, "again"):
        prefix = f"{scope}/" if scope else ""
        with tf.Graph().as_default() as graph, tf.Session() as sess:
            restorer: Any = tf.train.import_meta_graph(path + ".meta", import_scope=scope)
            restorer.restore(sess, path)
            (output,) = tf.get_collection("outputs")
            assert output.name == f"{prefix}y:0"
            np.testing.assert_allclose(sess.run(output, {f"{prefix}x:0": [[1.0, 0.0]]}), trained[:1])
            assert [v.name for v in tf.trainable_variables()] == [f"{prefix}w:0"]
            # It can be trained on.
            before = sess.run(f"{prefix}loss:0", {f"{prefix}x:0": [[1.0, 1.0]]})
            sess.run(graph.get_operation_by_name(f"{prefix}train"), {f"{prefix}x:0": [[1.0, 1.0]]})
            assert sess.run(f"{prefix}loss:0", {f"{prefix}x:0": [[1.0, 1.0]]}) < before


def test_a_trained_graph_is_frozen_and_loaded_elsewhere(tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [None, 2], name="input")
    tf.nn.relu(tf.matmul(x, tf.get_variable("w", initializer=[[1.0, 2.0], [3.0, 4.0]])) - 3.0, name="output")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        frozen = tf.graph_util.convert_variables_to_constants(sess, sess.graph.as_graph_def(), ["output"])
        assert tf.get_default_graph().as_graph_def() == sess.graph.as_graph_def()
    assert "VarHandleOp" not in {node.op for node in frozen.node}
    with tf.gfile.GFile(str(tmp_path / "frozen.pb"), "wb") as f:
        f.write(frozen.SerializeToString())
    tf.train.write_graph(frozen, str(tmp_path), "frozen.pbtxt")
    assert 'name: "output"' in (tmp_path / "frozen.pbtxt").read_text()

    graph_def = tf.GraphDef()
    with tf.gfile.GFile(str(tmp_path / "frozen.pb"), "rb") as f:
        graph_def.ParseFromString(tf.compat.as_bytes(f.read()))
    with tf.Graph().as_default() as graph:
        found = tf.import_graph_def(graph_def, {"input:0": tf.constant([[2.0, 0.0]])}, ["output:0"], name="prefix")
        assert found is not None
        (y,) = found
        assert y.name == "prefix/output:0"
        assert not tf.global_variables()
        with tf.Session(graph=graph) as sess:
            assert sess.run(y).tolist() == [[0.0, 1.0]]


def test_a_loop_counts_and_collects() -> None:
    i, total = tf.constant(0), tf.constant(0)
    n = tf.placeholder(tf.int32, [])
    _, found = tf.while_loop(lambda i, t: tf.less(i, n), lambda i, t: [i + 1, t + i], [i, total])
    x = tf.constant(2.0)
    power = tf.while_loop(lambda k, v: k < 3, lambda k, v: (k + 1, v * x), (0, x))[1]
    (slope,) = tf.gradients(power, x)
    with tf.Session() as sess:
        assert [sess.run(found, {n: k}) for k in (0, 1, 5)] == [0, 0, 10]
        assert sess.run([power, slope]) == [16.0, 32.0]


def test_a_choice_is_made_while_the_graph_runs() -> None:
    is_training = tf.placeholder(tf.bool)
    counter = tf.Variable(0)

    def train() -> Any:
        with tf.control_dependencies([tf.assign_add(counter, 1)]):
            return tf.constant(1.0)

    choice = tf.cond(is_training, train, lambda: tf.constant(0.0))
    several = tf.case([(tf.less(choice, 0.5), lambda: tf.constant("low"))], default=lambda: tf.constant("high"))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run([choice, several], {is_training: True}) == [1.0, b"high"]
        assert sess.run([choice, several], {is_training: False}) == [0.0, b"low"]
        assert sess.run(counter) == 1


def test_scopes_share_their_variables() -> None:
    def layer(x: Any, size: int) -> Any:
        shape = [x.get_shape().as_list()[-1], size]
        init = tf.random_normal_initializer(stddev=0.02)
        w = tf.get_variable("w", shape, initializer=init, regularizer=tf.nn.l2_loss)
        b = tf.get_variable("b", [size], initializer=tf.constant_initializer(0.5))
        return tf.matmul(x, w) + b

    def network(x: Any, reuse: bool = False) -> Any:
        with tf.variable_scope("net", reuse=reuse) as scope:
            if reuse:
                scope.reuse_variables()
            with tf.variable_scope("one"):
                x = tf.nn.tanh(layer(x, 4))
            with tf.variable_scope("two"):
                return layer(x, 1)

    real, fake = tf.ones([3, 2]), tf.ones([3, 2])
    a, b = network(real), network(fake, reuse=True)
    names = [v.name for v in tf.trainable_variables()]
    assert names == ["net/one/w:0", "net/one/b:0", "net/two/w:0", "net/two/b:0"]
    of_two = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="net/two")
    assert [v.name for v in of_two] == names[2:]
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 2
    with pytest.raises(ValueError, match="net/one/w"):
        network(real)
    with tf.variable_scope("net", reuse=tf.AUTO_REUSE), tf.variable_scope("one"):
        assert tf.get_variable("b", [4]) is tf.trainable_variables()[1]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(*sess.run([a, b]))


def test_a_custom_getter_stands_between_name_and_variable() -> None:
    asked: list[str] = []

    def averaged(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        asked.append(name)
        return ema.average(getter(name, *args, **kwargs))

    def model() -> Any:
        return tf.get_variable("w", [], initializer=tf.ones_initializer())

    with tf.variable_scope("model"):
        w = model()
    ema = tf.train.ExponentialMovingAverage(0.5)
    maintain = ema.apply([w])
    with tf.variable_scope("model", reuse=True, custom_getter=averaged):
        shadow = model()
    assert asked == ["model/w"]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(w.assign(3.0))
        sess.run(maintain)
        assert sess.run([w, shadow]) == [3.0, 2.0]


@for_each(
    "make",
    [
        lambda: tf.train.GradientDescentOptimizer(0.1),
        lambda: tf.train.AdagradOptimizer(0.5),
        lambda: tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True),
        lambda: tf.train.RMSPropOptimizer(0.05),
        lambda: tf.train.FtrlOptimizer(0.5),
        lambda: tf.train.AdamOptimizer(0.1, use_own_namescope_for_non_slot_vars=True),
    ],
    ids=["sgd", "adagrad", "momentum", "rmsprop", "ftrl", "adam"],
)
def test_optimizers_find_the_bottom_of_a_bowl(make: Any) -> None:
    v = tf.Variable([2.0, -2.0], name="v")
    loss = tf.nn.l2_loss(v - tf.constant([0.5, 0.25]))
    optimizer = make()
    grads = optimizer.compute_gradients(loss, [v])
    step = optimizer.apply_gradients([(tf.clip_by_value(g, -1.0, 1.0), var) for g, var in grads])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(200):
            sess.run(step)
        np.testing.assert_allclose(sess.run(v), [0.5, 0.25], atol=0.05)


def test_own_scopes_keep_the_powers_of_adam_apart() -> None:
    v = tf.Variable(1.0, name="v")
    adam = tf.train.AdamOptimizer(name="A", use_own_namescope_for_non_slot_vars=True)
    with tf.name_scope("elsewhere"):
        adam.minimize(v * v)
    assert {"A/beta1_power", "A/beta2_power"} <= {w.op.name for w in tf.global_variables()}


def test_a_network_is_trained_from_a_queue_and_measured() -> None:
    tf.set_random_seed(6)
    xs, ys = blobs(6, 30)
    x, y = tf.train.slice_input_producer([xs, ys.argmax(1)], num_epochs=20, seed=6)
    x, y = tf.train.batch([x, y], batch_size=10, num_threads=1)
    logits = tf.matmul(x, tf.Variable(tf.zeros([2, 3]))) + tf.Variable(tf.zeros([3]))
    loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
    step = tf.train.get_or_create_global_step()
    train_op = tf.train.GradientDescentOptimizer(0.5).minimize(loss, global_step=step)
    accuracy, update = tf.metrics.accuracy(labels=y, predictions=tf.argmax(logits, 1))
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(coord=coord)
        try:
            while not coord.should_stop():
                sess.run([train_op, update])
        except tf.errors.OutOfRangeError:
            coord.request_stop()
        coord.join(threads)
        assert sess.run(step) == 60
        assert sess.run(accuracy) > 0.8


def test_python_functions_and_gradients_of_our_own_take_part() -> None:
    x = tf.placeholder(tf.float64, [3])
    y: Any = tf.py_func(lambda a: np.sort(a)[::-1], [x], tf.float64)
    y.set_shape([3])
    with tf.get_default_graph().gradient_override_map({"Identity": "Floor"}):
        z = tf.identity(x)
    with tf.Session() as sess:
        assert sess.run(y, {x: [1.0, 3.0, 2.0]}).tolist() == [3.0, 2.0, 1.0]
        assert sess.run(z, {x: [1.0, 3.0, 2.0]}).tolist() == [1.0, 3.0, 2.0]
    assert tf.gradients(z, x) == [None]


def test_a_step_is_traced_and_drawn() -> None:
    a = tf.random_normal([20, 20])
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    metadata = tf.RunMetadata()
    with tf.Session() as sess:
        sess.run(tf.matmul(a, a), options=options, run_metadata=metadata)
    assert metadata.step_stats is not None
    events = json.loads(Timeline(metadata.step_stats).generate_chrome_trace_format())["traceEvents"]
    assert "MatMul" in {event["name"] for event in events}
