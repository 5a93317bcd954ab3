"""Code generation: a partition becomes segments of straight-line Python, and these are bound to kernels.

``compile_partition`` writes one function per segment with an ``Emitter``. ``UseDef`` provides the makers and
readers of each value and whether it may be overwritten. ``bind`` is the only module that executes generated
source.
"""
