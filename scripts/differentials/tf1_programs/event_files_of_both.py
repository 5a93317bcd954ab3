"""Reads an event file that TensorFlow wrote and one that actorsession wrote, whichever of them runs this."""

import os

import numpy as np
import tensorflow.compat.v1 as tf

data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tests", "compat", "data")


def show(event):
    what = event.WhichOneof("what")
    print(event.step, what, event.wall_time > 1e9)
    if what == "graph_def":
        graph_def = tf.GraphDef.FromString(event.graph_def)
        print(sorted((node.name, node.op) for node in graph_def.node))
        with tf.Graph().as_default():
            tf.import_graph_def(graph_def, name="")
            merged = [op for op in tf.get_default_graph().get_operations() if op.type == "MergeSummary"]
            with tf.Session() as sess:
                again = tf.Summary.FromString(sess.run(merged[0].outputs[0]))
            print([value.tag for value in again.value])
    elif what == "meta_graph_def":
        meta = tf.MetaGraphDef.FromString(event.meta_graph_def)
        print(sorted(meta.collection_def), len(meta.graph_def.node))
    elif what == "session_log":
        print(event.session_log.status)
    elif what == "tagged_run_metadata":
        metadata = tf.RunMetadata.FromString(event.tagged_run_metadata.run_metadata)
        print(event.tagged_run_metadata.tag, len(metadata.step_stats.dev_stats))
    for value in event.summary.value:
        kind = value.WhichOneof("value")
        print(value.tag, kind)
        if kind == "simple_value":
            print("%.3f" % value.simple_value)
        elif kind == "histo":
            print(value.histo.num, value.histo.sum, list(value.histo.bucket))
        elif kind == "image":
            with tf.Graph().as_default(), tf.Session() as sess:
                pixels = sess.run(tf.image.decode_png(value.image.encoded_image_string))
            print(pixels.shape, np.unique(pixels).tolist())
        elif kind == "audio":
            print("%.1f" % value.audio.sample_rate, value.audio.length_frames)
        else:
            print(tf.make_ndarray(value.tensor).tolist(), value.metadata.plugin_data.plugin_name)


for name in ("events.tensorflow", "events.actorsession"):
    print("---", name)
    for event in tf.train.summary_iterator(os.path.join(data, name)):
        show(event)
