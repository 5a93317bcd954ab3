"""Trains the model of openai/gpt-2, small, on one sentence, which its sampler then goes on with."""

from __future__ import annotations

import sys

import tensorflow as tf

sys.path.insert(0, "src")
import model
import sample

SENTENCE = list(b"the quick brown fox jumps over the lazy dog. ")

hparams = model.default_hparams()
hparams.override_from_dict({"n_vocab": 256, "n_ctx": 64, "n_embd": 64, "n_head": 4, "n_layer": 2})
tokens = tf.placeholder(tf.int32, [8, None])
logits = model.model(hparams=hparams, X=tokens[:, :-1])["logits"]
losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tokens[:, 1:], logits=logits)
loss = tf.reduce_mean(losses)
train = tf.train.AdamOptimizer(3e-3).minimize(loss)
start = tf.placeholder(tf.int32, [1, None])
sampled = sample.sample_sequence(hparams=hparams, length=40, context=start, batch_size=1, temperature=1.0, top_k=1)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(120):
        text = SENTENCE * 3
        batch = [text[k : k + 48] for k in range(step % 5, step % 5 + 40, 5)]
        print("step", step, "loss", sess.run([loss, train], {tokens: batch})[0])
    found = bytes(sess.run(sampled, {start: [SENTENCE[:10]]})[0].tolist())
    right = sum(one == other for one, other in zip(found, SENTENCE + SENTENCE, strict=False))
    print(f"sample {found!r}: right {right / len(found)}")
