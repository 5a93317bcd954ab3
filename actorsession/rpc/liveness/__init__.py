"""Failure detection: leases, heartbeats, and the verdict over a peer that is silent.

A link sends a heartbeat each ``BEAT_SECONDS`` in which it sends nothing else. A peer that is silent is
checked through the operating system, directly or by a sidecar process on its host, before it is declared
lost. The package is independent of messages. ``rpc.link`` is its only user, except servers, which publish
their own heartbeat.
"""
