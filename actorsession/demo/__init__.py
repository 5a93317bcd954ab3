"""The demo: handwritten digits, learnt in one process and then by a cluster.

An example to read as much as a command to run: ``model`` builds the graph, ``training`` trains any
session, ``local`` and ``distributed`` say where. ``tour`` does one after the other, ``report`` and
``progress`` show it, ``command`` is its place on the command line.

Nothing is imported here: the command line needs ``command`` alone, and that is light.
"""
