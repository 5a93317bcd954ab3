"""A model is exported for serving with two signatures and a vocabulary, and is served."""

import os
import tempfile

import numpy as np
import tensorflow as tf

WORDS = ["<unk>", "good", "bad", "film"]


def export(folder, vocabulary):
    with tf.Graph().as_default(), tf.Session() as sess:
        ids = tf.placeholder(tf.int64, [None, 3], name="ids")
        weights = tf.get_variable("weights", initializer=np.float32([0.0, 2.0, -2.0, 0.25]))
        score = tf.reduce_sum(tf.gather(weights, ids), axis=1, name="score")
        label = tf.cast(score > 0.0, tf.int32, name="label")
        words = tf.get_variable("words", initializer="", trainable=False)
        asset = tf.constant(vocabulary, name="vocabulary")
        load_words = tf.assign(words, tf.read_file(asset))
        tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, asset)

        info = tf.saved_model.utils.build_tensor_info
        constants = tf.saved_model.signature_constants
        classify = tf.saved_model.signature_def_utils.build_signature_def(
            inputs={"ids": info(ids)},
            outputs={"label": info(label), "score": info(score)},
            method_name=constants.PREDICT_METHOD_NAME)
        vocabulary_signature = tf.saved_model.signature_def_utils.build_signature_def(
            outputs={"words": info(tf.identity(words, name="all_words"))}, method_name=constants.PREDICT_METHOD_NAME)
        sess.run(tf.global_variables_initializer())
        builder = tf.saved_model.builder.SavedModelBuilder(folder)
        builder.add_meta_graph_and_variables(
            sess, [tf.saved_model.tag_constants.SERVING],
            signature_def_map={
                constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: classify,
                "vocabulary": vocabulary_signature,
            },
            assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
            main_op=tf.group(load_words))
        print(os.path.basename(builder.save().decode()))


class Server(object):
    def __init__(self, folder):
        self.session = tf.Session(graph=tf.Graph())
        with self.session.graph.as_default():
            self.model = tf.saved_model.loader.load(
                self.session, [tf.saved_model.tag_constants.SERVING], folder)

    def predict(self, signature="serving_default", **inputs):
        definition = self.model.signature_def[signature]
        fetches = {key: info.name for key, info in definition.outputs.items()}
        feeds = {definition.inputs[key].name: value for key, value in inputs.items()}
        return self.session.run(fetches, feeds)


top = tempfile.mkdtemp()
vocabulary = os.path.join(top, "words.txt")
with open(vocabulary, "w") as f:
    f.write("\n".join(WORDS))
folder = os.path.join(top, "export", "1")
export(folder, vocabulary)
os.remove(vocabulary)
for base, folders, files in sorted(tf.gfile.Walk(folder)):
    print(os.path.relpath(base, folder), sorted(files))

server = Server(folder)
result = server.predict(ids=[[1, 3, 0], [2, 3, 0]])
print(result["label"].tolist(), result["score"].tolist())
print(server.predict("vocabulary")["words"].decode().split())
print(sorted(server.model.signature_def), list(server.model.meta_info_def.tags))
with server.session.graph.as_default():
    print(sorted(v.op.name for v in tf.global_variables()), len(tf.trainable_variables()))
info = server.model.signature_def["serving_default"].inputs["ids"]
print(info.name, info.dtype == tf.int64.as_datatype_enum, [d.size for d in info.tensor_shape.dim])

print(tf.saved_model.loader.maybe_saved_model_directory(folder))
for attempt in (
    lambda: tf.saved_model.loader.load(tf.Session(graph=tf.Graph()), ["train"], folder),
    lambda: tf.saved_model.loader.load(tf.Session(graph=tf.Graph()), ["serve"], top),
    lambda: tf.saved_model.builder.SavedModelBuilder(folder),
):
    try:
        attempt()
    except Exception as error:
        print(type(error).__name__)
