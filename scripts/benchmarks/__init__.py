"""Benchmarks: the time of a step with actorsession and, if Pythons that have them are named, with its peers.

``rows`` is the table of benchmarks; ``questions`` holds their inputs and the answers computed with numpy.
Each side answers the same questions in its own process: ``side_actorsession`` through the public API, and
``side_tensorflow``, ``side_ray`` and ``side_pyzmq``, which the Pythons of the peers run. The first two have
the same programs (``*_rows``), which are given a ``Library``. ``command`` is the driver, which alternates
between the sides.

The library does not import this folder. Its modules import one another relatively, because the package is
named ``benchmarks`` when it runs and ``scripts.benchmarks`` when it is checked. The modules that the peers'
Pythons load (all but those of the driver) must run on Python 3.10 with numpy and the peer alone.
"""
