"""Cells of recurrent networks: one step of time each.

``cell`` has the base class, ``basic`` and ``lstm`` the plain cells, ``block`` and ``fused`` their forms for
whole steps and sequences. ``stacked``, ``wrappers``, ``dropout`` and ``projections`` have cells around
other cells; ``convolutional``, ``gated``, ``grid`` and ``variants`` those of ``tf.contrib.rnn``, some of
which share the map of ``linear``. Variables have the names of TensorFlow 1.2 and later, so that its
checkpoints load.
"""
