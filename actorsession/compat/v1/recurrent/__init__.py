"""Recurrent networks of TensorFlow 1 beyond the cells and the loop of ``layers/recurrent/``.

Cells around other cells are in ``stacked``, ``wrappers`` and ``dropout``; ``rnn_cell`` lists all of them. The
loops are in ``static`` and ``raw``, stacks of bidirectional networks in ``layers``. Losses and decoders of
sequences are in ``sequences``. ``tf.nn``, ``tf.nn.rnn_cell`` and the packages of ``tf.contrib`` export them.
"""
