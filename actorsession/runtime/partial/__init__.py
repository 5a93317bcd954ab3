"""Partial runs: the state of one, and the manager of those of a session.

``RunState`` decides and drives a step of either kind, and ``PartialRunMgr`` holds the runs of a session; direct
sessions and masters import the two. ``local_runs`` has the runs of this process with the actor that holds them
on an event loop, and ``thread_runs`` the variant for sessions without one.
"""
