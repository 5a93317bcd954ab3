"""Administration of a cluster from outside: status, wait graphs and stop of its servers, and certificates.

``admin_client`` opens connections of its own and is used by the command line. Masters and servers answer it,
with ``wait_graphs`` among others.
"""
