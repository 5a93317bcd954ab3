"""Hooks: callbacks before and after each step of a monitored session.

``basic`` has the base class and the hooks without files, ``checkpoints``, ``steps`` and ``summaries`` those
that write files.
"""
