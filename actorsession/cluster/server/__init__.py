"""The server: one task of a cluster, with a master and a worker behind one listener.

``Server`` reads the description of its cluster, listens, publishes its heartbeat, restores and takes
snapshots, and answers administration requests. Import ``server`` and ``statistics``.
"""
