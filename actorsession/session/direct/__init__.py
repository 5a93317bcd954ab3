"""The direct session: plans and runs a graph on devices of this process.

``DirectSession`` turns a run signature into a loaded plan with its ``Planner`` and runs it on its devices;
``CostModelSession`` measures its own steps beside. Factories make them; faces reach them as sessions alone.
"""
