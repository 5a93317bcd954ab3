"""The server: one task of a cluster, with a master and a worker behind one listener.

``Server`` reads the description of its cluster, listens, publishes its heartbeat, restores and takes
snapshots, and lets itself be controlled by whoever runs the cluster. Import ``server`` and ``statistics``.
"""
