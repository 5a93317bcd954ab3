"""Recurrent networks of TensorFlow 1: cells, and the loops that run them over time.

The cells are in ``cell`` (the base class), ``basic``, ``lstm``, ``stacked``, ``wrappers`` and ``dropout``.
The loops are in ``dynamic``, ``static``, ``raw`` and ``layers``, with common code in ``steps``. Losses and
decoders of sequences are in ``sequences``. ``tf.nn``, ``tf.nn.rnn_cell`` and the packages of ``tf.contrib``
export them. Variables have the names of TensorFlow 1.2 and later, so that its checkpoints can be loaded.
"""
