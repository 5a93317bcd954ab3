"""Partial runs: steps that are fed and fetched in several calls, for both kinds of session.

``api`` has the methods that users call. ``partial_runs`` holds the partial runs of a direct session;
``remote_partial_runs`` forwards those of a remote session to its master.
"""
