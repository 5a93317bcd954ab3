"""Administration of a cluster from outside: its servers' status, wait graphs and end, and its certificates.

``admin_client`` opens connections of its own and is used by the command line; masters and servers answer
with ``wait_graphs``.
"""
