"""The worker: the graphs of sessions on one task, their steps, and the tensors that are sent and received.

``Worker`` finds the ``WorkerSession`` of a message through ``SessionMgr``. Steps run on the devices of the
task, and each has a ``WorkerRendezvous`` that pushes tensors to other workers. Servers import ``worker``;
``env`` holds the environment that the sessions of a worker share.
"""
