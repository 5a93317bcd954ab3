"""Primitive control flow (Switch, Merge, Enter, Exit, NextIteration): analysis and functionalization.

``functionalize`` turns these operations into ``While`` and ``If`` where that makes no observable difference.
The rest is run by the dataflow engine from a ``dataflow_partition``. Gradients of primitive control flow use
the same rewriting.
"""
