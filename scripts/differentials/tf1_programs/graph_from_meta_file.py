"""A graph is trained, and predicts and trains on in a program that did not build it."""

import os
import tempfile

import numpy as np
import tensorflow as tf

folder = tempfile.mkdtemp()
prefix = os.path.join(folder, "net")
rng = np.random.RandomState(0)
data = rng.normal(size=(20, 3)).astype(np.float32)
labels = (data.sum(1) > 0).astype(np.int64)


def build_and_train():
    with tf.Graph().as_default():
        with tf.name_scope("input"):
            x = tf.placeholder(tf.float32, [None, 3], name="x")
            y = tf.placeholder(tf.int64, [None], name="y")
        with tf.device("/cpu:0"):
            w = tf.get_variable("w", initializer=np.zeros((3, 2), np.float32))
            b = tf.get_variable("b", initializer=np.zeros(2, np.float32))
        logits = tf.nn.xw_plus_b(x, w, b, name="logits")
        prediction = tf.argmax(logits, 1, name="prediction")
        loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
        step = tf.train.get_or_create_global_step()
        train = tf.train.AdamOptimizer(0.05).minimize(loss, step, name="train_step")
        accuracy = tf.reduce_mean(tf.cast(tf.equal(prediction, y), tf.float32), name="accuracy")
        for key, value in (("inputs", x), ("inputs", y), ("train", train), ("loss", loss)):
            tf.add_to_collection(key, value)
        tf.add_to_collection("settings", 20)
        saver = tf.train.Saver()
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(10):
                sess.run(train, {x: data, y: labels})
            print("loss %.4f accuracy %.2f" % tuple(sess.run([loss, accuracy], {x: data, y: labels})))
            saver.save(sess, prefix, global_step=step)


def go_on():
    graph = tf.Graph()
    with graph.as_default(), tf.Session() as sess:
        latest = tf.train.latest_checkpoint(folder)
        saver = tf.train.import_meta_graph(latest + ".meta", clear_devices=True)
        saver.restore(sess, latest)
        x, y = tf.get_collection("inputs")
        print(x.name, y.name, x.shape.as_list(), tf.get_collection("settings"))
        print(sorted({op.device for op in graph.get_operations()}))
        print(sorted(v.name for v in tf.trainable_variables()))
        feed = {x: data, y: labels}
        print("loss %.4f" % sess.run(tf.get_collection("loss")[0], feed))
        print(sess.run("prediction:0", {x: data})[:8].tolist())
        for _ in range(10):
            sess.run(tf.get_collection("train")[0], feed)
        print("loss %.4f step %d" % (sess.run(tf.get_collection("loss")[0], feed), sess.run(tf.train.get_global_step())))
        head = tf.reduce_sum(graph.get_tensor_by_name("logits:0"), name="sum")
        print("sum %.3f" % sess.run(head, {x: data}))


def twice():
    with tf.Graph().as_default(), tf.Session() as sess:
        latest = tf.train.latest_checkpoint(folder)
        savers = [tf.train.import_meta_graph(latest + ".meta", import_scope=scope) for scope in ("a", "b")]
        for saver in savers:
            saver.restore(sess, latest)
        print([v.name for v in tf.trainable_variables()])
        found = sess.run(["a/prediction:0", "b/prediction:0"], {"a/input/x:0": data, "b/input/x:0": -data})
        print((found[0] != found[1]).sum())


build_and_train()
go_on()
twice()
meta = tf.MetaGraphDef()
with open(tf.train.latest_checkpoint(folder) + ".meta", "rb") as f:
    meta.ParseFromString(f.read())
print(sorted(key for key in meta.collection_def if key in ("inputs", "train", "settings", "trainable_variables")))
print(meta.collection_def["inputs"].node_list.value, meta.collection_def["settings"].WhichOneof("kind"))
print(meta.saver_def.save_tensor_name, meta.saver_def.restore_op_name, meta.saver_def.max_to_keep)
