"""Pure passes from a graph and a run signature to executable plans, in the order in which a step needs them.

prune (the nodes that the run needs) -> place (a device for each node) -> partition (one partition per device,
with Send and Recv) -> compile (segments of generated Python) -> bind (functions). Every pass makes a new
graph and leaves the old one untouched. ``validate`` checks the results in between. The package imports no
asyncio.
"""
