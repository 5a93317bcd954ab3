"""Variable-length sequences from a Python generator, padded and classified by a mean of embeddings."""
import numpy as np
import tensorflow.compat.v1 as tf


class Corpus(object):
    """Sentences of word ids with a label each."""

    def __init__(self, size):
        self.size = size
        self.passes = 0

    def __call__(self):
        self.passes += 1
        for n in range(self.size):
            words = [(n * 7 + k * k) % 11 + 1 for k in range(1 + n % 5)]
            yield words, {"label": n % 2, "length": len(words)}


def build(corpus, batch_size):
    dataset = tf.data.Dataset.from_generator(
        corpus, (tf.int32, {"label": tf.int32, "length": tf.int64}),
        (tf.TensorShape([None]), {"label": tf.TensorShape([]), "length": tf.TensorShape([])}))
    dataset = dataset.shuffle(1).repeat(2)
    return dataset.padded_batch(batch_size, padded_shapes=([None], {"label": [], "length": []}))


corpus = Corpus(10)
dataset = build(corpus, 4)
iterator = dataset.make_initializable_iterator()
words, meta = iterator.get_next()
print(words.shape.as_list(), meta["label"].dtype.name)

embedding = tf.get_variable("embedding", initializer=np.cos(np.arange(12 * 3)).reshape(12, 3).astype(np.float32))
mask = tf.sequence_mask(meta["length"], maxlen=tf.shape(words)[1], dtype=tf.float32)
looked_up = tf.nn.embedding_lookup(embedding, words) * mask[:, :, None]
mean = tf.reduce_sum(looked_up, 1) / tf.cast(meta["length"], tf.float32)[:, None]
logits = tf.reduce_sum(mean, 1)
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(
    logits=logits, labels=tf.cast(meta["label"], tf.float32)))
train_op = tf.train.AdagradOptimizer(0.5).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(2):
        sess.run(iterator.initializer)
        shapes, losses = [], []
        while True:
            try:
                w, l, _ = sess.run([words, loss, train_op])
            except tf.errors.OutOfRangeError:
                break
            shapes.append(w.shape)
            losses.append(l)
        print(shapes, "%.4f" % np.mean(losses))
print("passes:", corpus.passes)

tf.reset_default_graph()
start = tf.placeholder(tf.int64, [])
numbers = tf.data.Dataset.from_generator(
    lambda first: (n * n for n in range(int(first), int(first) + 3)), tf.int64, [], args=(start,))
iterator = numbers.make_initializable_iterator()
value = iterator.get_next()
wrong = tf.data.Dataset.from_generator(lambda: iter(["text"]), tf.int64).make_one_shot_iterator().get_next()
with tf.Session() as sess:
    for first in (2, 10):
        sess.run(iterator.initializer, {start: first})
        print([int(sess.run(value)) for _ in range(3)])
    try:
        sess.run(wrong)
    except tf.errors.InvalidArgumentError as e:
        print(type(e).__name__)
