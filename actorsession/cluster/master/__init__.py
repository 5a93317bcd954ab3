"""The master: the sessions of clients, and the steps that they run on workers.

``Master`` creates a ``MasterSession`` per client session. Its ``SessionPlans`` keep its members, its graph
and one client graph per run signature, its ``SessionSteps`` what runs: a ``MasterStep`` begins the part of
each task that has partitions of a step. Servers import ``master``, which imports the rest. ``MasterEnv`` is
the environment that a master is given.
"""
