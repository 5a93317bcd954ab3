"""Collectives: operations in which several devices take part, such as the sum of a value of each.

``groups`` finds the members of a group, ``algorithms`` are the exchanges of one member with the others,
``buffers`` is the memory of their large results, and ``executor`` begins them for the nodes of a step. Values
pass through the rendezvous of the step, so they go from worker to worker, and what ends a step ends its
collectives; groups of several sessions have a rendezvous of their own. The package imports ``graph``,
``plan`` and ``rendezvous``; the engines and ``cluster.worker`` import it.
"""
