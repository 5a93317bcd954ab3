# peer: 1.15: tf.contrib is no longer part of TensorFlow
"""Models of tf.contrib.learn: fit, evaluate and predict on arrays, model functions of their own, and an experiment."""

import tempfile

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
learn = tf.contrib.learn
x = np.array([[i % 3, i % 5] for i in range(30)], np.float32)
y = (x.sum(1) > 3).astype(np.int64)


def show(title, result):
    print(title, {key: "%.4f" % value for key, value in sorted(result.items())})


def model_fn(features, labels, mode, params):
    w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
    predicted = tf.squeeze(tf.matmul(features, w), 1)
    if mode == learn.ModeKeys.INFER:
        return learn.ModelFnOps(mode, predictions={"value": predicted})
    loss = tf.losses.mean_squared_error(labels, predicted)
    train_op = tf.contrib.layers.optimize_loss(
        loss, tf.train.get_global_step(), learning_rate=params["rate"], optimizer="SGD"
    )
    return learn.ModelFnOps(mode, {"value": predicted}, loss, train_op)


def main(_):
    columns = learn.infer_real_valued_columns_from_input(x)
    linear = learn.LinearClassifier(
        columns, model_dir=tempfile.mkdtemp(), optimizer=tf.train.GradientDescentOptimizer(0.1)
    )
    linear.fit(x=x, y=y, steps=20, batch_size=30)
    show("linear", linear.evaluate(x=x, y=y, steps=1))
    print([int(c) for c in linear.predict(x[:5])])
    print(np.round(list(linear.predict_proba(x[:2])), 3).tolist())

    deep = learn.DNNClassifier(hidden_units=[4], feature_columns=columns, n_classes=3)
    deep.fit(x=x, y=y, steps=3, batch_size=10)
    print(sorted(deep.evaluate(x=x, y=y, steps=1)), len(list(deep.predict(x))))

    regressor = learn.LinearRegressor(columns, optimizer=tf.train.GradientDescentOptimizer(0.02))
    regressor.fit(x, x.sum(1), steps=30, batch_size=30)
    show("regressor", regressor.evaluate(x, x.sum(1), steps=1))
    print(np.round(list(regressor.predict(x[:3])), 3).tolist())

    mine = learn.Estimator(model_fn, params={"rate": 0.1}, model_dir=tempfile.mkdtemp())
    mine.fit(x, y.astype(np.float32), steps=5)
    rmse = learn.MetricSpec(tf.metrics.root_mean_squared_error, prediction_key="value")
    show("mine", mine.evaluate(x, y.astype(np.float32), metrics={"rmse": rmse}))
    print(["%.4f" % row["value"] for row in mine.predict(x[:3])])
    for wrong in (lambda: mine.fit(), lambda: mine.fit(x, y, input_fn=len)):
        try:
            wrong()
        except ValueError:
            print("ValueError")


if __name__ == "__main__":
    tf.app.run()
