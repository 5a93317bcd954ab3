"""Walks, copies and edits graphs as tools for inspection did."""

import tensorflow.compat.v1 as tf


def build():
    x = tf.placeholder(tf.float32, [None, 3], name="input")
    with tf.variable_scope("dense"):
        w = tf.get_variable("w", [3, 2], initializer=tf.constant_initializer(0.5))
        b = tf.get_variable("b", initializer=tf.zeros([2]))
        h = tf.nn.relu(tf.matmul(x, w) + b, name="out")
    with tf.name_scope("head"), tf.control_dependencies([h]):
        return tf.reduce_sum(h, name="sum")


with tf.Graph().as_default() as graph:
    output = build()
    tf.add_to_collection("outputs", output)
    print([op.name for op in graph.get_operations() if op.type not in ("Const", "Assign")])
    print(output.op.type, [t.name for t in output.op.inputs], [o.name for o in output.op.control_inputs])
    print([c.name for c in graph.get_tensor_by_name("dense/out:0").consumers()])
    print(sorted(graph.get_all_collection_keys()), graph.get_collection("outputs"))
    print(graph.get_operation_by_name("dense/w").get_attr("dtype").name, graph.building_function, graph.finalized)
    for name in ("missing", "missing:0", "input", "input:1"):
        try:
            print(graph.get_tensor_by_name(name))
        except (KeyError, ValueError) as e:
            print(name, type(e).__name__)
    print([n.name for n in tf.graph_util.extract_sub_graph(graph.as_graph_def(), ["dense/w/read"]).node])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        frozen = tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["head/sum"])
    print(sorted((n.name, n.op) for n in frozen.node if n.op != "Const"))
    graph.finalize()
    try:
        tf.constant(1.0)
    except RuntimeError as e:
        print(type(e).__name__)

definition = graph.as_graph_def()
with tf.Graph().as_default() as copy:
    doubled = tf.placeholder(tf.float32, [None, 3], name="mine")
    total, weights = tf.import_graph_def(
        definition, input_map={"input:0": doubled * 2.0}, return_elements=["head/sum:0", "dense/w"], name="copied")
    print(total, weights.type, weights.outputs[0])
    with tf.Session() as sess:
        sess.run(["copied/dense/w/Assign", "copied/dense/b/Assign"])
        print(sess.run(total, {doubled: [[1.0, 2.0, 3.0]]}))
        print(sess.run(total, {doubled: [[1.0, 2.0, 3.0]], "copied/dense/w:0": [[1.0, 0.0]] * 3}))

with tf.Graph().as_default():
    tf.import_graph_def(frozen, name="")
    with tf.Session() as sess:
        print(sess.run("head/sum:0", {"input:0": [[2.0, 2.0, 2.0]]}))
    try:
        tf.import_graph_def(frozen, return_elements=["nothing"])
    except ValueError as e:
        print(type(e).__name__)
