"""Partial runs: steps that are fed and fetched in several calls, over both kinds of session.

``api`` has what users call; ``partial_runs`` holds those of a direct session, ``remote_partial_runs`` asks a
master for its own.
"""
