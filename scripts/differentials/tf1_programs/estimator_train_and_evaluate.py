# peer: 1.15: estimators are no longer part of TensorFlow
"""train_and_evaluate with exporters, a deep model with fixed first values, summaries of evaluations and a warm start."""

import glob
import os
import tempfile

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
rng = np.random.RandomState(1)
x = rng.uniform(-1, 1, (24, 3)).astype(np.float32)
y = (x.sum(axis=1, keepdims=True) > 0).astype(np.float32)


def model_fn(features, labels, mode, params, config):
    net = features["x"]
    for number, units in enumerate(params["hidden"]):
        first = np.linspace(-0.7, 0.8, int(net.shape[1]) * units).reshape(-1, units).astype(np.float32)
        net = tf.nn.tanh(tf.matmul(net, tf.get_variable("w%d" % number, initializer=first)))
    logits = tf.reduce_sum(net, axis=1, keepdims=True)
    chances = tf.sigmoid(logits)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, {"chance": chances})
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
    if mode == tf.estimator.ModeKeys.EVAL:
        metrics = {"accuracy": tf.metrics.accuracy(labels, tf.round(chances))}
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    optimizer = tf.train.AdamOptimizer(params["rate"])
    train_op = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    tf.summary.scalar("chance", tf.reduce_mean(chances))
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def inputs(epochs):
    return tf.estimator.inputs.numpy_input_fn({"x": x}, y, batch_size=12, num_epochs=epochs, shuffle=False)


def receiver():
    features = {"x": tf.placeholder(tf.float32, [None, 3], name="rows")}
    return tf.estimator.export.ServingInputReceiver(features, features)


def summaries(folder):
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "events*"))):
        for event in tf.train.summary_iterator(path):
            found += [(v.tag, "%.3f" % v.simple_value) for v in event.summary.value]
    return [each for each in found if each[0] in ("loss", "chance", "accuracy")]


def main(_):
    folder = tempfile.mkdtemp()
    config = tf.estimator.RunConfig(save_checkpoints_steps=4, save_summary_steps=4, keep_checkpoint_max=2)
    model = tf.estimator.Estimator(model_fn, folder, config, params={"hidden": [4, 2], "rate": 0.05})
    result, exports = tf.estimator.train_and_evaluate(
        model,
        tf.estimator.TrainSpec(inputs(None), max_steps=10),
        tf.estimator.EvalSpec(
            inputs(1), steps=None, throttle_secs=0,
            exporters=[tf.estimator.LatestExporter("latest", receiver, exports_to_keep=1),
                       tf.estimator.FinalExporter("final", receiver)],
        ),
    )
    print({key: "%.4f" % value for key, value in sorted(result.items())}, len(exports))
    print([len(os.listdir(os.path.join(folder, "export", name))) for name in ("latest", "final")])
    print(summaries(folder))
    print(summaries(model.eval_dir()))
    state = tf.train.get_checkpoint_state(folder)
    print([os.path.basename(path) for path in state.all_model_checkpoint_paths])
    with tf.Graph().as_default(), tf.Session() as sess:
        meta = tf.saved_model.loader.load(sess, ["serve"], exports[1].decode())
        signature = meta.signature_def["serving_default"]
        fed = {signature.inputs["x"].name: x[:3]}
        print(np.round(sess.run(signature.outputs["chance"].name, fed), 3).ravel().tolist())
    warm = tf.estimator.WarmStartSettings(folder, vars_to_warm_start="w0")
    other = tf.estimator.Estimator(
        model_fn, tempfile.mkdtemp(), params={"hidden": [4, 2], "rate": 0.0}, warm_start_from=warm
    )
    other.train(inputs(None), steps=1)
    same = [np.allclose(model.get_variable_value(n), other.get_variable_value(n)) for n in ("w0", "w1")]
    print("warm", same)
    for wrong in (
        lambda: tf.estimator.TrainSpec(inputs(1), max_steps=0), lambda: tf.estimator.EvalSpec(inputs(1), steps=0),
        lambda: tf.estimator.train_and_evaluate(model, None, None),
        lambda: tf.estimator.RunConfig(save_checkpoints_secs=1, save_checkpoints_steps=1),
    ):
        try:
            wrong()
        except Exception as exc:
            print(type(exc).__name__)


if __name__ == "__main__":
    tf.app.run()
