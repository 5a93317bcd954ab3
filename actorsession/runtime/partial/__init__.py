"""Partial runs: the pure state of one, its driver, and the manager of those of a session.

``RunState`` decides, ``PartialRunDriver`` carries out its instructions on a step of either kind, and
``PartialRunMgr`` holds the runs of a session. Direct sessions and masters import the three; ``thread_runs``
has the variant for sessions without an event loop.
"""
