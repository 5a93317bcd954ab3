"""Cells of recurrent networks: one step of time each.

``cell`` has the base class, ``basic`` and ``lstm`` the plain cells, ``block`` and ``fused`` their forms for
whole steps and sequences. ``stacked``, ``wrappers`` and ``dropout`` have cells around other cells;
``contrib``, ``grid`` and ``rarer`` those of ``tf.contrib.rnn``. Variables have the names of TensorFlow 1.2
and later, so that its checkpoints load.
"""
