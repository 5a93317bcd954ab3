"""The worker: the graphs of sessions on one task, their steps, and the tensors that come and go.

``Worker`` finds the ``WorkerSession`` of a message through ``SessionMgr``; steps run on the devices of the
task, and each has a ``WorkerRendezvous`` that pushes tensors to other workers. Servers import ``worker``;
what a worker is given is its ``WorkerEnv``.
"""
