"""The nodes of a graph are looked at, changed and removed as messages, and the result runs."""

import numpy as np
from google.protobuf import text_format
import tensorflow as tf

graph = tf.Graph()
with graph.as_default():
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    with tf.device("/device:GPU:0"):
        scale = tf.constant([[2.0, 0.0], [0.0, 2.0]], name="scale")
        scaled = tf.matmul(x, scale, transpose_b=True, name="scaled")
    checked = tf.check_numerics(scaled, "not finite", name="checked")
    tf.reduce_sum(checked, axis=1, keepdims=True, name="sum")
graph_def = graph.as_graph_def()
print([(node.name, node.op) for node in graph_def.node])
print("version", graph_def.versions.producer > 0, graph_def.HasField("versions"))

by_name = {node.name: node for node in graph_def.node}
scaled = by_name["scaled"]
print(scaled.input, scaled.device, sorted(scaled.attr))
print(scaled.attr["transpose_b"].b, scaled.attr["T"].type == tf.float32.as_datatype_enum)
print(scaled.attr["T"].WhichOneof("value"), "spam" in scaled.attr)
shape = by_name["x"].attr["shape"].shape
print([dim.size for dim in shape.dim], tf.TensorShape(shape))
value = tf.make_ndarray(by_name["scale"].attr["value"].tensor)
print(value.tolist())

edited = tf.GraphDef()
edited.CopyFrom(graph_def)
for node in edited.node:
    node.device = ""
    node.input[:] = [name if name != "checked" else "scaled" for name in node.input]
    if node.op == "Const" and node.name == "scale":
        node.attr["value"].CopyFrom(tf.AttrValue(tensor=tf.make_tensor_proto(value * 3)))
kept = [node for node in edited.node if node.name != "checked"]
del edited.node[:]
edited.node.extend(kept)
extra = edited.node.add()
extra.name, extra.op = "half", "Mul"
extra.input.extend(["sum", "factor"])
extra.attr["T"].type = tf.float32.as_datatype_enum
factor = edited.node.add(name="factor", op="Const")
factor.attr["dtype"].type = tf.float32.as_datatype_enum
factor.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(0.5))
print(len(graph_def.node), len(edited.node), edited == graph_def)

text = text_format.MessageToString(edited)
print("as text", text_format.Parse(text, tf.GraphDef()) == edited, text.count("node {"))
print(sorted(line.strip() for line in str(factor).splitlines()))

with tf.Graph().as_default(), tf.Session() as sess:
    given = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    half, total = tf.import_graph_def(
        edited, input_map={"x:0": given}, return_elements=["half:0", "sum"], name="edited")
    print(sess.run(half).tolist(), total.name, total.type)
    print(total.node_def.input, total.get_attr("keep_dims"))

for wrong in (
    lambda: edited.node.append("a node"),
    lambda: edited.node.add(nme="x"),
    lambda: edited.node[0].attr["T"].MergeFrom(edited),
    lambda: setattr(edited.node[0], "input", ["a"]),
    lambda: tf.import_graph_def(edited, input_map={"no:0": np.ones((2, 2), np.float32)}),
    lambda: edited.node[99],
):
    try:
        wrong()
        print("taken")
    except Exception as error:
        print(type(error).__name__)
