"""The remote session: the client's side of a session that a master runs.

``RemoteSession`` reaches its master through ``SessionConnection``, sends its graph and requests steps.
Factories make it, and the session API uses it through the same interface as a direct session.
"""
