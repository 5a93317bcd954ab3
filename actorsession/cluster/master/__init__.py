"""The master: sessions of clients, what each is made of, and the steps that it runs on workers.

``Master`` creates a ``MasterSession`` per client session; that keeps its members, its graph and one client
graph per run signature, and a ``MasterStep`` sends ``RunGraph`` to each task that owns a part. Servers import
``master``; everything else is reached through it. What a master is given is its ``MasterEnv``.
"""
