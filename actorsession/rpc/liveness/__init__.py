"""Failure detection: leases, heartbeats, and the verdict over a peer that is silent.

A link gives a heartbeat each ``BEAT_SECONDS``; a peer that is silent for a lease is looked at through the
operating system, directly or by a sidecar process on its host, before it is declared lost. Nothing here
knows of messages; ``rpc.link`` is the only user but for servers, which publish their own heartbeat.
"""
