"""The demo: handwritten digits, learnt in one process and then by a cluster.

An example to read as well as a command to run. ``model`` builds the graph, ``training`` trains with any
session, and ``local`` and ``distributed`` choose where. ``tour`` runs one after the other, ``report`` and
``progress`` show the results, and ``command`` adds the demo to the command line.

Nothing is imported here: the command line needs only ``command``, which is cheap to import.
"""
