"""``tf.contrib.layers``, ``framework``, ``slim`` with its networks and data sets, and ``training``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")


slim: Any = tf.contrib.slim
layers = tf.contrib.layers
POINTS = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
TRUTH = POINTS @ np.array([[1.0], [2.0], [-1.0]], np.float32)


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def shapes() -> dict[str, list[int]]:
    return {v.op.name: v.shape.as_list() for v in slim.get_model_variables()}


IMAGES = np.random.default_rng(1).normal(size=(2, 6, 6, 3)).astype(np.float32)

CALLS: dict[str, Any] = {
    "fully_connected": (
        lambda: slim.fully_connected(POINTS, 4),
        {"fully_connected/weights": [3, 4], "fully_connected/biases": [4]},
        [20, 4],
    ),
    "conv2d": (
        lambda: slim.conv2d(IMAGES, 5, [3, 3], stride=2),
        {"Conv/weights": [3, 3, 3, 5], "Conv/biases": [5]},
        [2, 3, 3, 5],
    ),
    "conv2d_transpose": (
        lambda: slim.conv2d_transpose(IMAGES, 4, 3, stride=2, scope="up"),
        {"up/weights": [3, 3, 4, 3], "up/biases": [4]},
        [2, 12, 12, 4],
    ),
    "separable_conv2d": (
        lambda: slim.separable_conv2d(IMAGES, None, 3, normalizer_fn=slim.batch_norm),
        {
            "SeparableConv2d/depthwise_weights": [3, 3, 3, 1],
            "SeparableConv2d/BatchNorm/beta": [3],
            "SeparableConv2d/BatchNorm/moving_mean": [3],
            "SeparableConv2d/BatchNorm/moving_variance": [3],
        },
        [2, 6, 6, 3],
    ),
    "repeat": (
        lambda: slim.repeat(IMAGES, 2, slim.conv2d, 4, 3, biases_initializer=None, scope="c"),
        {"c/c_1/weights": [3, 3, 3, 4], "c/c_2/weights": [3, 3, 4, 4]},
        [2, 6, 6, 4],
    ),
    "stack": (
        lambda: slim.stack(POINTS, slim.fully_connected, [5, 2], biases_initializer=None),
        {"Stack/fully_connected_1/weights": [3, 5], "Stack/fully_connected_2/weights": [5, 2]},
        [20, 2],
    ),
    "layer_norm": (lambda: layers.layer_norm(POINTS), {"LayerNorm/beta": [3], "LayerNorm/gamma": [3]}, [20, 3]),
    "embed_sequence": (
        lambda: layers.embed_sequence([[1, 2, 0]], 4, 5),
        {"EmbedSequence/embeddings": [4, 5]},
        [1, 3, 5],
    ),
    "bias_add": (lambda: layers.bias_add(POINTS), {"BiasAdd/biases": [3]}, [20, 3]),
    "max_pool2d": (lambda: slim.max_pool2d(IMAGES, 2), {}, [2, 3, 3, 3]),
    "one_hot_encoding": (lambda: slim.one_hot_encoding([1, 0], 3), {}, [2, 3]),
    "flatten": (lambda: slim.flatten(IMAGES), {}, [2, 108]),
}


@for_each("name", sorted(CALLS))
def test_a_layer_makes_variables_of_slims_names(name: str) -> None:
    call, variables, shape = CALLS[name]
    outputs = call()
    assert outputs.shape.as_list() == shape
    assert shapes() == variables
    assert run(outputs).shape == tuple(shape)


def test_scopes_of_arguments_nest_and_are_used_again() -> None:
    with slim.arg_scope([slim.fully_connected, slim.conv2d], activation_fn=None) as scope:
        with slim.arg_scope([slim.fully_connected], biases_initializer=None):
            slim.fully_connected(POINTS, 1, scope="a")
        slim.fully_connected(POINTS, 1, scope="b")
    with slim.arg_scope(scope):
        last = slim.fully_connected(POINTS, 1, scope="c")
    assert last.op.type == "BiasAdd"
    assert sorted(shapes()) == ["a/weights", "b/biases", "b/weights", "c/biases", "c/weights"]
    with pytest.raises(ValueError, match="is not decorated"), slim.arg_scope([len], x=1):
        pass
    with pytest.raises(ValueError, match="kwargs must be empty"), slim.arg_scope({}, x=1):
        pass

    @slim.add_arg_scope
    def block(x: Any, factor: int = 1) -> Any:
        return x * factor

    with slim.arg_scope([block], factor=3):
        assert (block(2), block(2, factor=5)) == (6, 10)
    assert slim.has_arg_scope(block)
    assert slim.arg_scoped_arguments(block) == ("factor",)


def test_batch_norm_updates_in_place_or_in_a_collection() -> None:
    first = slim.batch_norm(POINTS, decay=0.5, updates_collections=None, scope="now")
    slim.batch_norm(POINTS, scope="later", scale=True)
    assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 2
    assert sorted(shapes())[:4] == ["later/beta", "later/gamma", "later/moving_mean", "later/moving_variance"]
    moving = slim.get_variables_by_name("moving_mean", "now")[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, kept = session.run(first), session.run(moving)
    spread = np.sqrt(POINTS.var(0) + 1e-3)
    np.testing.assert_allclose(found, (POINTS - POINTS.mean(0)) / spread, atol=1e-5)
    np.testing.assert_allclose(kept, 0.5 * POINTS.mean(0), rtol=1e-4, atol=1e-6)


def test_layer_norm_is_over_all_axes_but_the_first() -> None:
    found = run(layers.layer_norm(IMAGES))
    flat = IMAGES.reshape(2, -1)
    wanted = (flat - flat.mean(1, keepdims=True)) / flat.std(1, keepdims=True)
    np.testing.assert_allclose(found.reshape(2, -1), wanted, atol=1e-4)
    # Regularisers and their sums.
    w = tf.constant([[1.0, -2.0]])
    losses = [layers.l1_regularizer(0.5), layers.l2_regularizer(0.1), layers.l1_l2_regularizer(0.5, 0.1)]
    assert run([each(w) for each in losses]) == pytest.approx([1.5, 0.25, 1.75])
    total = layers.apply_regularization(losses[0], [w, w])
    assert tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES) == [total]
    assert run(total) == 3.0
    slim.fully_connected(POINTS, 1, weights_regularizer=layers.l2_regularizer(0.0))
    assert len(tf.losses.get_regularization_losses()) == 1


def test_variables_are_found_by_scope_name_and_pattern() -> None:
    with tf.variable_scope("net"):
        slim.fully_connected(POINTS, 2, scope="a")
        slim.fully_connected(POINTS, 2, scope="b")
    assert [v.op.name for v in slim.get_variables_to_restore(exclude=["net/b"])] == ["net/a/weights", "net/a/biases"]
    assert len(slim.get_variables_by_name("weights")) == 2
    assert slim.get_unique_variable("net/b/biases").op.name == "net/b/biases"
    assert len(slim.filter_variables(tf.global_variables(), ["weights"], ["^net/a"])) == 1
    assert slim.model_analyzer.analyze_vars(tf.global_variables()) == (16, 64)


def model(scope: str = "fc") -> Any:
    return slim.fully_connected(
        tf.constant(POINTS), 1, activation_fn=None, scope=scope, weights_initializer=tf.zeros_initializer()
    )


def test_training_ends_at_its_step_and_leaves_a_checkpoint(tmp_path: Path) -> None:
    slim.losses.mean_squared_error(model(), TRUTH)
    train = slim.learning.create_train_op(slim.losses.get_total_loss(), tf.train.GradientDescentOptimizer(0.1))
    last = slim.learning.train(train, str(tmp_path), number_of_steps=10, log_every_n_steps=0)
    path = tf.train.latest_checkpoint(str(tmp_path))
    assert path is not None
    assert path.endswith("-10")
    weights, bias = np.zeros((3, 1)), np.zeros(1)
    for _ in range(10):
        error = POINTS @ weights + bias - TRUTH
        loss_now = (error**2).mean()
        weights -= 0.1 * 2 * POINTS.T @ error / 20
        bias -= 0.1 * 2 * error.mean()
    assert last == pytest.approx(loss_now, rel=1e-3)

    with tf.Graph().as_default():
        model("other")
        named = {"fc/weights": slim.get_unique_variable("other/weights")}
        restore = slim.assign_from_checkpoint_fn(path, named)
        assigned, feeds = slim.assign_from_checkpoint(path, named)
        assert restore is not None
        with tf.Session() as session:
            for give in (restore, lambda session: session.run(assigned, feeds)):
                session.run(tf.global_variables_initializer())
                give(session)
                found = session.run(named["fc/weights"])
                np.testing.assert_allclose(found, weights, rtol=1e-3)
        with pytest.raises(ValueError, match=r"missing variable \[nothing\]"):
            slim.assign_from_checkpoint(path, {"nothing": named["fc/weights"]})

    with tf.Graph().as_default():
        tf.train.get_or_create_global_step()
        value, update = tf.metrics.mean_squared_error(TRUTH, model())
        values, updates = slim.metrics.aggregate_metric_map({"mse": (value, update)})
        found = slim.evaluation.evaluate_once(
            "", path, str(tmp_path), 2, eval_op=list(updates.values()), final_op=values
        )
    assert found["mse"] == pytest.approx(((POINTS @ weights + bias - TRUTH) ** 2).mean(), rel=1e-3)


def test_a_loss_is_optimised_by_the_name_of_an_optimiser() -> None:
    w = tf.get_variable("w", [], initializer=ONES)
    step = tf.train.get_or_create_global_step()
    loss = layers.optimize_loss(
        tf.square(w),
        step,
        0.1,
        "SGD",
        clip_gradients=1.0,
        learning_rate_decay_fn=lambda rate, at: tf.train.exponential_decay(rate, at, 1, 0.5),
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run([loss, w, step]) for _ in range(2)]
    np.testing.assert_allclose(found, [[1.0, 0.9, 1], [0.81, 0.85, 2]], rtol=1e-5)
    with pytest.raises(ValueError, match="Optimizer name should be one of"):
        layers.optimize_loss(tf.square(w), step, 0.1, "Sgd")


ONES = tf.ones_initializer()


def test_a_hook_ends_the_training_of_sessions(tmp_path: Path) -> None:
    w = tf.get_variable("w", [], initializer=ONES)
    train = tf.contrib.training.create_train_op(tf.square(w), tf.train.GradientDescentOptimizer(0.1))
    hook = tf.train.StopAtStepHook(num_steps=3)
    last = tf.contrib.training.train(train, str(tmp_path), hooks=[hook], save_summaries_steps=None)
    assert last == pytest.approx(0.8**4)


def test_settings_are_read_from_text() -> None:
    settings = tf.contrib.training.HParams(rate=0.1, layers=[1, 2], name="a", flag=True)
    assert settings.parse("rate=1,layers=[3,4,5],flag=false").values() == {
        "rate": 1.0,
        "layers": [3, 4, 5],
        "name": "a",
        "flag": False,
    }
    assert settings.parse("layers[1]=9").get("layers") == [3, 9, 5]
    assert settings.override_from_dict({"rate": 2}).get("rate") == 2.0
    assert settings.to_json(sort_keys=True).startswith('{"flag": false, "layers"')
    for line, said in (
        ("other=1", "Unknown hyperparameter"),
        ("rate=a", "Could not parse"),
        ("rate=[1]", "Must not pass a list"),
        ("rate", "Malformed"),
        ("rate=1,rate=2", "Multiple assignments"),
    ):
        with pytest.raises(ValueError, match=said):
            settings.parse(line)


def test_structures_are_mapped_and_compared() -> None:
    nest = tf.contrib.framework.nest
    assert nest.flatten({"b": 1, "a": (2, [3])}) == [2, 3, 1]
    assert nest.map_structure(lambda a, b: a + b, [1, (2,)], [10, (20,)]) == [11, (22,)]
    assert nest.pack_sequence_as([0, (0,)], ["x", "y"]) == ["x", ("y",)]
    assert nest.flatten_up_to([0, 0], [[1, 2], 3]) == [[1, 2], 3]
    with pytest.raises(ValueError, match="had 2 elements"):
        nest.pack_sequence_as([0, 0], [1])
    with pytest.raises(TypeError, match="same sequence type"):
        nest.assert_same_structure([1], (1,))


def test_further_metrics_take_the_predictions_first() -> None:
    metrics = tf.contrib.metrics
    labels, scores = tf.constant([1, 0, 1, 1]), tf.constant([0.9, 0.6, 0.4, 0.8])
    pairs = {
        "f1": metrics.f1_score(labels, scores, num_thresholds=11),
        "count": metrics.count(scores, [1.0, 0.5, 0.0, 1.0]),
        "concat": metrics.streaming_concat(scores, max_size=6),
        "sensitivity": metrics.streaming_sensitivity_at_specificity(scores, labels, 1.0),
    }
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for _ in range(2):
            updated = session.run({name: pair[1] for name, pair in pairs.items()})
        found = session.run({name: pair[0] for name, pair in pairs.items()})
        share = session.run(metrics.accuracy(labels, 1 - labels, [0.0, 1.0, 0.0, 0.0]))
    # Above 0.3 all three are found, and one more.
    assert found["f1"] == updated["f1"] == pytest.approx(2 * 0.75 / 1.75, rel=1e-4)
    assert (found["count"], updated["concat"], share) == (5.0, 6, 0.0)
    np.testing.assert_allclose(found["concat"], [0.9, 0.6, 0.4, 0.8, 0.9, 0.6])
    assert found["sensitivity"] == pytest.approx(2 / 3, rel=1e-4)


def test_conditions_that_the_graph_knows_make_no_branch() -> None:
    framework = tf.contrib.framework
    assert framework.smart_cond(tf.constant(True), lambda: "one", lambda: "other") == "one"
    fed = tf.placeholder(tf.bool, [])
    assert framework.smart_constant_value(fed) is None
    made = framework.smart_case([(False, lambda: 1), (fed, lambda: tf.constant(2))], lambda: tf.constant(3))
    with tf.Session() as session:
        assert [session.run(made, {fed: value}) for value in (True, False)] == [2, 3]
    with pytest.raises(TypeError, match="must be callable"):
        framework.smart_cond(True, None, None)
    assert framework.prepend_name_scope("^a", "s") == "^s/a"
    assert framework.strip_name_scope("loc:@s/a", "s") == "loc:@a"


def test_older_columns_are_those_of_feature_column() -> None:
    features = {"age": [[1.0], [2.0]], "city": [["b"], ["a"]]}
    age = layers.real_valued_column("age")
    city = layers.sparse_column_with_keys("city", ["a", "b"])
    net = layers.input_from_feature_columns(features, [age, layers.one_hot_column(city)])
    total, variables, bias = layers.weighted_sum_from_feature_columns(
        features, [layers.bucketized_column(age, [1.5]), city], 2
    )
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        assert session.run(net).tolist() == [[1, 0, 1], [2, 1, 0]]
        assert session.run(total).tolist() == [[0, 0], [0, 0]]
    assert (len(variables), bias.shape.as_list()) == (2, [2])


nets = slim.nets


def test_vgg_has_the_variables_of_its_checkpoints() -> None:
    with slim.arg_scope(nets.vgg.vgg_arg_scope()):
        net, points = nets.vgg.vgg_16(tf.placeholder(tf.float32, [2, 224, 224, 3]), 10)
    shapes = {v.op.name: v.shape.as_list() for v in tf.global_variables()}
    assert len(shapes) == 32
    assert shapes["vgg_16/conv3/conv3_2/weights"] == [3, 3, 256, 256]
    assert shapes["vgg_16/fc6/weights"] == [7, 7, 512, 4096]
    assert net.name == "vgg_16/fc8/squeezed:0"
    assert points["vgg_16/pool5"].shape.as_list() == [2, 7, 7, 512]
    assert len(tf.losses.get_regularization_losses()) == 16


def test_residual_networks_have_the_variables_of_their_checkpoints() -> None:
    images = tf.placeholder(tf.float32, [2, 224, 224, 3])
    with slim.arg_scope(nets.resnet_utils.resnet_arg_scope()):
        net, points = nets.resnet_v1.resnet_v1_50(images, 10, is_training=False)
    shapes = {v.op.name: v.shape.as_list() for v in tf.global_variables()}
    assert len(shapes) == 267
    where = "resnet_v1_50/block4/unit_1/bottleneck_v1"
    assert shapes[f"{where}/shortcut/BatchNorm/moving_mean"] == [2048]
    assert shapes[f"{where}/conv2/weights"] == [3, 3, 512, 512]
    assert net.shape.as_list() == [2, 1, 1, 10]
    assert points["resnet_v1_50/block3"].shape.as_list() == [2, 7, 7, 1024]
    assert points["predictions"].name == "resnet_v1_50/predictions/Reshape_1:0"


@pytest.mark.parametrize(
    ("version", "side", "count", "out"),
    [(1, 224, 5607184, [7, 7, 1024]), (2, 224, 10173112, [7, 7, 1024]), (3, 299, 21802784, [8, 8, 2048])],
)
def test_inception_has_the_parameters_of_its_checkpoints(version: int, side: int, count: int, out: list[int]) -> None:
    with slim.arg_scope(getattr(nets.inception, f"inception_v{version}_arg_scope")()):
        base = getattr(nets.inception, f"inception_v{version}_base")
        net, points = base(tf.placeholder(tf.float32, [2, side, side, 3]))
    assert sum(v.shape.num_elements() for v in slim.get_model_variables()) == count
    assert net.shape.as_list() == [2, *out]
    assert net.name.startswith(f"InceptionV{version}/Mixed_")
    assert net is list(points.values())[-1]
    assert len(tf.get_collection("moving_vars")) == 2 * len(tf.get_collection("regularization_losses"))


def test_the_logits_of_inception_have_their_scopes() -> None:
    images = tf.placeholder(tf.float32, [2, 299, 299, 3])
    with slim.arg_scope(nets.inception.inception_v3_arg_scope()):
        logits, points = nets.inception.inception_v3(images, 7, is_training=False)
    assert logits.name == "InceptionV3/Logits/SpatialSqueeze:0"
    assert points["AuxLogits"].name == "InceptionV3/AuxLogits/SpatialSqueeze:0"
    assert points["Mixed_6e"].shape.as_list() == [2, 17, 17, 768]
    shapes = {v.op.name: v.shape.as_list() for v in tf.global_variables()}
    assert shapes["InceptionV3/Mixed_5c/Branch_1/Conv_1_0c_5x5/weights"] == [5, 5, 48, 64]
    assert shapes["InceptionV3/Mixed_7b/Branch_1/Conv2d_0b_3x1/weights"] == [3, 1, 384, 384]
    assert shapes["InceptionV3/AuxLogits/Conv2d_2a_5x5/weights"] == [5, 5, 128, 768]
    assert shapes["InceptionV3/Logits/Conv2d_1c_1x1/biases"] == [7]


def test_small_images_and_few_channels_make_a_small_inception() -> None:
    images = np.random.default_rng(0).normal(size=(2, 64, 64, 3)).astype(np.float32)
    logits, _ = nets.inception.inception_v2(tf.constant(images), 5, depth_multiplier=0.1)
    first, points = nets.inception.inception_v1_base(tf.constant(images), "Mixed_3b")
    assert list(points)[-1] == "Mixed_3b"
    with pytest.raises(ValueError, match="Unknown final endpoint Mixed_9z"):
        nets.inception.inception_v1_base(tf.constant(images), "Mixed_9z")
    with pytest.raises(ValueError, match="depth_multiplier is not greater than zero"):
        nets.inception.inception_v2_base(tf.constant(images), depth_multiplier=0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, shape = session.run([logits, tf.shape(first)])
    assert found.shape == (2, 5)
    assert np.isfinite(found).all()
    assert shape.tolist() == [2, 8, 8, 256]


def test_rates_take_the_place_of_strides() -> None:
    blocks = [nets.resnet_v2.resnet_v2_block(f"block{n}", 1, 2, 2) for n in (1, 2)]
    images = np.random.default_rng(0).normal(size=(2, 32, 32, 3)).astype(np.float32)
    found: dict[Any, Any] = {}
    for stride in (None, 8):
        with slim.arg_scope(nets.resnet_utils.resnet_arg_scope()):
            net, _ = nets.resnet_v2.resnet_v2(
                tf.constant(images),
                blocks,
                is_training=False,
                global_pool=False,
                output_stride=stride,
                reuse=bool(found) or None,
                scope="net",
            )
        found[stride] = net
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        small, large = session.run([found[None], found[8]])
    assert (small.shape, large.shape) == ((2, 2, 2, 4), (2, 4, 4, 4))
    np.testing.assert_allclose(small, large[:, ::2, ::2], rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="output_stride cannot be reached"):
        nets.resnet_v2.resnet_v2(tf.constant(images), blocks, output_stride=64)


decoder: Any = slim.tfexample_decoder


def example(**features: Any) -> bytes:
    made = tf.train.Example()
    for key, values in features.items():
        field = made.features.feature[key.replace("_", "/")]
        named = {int: "int64_list", float: "float_list", bytes: "bytes_list"}[type(values[0])]
        getattr(field, named).value.extend(values)
    found: bytes = made.SerializeToString()
    return found


def test_records_of_several_files_come_as_items(tmp_path: Path) -> None:
    for name, labels in (("a-0", [0, 1]), ("a-1", [2, 3])):
        with tf.python_io.TFRecordWriter(str(tmp_path / name)) as writer:
            for label in labels:
                writer.write(example(image_encoded=[bytes([label] * 12)], image_format=[b"raw"], label=[label]))
    features = {
        "image/encoded": tf.FixedLenFeature((), tf.string),
        "image/format": tf.FixedLenFeature((), tf.string, "raw"),
        "label": tf.FixedLenFeature([1], tf.int64),
    }
    items = {"image": decoder.Image(shape=[2, 2, 3]), "label": decoder.Tensor("label", shape=[])}
    data = slim.dataset.Dataset(
        str(tmp_path / "a-*"),
        tf.TFRecordReader,
        decoder.TFExampleDecoder(features, items),
        4,
        {"image": "a picture"},
        num_classes=4,
    )
    assert data.num_classes == 4
    provider = slim.dataset_data_provider.DatasetDataProvider(data, num_readers=2, shuffle=False, num_epochs=1)
    assert sorted(provider.list_items()) == ["image", "label", "record_key"]
    assert provider.num_samples() == 4
    image, label = provider.get(["image", "label"])
    with pytest.raises(ValueError, match=r"Item \[box\] is invalid"):
        provider.get(["box"])
    taken = slim.prefetch_queue.prefetch_queue({"image": image, "label": label}, capacity=2).dequeue()
    found = {}
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        for _ in range(4):
            got = sess.run(taken)
            found[int(got["label"])] = got["image"]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(taken)
        coord.request_stop()
        coord.join(threads)
    assert sorted(found) == [0, 1, 2, 3]
    assert all(np.array_equal(image, np.full((2, 2, 3), key)) for key, image in found.items())


def test_handlers_make_boxes_sparse_tensors_and_replacements() -> None:
    sides = {"b/ymin": [0.1, 0.5], "b/xmin": [0.2, 0.6], "b/ymax": [0.3, 0.7], "b/xmax": [0.4, 0.8]}
    features: dict[str, Any] = {key: tf.VarLenFeature(tf.float32) for key in sides}
    features |= {
        "indices": tf.VarLenFeature(tf.int64),
        "values": tf.VarLenFeature(tf.float32),
        "rows": tf.VarLenFeature(tf.int64),
        "none": tf.VarLenFeature(tf.int64),
        "size": tf.FixedLenFeature([2], tf.int64),
    }
    record = example(
        **{key.replace("/", "_"): value for key, value in sides.items()},
        indices=[1, 3],
        values=[5.0, 7.0],
        rows=[1, 2, 3, 4],
        size=[2, 2],
    )
    table = tf.contrib.lookup.index_to_string_table_from_tensor(["a", "b", "c", "d", "e"])
    items = {
        "boxes": decoder.BoundingBox(prefix="b/"),
        "dense": decoder.SparseTensor(shape=[5], densify=True, default_value=-1.0),
        "square": decoder.Tensor("rows", shape_keys="size"),
        "backup": decoder.BackupHandler(decoder.Tensor("none"), decoder.Tensor("rows")),
        "names": decoder.LookupTensor("rows", table, default_value=0),
        "twice": decoder.ItemHandlerCallback(["rows"], lambda given: given["rows"].values * 2),
    }
    made = decoder.TFExampleDecoder(features, items)
    with tf.Session() as sess:
        tf.tables_initializer().run()
        found = dict(zip(items, sess.run(made.decode(record)), strict=True))
    assert np.allclose(found["boxes"], [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]])
    assert found["dense"].tolist() == [-1.0, 5.0, -1.0, 7.0, -1.0]
    assert found["square"].tolist() == [[1, 2], [3, 4]]
    assert found["backup"].tolist() == [1, 2, 3, 4]
    assert found["names"].tolist() == [b"b", b"c", b"d", b"e"]
    assert found["twice"].tolist() == [2, 4, 6, 8]


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(ValueError, match="4 keys but got 2"):
        decoder.BoundingBox(["a", "b"])
    with pytest.raises(ValueError, match="both shape_keys and shape"):
        decoder.Tensor("a", "b", [1])
    with pytest.raises(ValueError, match="Backup handler"):
        decoder.BackupHandler(decoder.Tensor("a"), "b")
    with pytest.raises(TypeError, match=r"common_queue\.dtypes"):
        slim.parallel_reader.ParallelReader(tf.TFRecordReader, tf.FIFOQueue(2, [tf.string, tf.int64]))
    with pytest.raises(ValueError, match="No data files"):
        slim.parallel_reader.get_data_files([])
