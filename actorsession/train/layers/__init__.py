"""Layers of neural networks: functions of tensors that own their weights.

``layer`` has the base class, ``kernels`` what layers with a kernel and a bias have in common. A layer is an
object that is called (``Dense(10)(x)``); ``functions`` makes and calls one in a line (``dense(x, 10)``).
Layers build graphs on top of ``ops/`` and need no session; ``namespaces/layers`` lists their names.
"""
