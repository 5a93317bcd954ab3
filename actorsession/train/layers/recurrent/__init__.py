"""Cells of recurrent networks, and the loop that runs them over time.

The cells are in ``cell`` (the base class), ``basic`` and ``lstm``, the loop is in ``dynamic`` with common
code in ``steps`` and ``sizes``; ``over_time`` has the layers of a cell and its loop. Variables have the names
of TensorFlow 1.2 and later, so that its checkpoints load.
"""
