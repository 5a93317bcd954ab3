"""The engine of a step: partitions loaded on devices, and the execution of their segments or nodes.

A ``LoadedGraph`` is the share of a plan that one process runs. ``Step`` is one run of it, with a
``PartitionRun`` for each partition of segments and a ``DataflowRun`` for each that holds raw control flow.
Sessions and workers import ``executor`` and ``step``.
"""
