"""Pure passes from a graph and a run signature to executable plans, in the order a step meets them.

prune (what the run needs) -> place (which device) -> partition (one part per device, with Send and
Recv) -> compile (segments of generated Python) -> link (functions). Every pass makes a new graph
and leaves the old one untouched; ``validate`` stands between them. Imports no asyncio.
"""
