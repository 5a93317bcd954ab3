"""Recurrent networks: their ``cells``, and the loops that run them over time.

The loops are in ``dynamic``, ``static``, ``raw`` and ``bidirectional``, with common code in ``steps`` and
``sizes``; ``over_time`` has the layers of a cell and its loop.
"""
