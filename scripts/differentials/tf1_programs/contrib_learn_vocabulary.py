# peer: 1.15: tf.contrib is no longer part of TensorFlow
"""Texts as rows of word numbers, as the tutorial about convolutions for sentences prepares them."""

import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.contrib import learn

texts = [
    "the rock is destined to be the 21st century's new Conan",
    "effective but too-tepid biopic; effective HTML and camelCase",
    "take care of my cat offers a refreshingly different slice of asian cinema",
    "NASA and IBMers don't stop the rock",
]


def show(rows):
    for row in rows:
        print(np.asarray(row).tolist())


processor = learn.preprocessing.VocabularyProcessor(8)
x = np.array(list(processor.fit_transform(texts)))
print(x.shape, x.dtype, len(processor.vocabulary_))
show(x)
show(processor.transform(["the cat is unknown", ""]))
print(list(processor.reverse([[1, 2, 0], [3]])))
path = os.path.join(tempfile.mkdtemp(), "vocab")
processor.save(path)
again = learn.preprocessing.VocabularyProcessor.restore(path)
show(again.transform(texts[:2]))

rare = learn.preprocessing.VocabularyProcessor(6, min_frequency=1)
show(rare.fit_transform(texts))
print(len(rare.vocabulary_), sorted(rare.vocabulary_._mapping.items(), key=lambda item: item[1]))

words = learn.preprocessing.CategoricalVocabulary()
for word in "a b a c a b".split():
    words.add(word)
words.freeze()
print([words.get(w) for w in "abcd"], len(words), words.reverse(2))
words.trim(1)
print([words.get(w) for w in "abcd"], len(words))
words.freeze(False)
print(words.get("new"), words.get("new"))
show(learn.preprocessing.ByteProcessor(6).transform(["abc", "longer text"]))
print(list(learn.preprocessing.tokenizer(["It's a test-case: XMLFile A1 b_c"])))

with tf.Graph().as_default():
    ids = tf.placeholder(tf.int32, [None, 8])
    table = tf.constant(np.arange(len(processor.vocabulary_) * 2, dtype=np.float32).reshape(-1, 2))
    pooled = tf.reduce_max(tf.nn.embedding_lookup(table, ids), axis=1)
    with tf.Session() as sess:
        print(sess.run(pooled, {ids: x}).tolist())
