"""Device scopes, device functions and colocation, and what a session makes of them."""

import tensorflow.compat.v1 as tf


def on_ps(op):
    return "/job:ps/task:0" if op.type in ("VariableV2", "VarHandleOp") else "/job:worker/task:1"


graph = tf.Graph()
with graph.as_default():
    with tf.device("/cpu:0"):
        a = tf.constant([1.0, 2.0], name="a")
        with tf.device("/job:localhost"):
            b = tf.add(a, 1.0, name="b")
        with tf.device(None):
            c = tf.identity(b, name="c")
    with tf.device("/cpu:1"), tf.colocate_with(a):
        d = tf.negative(a, name="d")
    with tf.device("/job:localhost/replica:0/task:0/device:CPU:1"):
        v = tf.Variable([5.0, 6.0], name="v")
        e = tf.multiply(v, 2.0, name="e")
    for t in (a, b, c, d, e, v):
        print(t.name, repr(t.device), t.op.colocation_groups())

with tf.Graph().as_default():
    for bad in ("/job:x/task:y", "/cpu:0:1", "/gpu:0"):
        try:
            with tf.device(bad):
                print(bad, tf.constant(1).device)
        except ValueError:
            print(bad, "ValueError")

config = tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=False)
with tf.Session(graph=graph, config=config) as sess:
    print([x.name for x in sess.list_devices() if x.device_type == "CPU"])
    sess.run(v.initializer)
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
    print(sess.run([c, d, e], options=options, run_metadata=metadata))
    print("device:CPU:1" in [s.device.rsplit("/", 1)[1] for s in metadata.step_stats.dev_stats])
    print(len(metadata.partition_graphs))

with tf.Session(graph=graph) as sess:
    try:
        sess.run(c)
        print("placed")
    except tf.errors.InvalidArgumentError as error:
        print("one CPU:", type(error).__name__)

with tf.Session(graph=graph, config=tf.ConfigProto(allow_soft_placement=True)) as sess:
    sess.run(v.initializer)
    print(sess.run(e))

replicated = tf.Graph()
with replicated.as_default():
    with tf.device(tf.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:3")):
        ws = [tf.get_variable("w%d" % i, [1]) for i in range(3)]
        y = tf.add_n(ws)
    with tf.device(on_ps):
        u = tf.Variable(1.0, name="u")
        z = u + 1.0
    print([w.device for w in ws], y.device, u.device, z.device)
