"""A trained network is frozen, stripped and used for inference through a class."""

import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

graph_util = tf.graph_util


def export(path):
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        image = tf.placeholder(tf.float32, [None, 6, 6, 1], name="image")
        keep = tf.placeholder_with_default(1.0, [], name="keep")
        kernel = tf.get_variable("conv/kernel", initializer=np.linspace(-1, 1, 18, dtype=np.float32).reshape(3, 3, 1, 2))
        bias = tf.get_variable("conv/bias", initializer=np.float32([0.1, -0.1]))
        net = tf.nn.bias_add(tf.nn.conv2d(image, kernel, [1, 1, 1, 1], "VALID"), bias)
        net = tf.nn.max_pool(tf.nn.relu(net), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        net = tf.identity(tf.identity(net, name="unused_identity"))
        flat = tf.reshape(net, [-1, 8])
        w = tf.get_variable("fc/w", initializer=np.linspace(0, 1, 24, dtype=np.float32).reshape(8, 3))
        logits = tf.matmul(flat, w) * keep
        tf.nn.softmax(logits, name="probabilities")
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(logits))
        sess.run(tf.global_variables_initializer())
        frozen = graph_util.convert_variables_to_constants(
            sess, graph.as_graph_def(), ["probabilities"])
        print("constants", sorted(n.name for n in frozen.node if n.op == "Const" and "/" in n.name and n.name.split("/")[0] in ("conv", "fc")))
        before = len(frozen.node)
        frozen = graph_util.remove_training_nodes(frozen, protected_nodes=["probabilities"])
        print("fewer", len(frozen.node) < before, "unused" in [n.name.split("_")[0] for n in frozen.node])
        tf.train.write_graph(frozen, os.path.dirname(path), os.path.basename(path), as_text=False)
        tf.train.write_graph(frozen, os.path.dirname(path), "frozen.pbtxt", as_text=True)


class Classifier(object):
    def __init__(self, path):
        graph_def = tf.GraphDef()
        with tf.gfile.FastGFile(path, "rb") as f:
            graph_def.ParseFromString(f.read())
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.image, self.out = tf.import_graph_def(
                graph_def, return_elements=["image:0", "probabilities:0"], name="net")
        self.session = tf.Session(graph=self.graph)

    def __call__(self, images):
        return self.session.run(self.out, {self.image: images})


folder = tempfile.mkdtemp()
path = os.path.join(folder, "frozen.pb")
export(path)
classifier = Classifier(path)
images = np.linspace(0, 1, 72, dtype=np.float32).reshape(2, 6, 6, 1)
print(np.round(classifier(images), 4).tolist())
print(classifier.image.name, classifier.out.shape.as_list())
print(sorted({op.type for op in classifier.graph.get_operations()} & {"VariableV2", "VarHandleOp", "Const", "Conv2D", "Softmax"}))

graph_def = classifier.graph.as_graph_def()
part = graph_util.extract_sub_graph(graph_def, ["net/conv/kernel"])
print([node.name for node in part.node])
size = [d.size for d in part.node[0].attr["value"].tensor.tensor_shape.dim]
print(size, tf.make_ndarray(part.node[0].attr["value"].tensor).sum().round(4))
try:
    graph_util.extract_sub_graph(graph_def, ["net/none"])
except AssertionError:
    print("no such node")
with open(os.path.join(folder, "frozen.pbtxt")) as f:
    print(sum(line.startswith("node {") for line in f) == len(classifier.graph.as_graph_def().node))
