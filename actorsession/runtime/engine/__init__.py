"""The execution of a step in one process: executors, loaded graphs, steps and their engines.

A ``LoadedGraph`` is the share of a plan that one process runs; the ``Executor`` of each device has loaded
its partitions. ``Step`` is one run of it, with an ``Engine`` for each partition: a ``SegmentEngine``, or
a ``DataflowEngine`` where there is raw control flow. A plan of one segment is an ``InlineRun`` instead.
Sessions and workers import ``executor``, ``loaded_graph``, ``inline_run`` and ``step``.
"""
