"""The demo: handwritten digits, learnt in one process and then by a cluster.

An example to read as well as a command to run. ``model`` builds the graph, ``training`` trains with any
session, and ``local`` and ``distributed`` choose where. ``tour`` runs one after the other, and ``report`` and
``progress`` show the results. ``cli/demo.py`` adds the demo to the command line.
"""
