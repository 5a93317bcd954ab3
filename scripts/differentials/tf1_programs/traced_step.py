"""One step of a small network is traced, and its report is read, kept and drawn."""

import json
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.client import timeline

x = tf.placeholder(tf.float32, [None, 4], name="x")
w1 = tf.Variable(np.ones((4, 3), np.float32), name="w1")
hidden = tf.nn.relu(tf.matmul(x, w1, name="first"), name="hidden")
w2 = tf.Variable(np.ones((3, 1), np.float32), name="w2")
out = tf.matmul(hidden, w2, name="second")

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {x: np.ones((2, 4), np.float32)}

    run_metadata = tf.RunMetadata()
    sess.run(out, feed, run_metadata=run_metadata)
    print("untraced", run_metadata.HasField("step_stats"), len(run_metadata.partition_graphs))

    run_options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    run_options.output_partition_graphs = True
    print(run_options)
    value = sess.run(out, feed, options=run_options, run_metadata=run_metadata)
    print("value", value.ravel().tolist())

devices = run_metadata.step_stats.dev_stats
print("devices", sorted({d.device.split("/")[-1] for d in devices if "CPU" in d.device})[:1])
stats = {}
for device in devices:
    for node in device.node_stats:
        stats[node.node_name.split(":")[0]] = node
for name in ("first", "hidden", "second"):
    node = stats[name]
    rel = node.op_start_rel_micros <= node.op_end_rel_micros <= node.all_end_rel_micros
    print(name, "label" if name in node.timeline_label else "no label", "times in order", rel)
    tensor = node.output[0].tensor_description
    print("  output", tensor.dtype, [d.size for d in tensor.shape.dim])

names = {node.name for graph in run_metadata.partition_graphs for node in graph.node}
print("partition graph has", sorted(names & {"first", "hidden", "second"}))

folder = tempfile.mkdtemp()
path = os.path.join(folder, "step.pb")
with open(path, "wb") as f:
    f.write(run_metadata.SerializeToString())
with open(path, "rb") as f:
    again = tf.RunMetadata.FromString(f.read())
print("kept", again == run_metadata)

trace = timeline.Timeline(run_metadata.step_stats).generate_chrome_trace_format(show_memory=False)
events = json.loads(trace)["traceEvents"]
ops = {event["args"]["name"] for event in events if event.get("ph") == "X" and "name" in event["args"]}
print("drawn", sorted(ops & {"first", "hidden", "second"}))
print("kinds", sorted({event["ph"] for event in events} & {"M", "X"}))
