"""Control flow of single operations: what it means, and how it becomes loops and conditionals.

``functionalize`` turns Switch, Merge, Enter, Exit and NextIteration into ``While`` and ``If`` where nobody
can tell; what stays is run by the dataflow engine from a ``dataflow_partition``. Gradients of raw control
flow use the same rewriting.
"""
