"""The remote session: the client's side of a session that a master runs.

``RemoteSession`` finds its master through ``MasterConnection``, sends its graph and asks for steps.
Factories make it; faces reach it as a session alone.
"""
