"""Processes: how a local cluster starts, monitors and ends them, and how such a process behaves as a child.

``LocalCluster`` owns one ``WorkerProcess`` per task, and ``TaskRestarts``, which starts tasks again that have
died. ``child`` is the program that runs inside, with a guard that kills it if it hangs. Import
``local_cluster``, and ``child`` for a command line.
"""
