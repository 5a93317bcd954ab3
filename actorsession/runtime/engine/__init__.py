"""The engine of a step: partitions loaded on devices, and how their segments or nodes run.

A ``LoadedGraph`` is what one process runs of a plan; ``Step`` is one run of it, with a ``PartitionRun`` for
each partition of segments and a ``DataflowRun`` for each that holds raw control flow. Sessions and workers
import ``executor`` and ``step``.
"""
