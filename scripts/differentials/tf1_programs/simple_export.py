"""A regression is exported with one call in two versions, and the newer one is picked for serving."""

import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

base = os.path.join(tempfile.mkdtemp(), "regression")


def fit(points, values):
    design = np.c_[points, np.ones_like(points)]
    return np.linalg.lstsq(design, values, rcond=None)[0].astype(np.float32)


for version, slope in ((1, 2.0), (2, -3.0)):
    with tf.Graph().as_default(), tf.Session() as sess:
        points = np.linspace(0, 1, 5)
        solution = fit(points, slope * points + 1.0)
        x = tf.placeholder(tf.float32, [None], name="x")
        with tf.variable_scope("line"):
            a = tf.get_variable("a", initializer=solution[0])
            b = tf.get_variable("b", initializer=solution[1])
        y = tf.add(a * x, b, name="y")
        sess.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(
            sess, os.path.join(base, str(version)), inputs={"x": x}, outputs={"y": y, "slope": a})

versions = sorted(tf.gfile.ListDirectory(base), key=int)
print(versions)
newest = os.path.join(base, versions[-1])
print([name for name in sorted(os.listdir(os.path.join(newest, "variables")))])
print(tf.train.list_variables(os.path.join(newest, "variables", "variables")))

with tf.Graph().as_default(), tf.Session() as sess:
    loaded = tf.saved_model.load(sess, [tf.saved_model.SERVING], newest)
    signature = loaded.signature_def[tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY]
    print(signature.method_name, sorted(signature.inputs), sorted(signature.outputs))
    feeds = {signature.inputs["x"].name: [0.0, 1.0, 2.0]}
    print(np.round(sess.run(signature.outputs["y"].name, feeds), 4).tolist())
    tensor = tf.saved_model.get_tensor_from_tensor_info(signature.outputs["y"])
    print(tensor.name, tensor.dtype.name)
    again = tf.saved_model.utils.build_tensor_info(tensor)
    print(again)
    names = [v.op.name for v in tf.global_variables()]
    print(names)
    sess.run(tf.global_variables()[1].assign(10.0))
    print(np.round(sess.run("y:0", {"x:0": [0.0]}), 4).tolist())

predict = tf.saved_model.predict_signature_def({"x": x}, {"y": y})
print(predict.method_name, predict.inputs["x"].name)
print(tf.saved_model.is_valid_signature(predict), tf.saved_model.is_valid_signature(type(predict)()))
try:
    with tf.Session(graph=x.graph) as sess:
        tf.saved_model.simple_save(sess, newest, {"x": x}, {"y": y})
except AssertionError:
    print("the folder is taken")
