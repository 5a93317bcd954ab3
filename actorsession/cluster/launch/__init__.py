"""Processes: how a local cluster starts, watches and ends them, and how such a process behaves as a child.

``LocalCluster`` owns one ``WorkerProcess`` per task; ``child`` is the program that runs inside, with a guard
that ends it whatever hangs. Import ``local_cluster``, and ``child`` for a command line.
"""
