# peer: 1.15: estimators are no longer part of TensorFlow
"""A custom Estimator as the guide of TensorFlow 1 shows it: model_fn, train, evaluate, predict and export."""

import os
import tempfile

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
x = np.array([[i % 3, i % 5] for i in range(30)], np.float32)
y = x.dot(np.array([[2.0], [-1.0]], np.float32)) + 0.5


def model_fn(features, labels, mode, params):
    with tf.variable_scope("model"):
        w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
        b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    predicted = tf.matmul(features["x"], w) + b
    if mode == tf.estimator.ModeKeys.PREDICT:
        outputs = {"y": tf.estimator.export.PredictOutput({"y": predicted})}
        return tf.estimator.EstimatorSpec(mode, predictions={"y": predicted}, export_outputs=outputs)
    loss = tf.losses.mean_squared_error(labels, predicted)
    metrics = {"mae": tf.metrics.mean_absolute_error(labels, predicted)}
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    optimizer = tf.train.GradientDescentOptimizer(params["rate"])
    train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


class Losses(tf.train.SessionRunHook):
    def before_run(self, context):
        return tf.train.SessionRunArgs(tf.get_collection(tf.GraphKeys.LOSSES)[0])

    def after_run(self, context, values):
        print("loss %.4f" % values.results)


def inputs(epochs, shuffle=False, labels=True):
    return tf.estimator.inputs.numpy_input_fn(
        {"x": x}, y if labels else None, batch_size=10, num_epochs=epochs, shuffle=shuffle
    )


def main(_):
    folder = tempfile.mkdtemp()
    config = tf.estimator.RunConfig(save_checkpoints_steps=3, save_summary_steps=2, tf_random_seed=1)
    model = tf.estimator.Estimator(model_fn, folder, config=config, params={"rate": 0.1})
    print(model.config.is_chief, model.config.task_type, model.config.master, model.params)
    model.train(inputs(None), steps=4, hooks=[Losses()])
    model.train(inputs(None), max_steps=6)
    model.train(inputs(1))
    print(sorted(model.get_variable_names()), int(model.get_variable_value("global_step")))
    print(os.path.basename(model.latest_checkpoint()), os.path.basename(model.eval_dir("x")))
    print(np.round(model.get_variable_value("model/w"), 4).ravel().tolist())
    print({k: "%.4f" % v for k, v in sorted(model.evaluate(inputs(1)).items())})
    print({k: "%.4f" % v for k, v in sorted(model.evaluate(inputs(1), steps=1).items())})
    for row in list(model.predict(inputs(1, labels=False)))[:2]:
        print(sorted(row), np.round(row["y"], 4).tolist())
    batches = model.predict(inputs(1, labels=False), yield_single_examples=False)
    print([batch["y"].shape for batch in batches])
    raw = tf.estimator.export.build_raw_serving_input_receiver_fn(
        {"x": tf.placeholder(tf.float32, [None, 2], name="x")}
    )
    exported = model.export_saved_model(os.path.join(folder, "export"), raw)
    with tf.Graph().as_default(), tf.Session() as sess:
        meta = tf.saved_model.loader.load(sess, ["serve"], exported.decode())
        for key, signature in sorted(meta.signature_def.items()):
            print(key, sorted(signature.inputs), sorted(signature.outputs), signature.method_name)
        signature = meta.signature_def["serving_default"]
        found = sess.run(signature.outputs["y"].name, {signature.inputs["x"].name: x[:2]})
        print(np.round(found, 4).tolist())
    for wrong in (
        lambda: model.train(inputs(1), steps=1, max_steps=1), lambda: model.train(inputs(1), steps=0),
        lambda: model.predict(inputs(1), predict_keys=["z"]).__next__(),
        lambda: tf.estimator.Estimator(lambda labels: None),
        lambda: tf.estimator.EstimatorSpec("train"),
        lambda: tf.estimator.inputs.numpy_input_fn({"x": x}, y),
    ):
        try:
            wrong()
        except Exception as exc:
            print(type(exc).__name__)


if __name__ == "__main__":
    tf.app.run()
