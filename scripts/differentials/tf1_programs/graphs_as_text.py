"""Writes a graph as text and bytes, edits it as messages, and imports it again."""

from __future__ import print_function

import os
import tempfile

from google.protobuf import text_format
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.core.framework import graph_pb2
from tensorflow.core.framework import node_def_pb2
from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import importer
from tensorflow.python.framework import tensor_util
from tensorflow.python.platform import gfile


def main():
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.Variable([[1.0], [2.0]], name="w")
        y = tf.nn.relu(tf.matmul(x, w), name="y")
        tf.identity(y, name="unused")
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            frozen = tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["y"])
    print(sorted(node.name for node in frozen.node), types_pb2.DT_FLOAT)

    path = os.path.join(folder, "graph.pbtxt")
    tf.train.write_graph(frozen, folder, "graph.pbtxt", as_text=True)
    read = graph_pb2.GraphDef()
    with gfile.GFile(path) as f:
        text_format.Merge(f.read(), read)
    print(read == frozen, text_format.MessageToString(read.node[0]).splitlines()[:2])

    # The weights are doubled, and a node is put behind the result.
    for node in read.node:
        if node.op == "Const":
            values = tensor_util.MakeNdarray(node.attr["value"].tensor)
            node.attr["value"].CopyFrom(
                attr_value_pb2.AttrValue(tensor=tensor_util.make_tensor_proto(values * 2))
            )
    last = node_def_pb2.NodeDef(name="negated", op="Neg", input=["y"])
    last.attr["T"].type = types_pb2.DT_FLOAT
    read.node.extend([last])

    with tf.Graph().as_default():
        x2, out = importer.import_graph_def(
            read, name="again", return_elements=["x:0", "negated:0"]
        )
        with tf.Session() as sess:
            print(x2.name, out.name, sess.run(out, {x2: [[1.0, 1.0], [-1.0, 0.5]]}).tolist())
    small = tf.graph_util.extract_sub_graph(read, ["y"])
    print(len(small.node), "negated" in [node.name for node in small.node])
    for bad in ("node { nonsense: 3 }", "node {"):
        try:
            text_format.Parse(bad, graph_pb2.GraphDef())
        except text_format.ParseError:
            print("ParseError")


if __name__ == "__main__":
    main()
