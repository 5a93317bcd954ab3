"""Traces steps and writes timelines, as pages about performance show."""

import json
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.client import timeline

tf.set_random_seed(0)
x = tf.placeholder(tf.float32, [None, 8], name="x")
w = tf.get_variable("w", [8, 4], initializer=tf.ones_initializer())
with tf.name_scope("layer"):
    y = tf.nn.relu(tf.matmul(x, w, name="product"), name="active")
loss = tf.reduce_mean(tf.square(y), name="loss")
train = tf.train.MomentumOptimizer(0.001, 0.9).minimize(loss, name="train")

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    metadata = tf.RunMetadata()
    value, _ = sess.run([loss, train], {x: np.ones([2, 8])}, options=options, run_metadata=metadata)
    print("%.4f" % value)
    stats = metadata.step_stats
    names = {n.node_name for d in stats.dev_stats for n in d.node_stats}
    print([n in names for n in ("layer/product", "layer/active", "loss")])
    node = [n for d in stats.dev_stats for n in d.node_stats if n.node_name == "layer/product"][0]
    print(node.all_end_rel_micros >= node.op_end_rel_micros >= node.op_start_rel_micros >= 0)
    print("MatMul" in node.timeline_label, node.output[0].tensor_description.dtype == tf.float32.as_datatype_enum)
    print([d.size for d in node.output[0].tensor_description.shape.dim])

    trace = timeline.Timeline(stats)
    text = trace.generate_chrome_trace_format(show_memory=True, show_dataflow=True)
    path = os.path.join(tempfile.mkdtemp(), "timeline.json")
    with open(path, "w") as f:
        f.write(text)
    events = json.load(open(path))["traceEvents"]
    print(sorted({e["ph"] for e in events if e["ph"] in "MX"}))
    complete = [e for e in events if e["ph"] == "X" and e["name"] == "Mean"]
    print(len(complete) > 0, all(e["dur"] >= 0 and "ts" in e and "pid" in e for e in complete))
    print(complete[0]["args"]["op"], "loss" in {e["args"]["name"] for e in complete})
    analysis = timeline.Timeline(stats).analyze_step_stats()
    print(type(analysis).__name__, isinstance(analysis.allocator_maximums, dict))

    plain = tf.RunMetadata()
    sess.run(loss, {x: np.ones([1, 8])}, run_metadata=plain)
    print(len(plain.step_stats.dev_stats), len(plain.partition_graphs))
