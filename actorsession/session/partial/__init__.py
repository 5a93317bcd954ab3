"""Partial runs: steps that are fed and fetched in several calls, for both kinds of session.

``api`` has the methods that users call, and ``partial_runs`` the interface behind them. In a direct session
``direct_partial_runs`` implements it on the drivers and managers of ``runtime.partial``; in a remote session
``remote_partial_runs`` forwards to the master.
"""
