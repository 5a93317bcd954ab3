"""Code generation: a partition becomes segments of straight-line Python, and these are bound to kernels.

``compile_partition`` writes one function per segment with an ``Emitter``, after ``UseDef`` has told who
makes, reads and may overwrite each value; ``bind`` is the one place that executes generated source.
"""
