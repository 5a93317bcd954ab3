"""The direct session: plans and runs a graph on devices of this process.

``DirectSession`` turns a run signature into a loaded plan with its ``Planner`` and runs it on its devices.
``CostModelSession`` also measures its own steps. Factories make them, and the session API uses both through
one interface.
"""
