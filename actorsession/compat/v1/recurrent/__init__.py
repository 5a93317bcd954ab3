"""Recurrent networks of TensorFlow 1: cells, and the loops that run them over time.

Cells stand in ``cell`` (what all of them are), ``basic``, ``lstm``, ``stacked``, ``wrappers`` and
``dropout``; loops in ``dynamic``, ``static``, ``raw`` and ``layers``, with what they have in common in
``steps``; losses and decoders of sequences in ``sequences``. ``tf.nn``, ``tf.nn.rnn_cell`` and the rooms of
``tf.contrib`` name them. Variables are called as TensorFlow 1.2 and later call them, so that its checkpoints
can be loaded.
"""
