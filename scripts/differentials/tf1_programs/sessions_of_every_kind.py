"""What sessions return and refuse: structures, feeds, callables, partial runs, limits."""

import collections

import numpy as np
import tensorflow.compat.v1 as tf

Point = collections.namedtuple("Point", ["x", "y"])


def attempt(what, function):
    try:
        print(what, function())
    except Exception as e:
        print(what, type(e).__name__, getattr(e, "error_code", ""))


x = tf.placeholder(tf.float32, [None, 2], name="x")
w = tf.constant([[1.0], [2.0]], name="w")
y = tf.matmul(x, w, name="y")
label = tf.placeholder(tf.string, [], name="label")
rows = [[1.0, 1.0], [2.0, 0.0]]

sess = tf.Session()
print(sess.run({"a": y, "b": [w, (y, "y:0")]}, {x: rows})["b"][1][1].tolist())
point = sess.run(Point(tf.constant(1), [tf.constant(2.5)]))
print(point, type(point).__name__)
print(sess.run([y, y.op], {"x:0": np.ones([1, 2])}))
print(sess.run(label, {label: "text"}), sess.run([]), sess.run({}))
attempt("no feed", lambda: sess.run(y))
attempt("bad shape", lambda: sess.run(y, {x: [1.0]}))
attempt("bad key", lambda: sess.run(y, {"nothing:0": 1.0}))
attempt("operation as key", lambda: sess.run(y, {x.op: rows}))
attempt("tensor as value", lambda: sess.run(y, {x: w}))
attempt("bad fetch", lambda: sess.run("nothing:0", {x: rows}))
attempt("none", lambda: sess.run(None))
attempt("two errors", lambda: sess.run("nothing:0", {"nowhere:0": 1.0}))
attempt("fed operation", lambda: sess.run(x.op, {x: rows}))
attempt("constant in place", lambda: sess.run(y, {x: rows, w: [[0.0], [1.0]]}).tolist())

step = sess.make_callable({"y": y, "sum": tf.reduce_sum(y)}, [x], accept_options=True)
metadata = tf.RunMetadata()
print(step(rows, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata))
print(len(metadata.step_stats.dev_stats) > 0)
attempt("feed_list", lambda: sess.make_callable(y, x))

a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
c = a + 1.0
d = c * b
handle = sess.partial_run_setup([c, d], [a, b])
print(sess.partial_run(handle, c, {a: 2.0}), sess.partial_run(handle, d, {b: 10.0}))
attempt("done", lambda: sess.partial_run(handle, d, {b: 10.0}))
queue = tf.FIFOQueue(1, tf.float32)
attempt("limit", lambda: sess.run(queue.dequeue(), options=tf.RunOptions(timeout_in_ms=50)))
sess.close()
attempt("closed", lambda: sess.run(y, {x: rows}))
attempt("closed devices", lambda: sess.list_devices())
attempt("other graph", lambda: tf.Session(graph=tf.Graph()).run(y))
attempt("no session", lambda: y.eval({x: rows}))
with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=50)) as limited:
    attempt("configured limit", lambda: limited.run(queue.dequeue()))
    print(y.eval({x: rows}).ravel(), tf.get_default_session() is limited)
