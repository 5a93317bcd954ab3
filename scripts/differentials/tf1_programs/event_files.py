"""What a FileWriter takes: summaries made by hand, graphs, session logs, events; and what it refuses."""

import glob
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

folder = tempfile.mkdtemp()


def events(name):
    for path in sorted(glob.glob(os.path.join(folder, name, "*"))):
        for event in tf.train.summary_iterator(path):
            yield event


def attempt(title, function):
    try:
        function()
        print(title, "works")
    except Exception as exc:
        print(title, type(exc).__name__)


graph = tf.Graph()
with graph.as_default():
    a = tf.constant([1.0, 2.0], name="a")
    loud = tf.summary.audio("sound", tf.reshape(a, [1, 2]), 100, max_outputs=1)
    note = tf.summary.text("note", tf.constant(["first", "second"]))
    kept = tf.summary.tensor_summary("kept", a, display_name="shown")
    everything = tf.summary.merge([loud, note, kept], name="all")
    print(everything.op.name, everything.op.type, [t.op.name for t in everything.op.inputs])
    with tf.Session() as sess:
        bytes_of_all = sess.run(everything)

summary = tf.Summary()
summary.value.add(tag="accuracy", simple_value=0.75)
summary.value.add(tag="loss", simple_value=1.5)

writer = tf.summary.FileWriter(os.path.join(folder, "one"), graph=graph, filename_suffix=".mine")
writer.add_summary(summary, global_step=10)
writer.add_summary(summary.SerializeToString(), np.int64(11))
writer.add_summary(bytes_of_all, 12)
writer.add_summary(bytes_of_all, 13)
writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START, msg="begins"), 12)
writer.add_graph(graph, 14)
writer.add_event(tf.Event(wall_time=5.0, step=15, file_version="odd"))
print(writer.get_logdir() == os.path.join(folder, "one"))
attempt("no graph", lambda: writer.add_graph(None))
attempt("no meta graph", lambda: writer.add_meta_graph("x"))
attempt("no summary", lambda: writer.add_summary(7))
writer.flush()
writer.close()
print(os.listdir(os.path.join(folder, "one"))[0].endswith(".mine"))
for event in events("one"):
    what = event.WhichOneof("what")
    if what == "graph_def":
        nodes = tf.GraphDef.FromString(event.graph_def).node
        print(event.step, what, sorted(n.name for n in nodes)[:4])
    elif what == "summary":
        for value in event.summary.value:
            kind = value.WhichOneof("value")
            print(event.step, value.tag, kind, value.HasField("metadata"), value.metadata.display_name,
                  value.metadata.plugin_data.plugin_name)
            if kind == "tensor":
                print(tf.make_ndarray(value.tensor).tolist())
            if kind == "audio":
                print("%.1f" % value.audio.sample_rate, value.audio.length_frames, value.audio.content_type)
    elif what == "session_log":
        print(event.step, event.session_log.status, event.session_log.msg)
    else:
        print(event.step, what, event.file_version if what == "file_version" else "")

with tf.summary.FileWriter(os.path.join(folder, "two")) as writer:
    writer.add_summary(summary)
print([e.WhichOneof("what") for e in events("two")])
cache = tf.summary.FileWriterCache
with tf.Graph().as_default():
    first = cache.get(os.path.join(folder, "three"))
    print(first is cache.get(os.path.join(folder, "three")))
    cache.clear()
attempt("a missing file", lambda: list(tf.train.summary_iterator(os.path.join(folder, "none"))))
attempt("a duplicate tag", lambda: tf.Session(graph=graph).run(
    graph.get_tensor_by_name("all/all:0"), {}))
