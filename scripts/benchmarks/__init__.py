"""Benchmarks: the time of a step with actorsession and, if a Python that has it is named, with TensorFlow.

``rows`` is the table of benchmarks; ``questions`` holds their inputs and the answers computed with numpy.
Each side answers the same questions in a process of its own: ``side_actorsession`` through the public API,
and ``side_tensorflow``, which the peer's Python runs. ``command`` is the driver, which alternates between the
sides.

The library does not import this folder. Its modules import one another relatively, because the package is
named ``benchmarks`` when it runs and ``scripts.benchmarks`` when it is checked. The modules that the peer's
Python loads (all but those of the driver) must run on Python 3.10 with numpy alone.
"""
