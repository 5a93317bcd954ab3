"""Benchmarks: what a step of ours takes, beside TensorFlow when a Python that has it is named.

``rows`` is the table of what is asked, ``questions`` the inputs and the answers by numpy. Each side answers
the same questions in a process of its own: ``side_actorsession`` through the public API, and
``side_tensorflow``, run by the peer's Python. ``command`` is the driver: it lets the two sides take turns.

Nothing of the library imports this folder. Modules import one another relatively, because they are found
as ``benchmarks`` when they run and as ``scripts.benchmarks`` when they are checked. What the peer's Python
loads (all but the driver's modules) has to run on Python 3.10 with numpy alone.
"""
