"""The master: the sessions of clients, and the steps that they run on workers.

``Master`` creates a ``MasterSession`` per client session. A ``MasterSession`` keeps its members, its graph
and one client graph per run signature; a ``MasterStep`` begins the part of each task that has partitions
of a step. Servers import ``master``, which imports the rest. ``MasterEnv`` is the environment that a master
is given.
"""
