"""Differential programs: the same small program on both libraries, and every difference between the results.

``families`` holds the programs. ``record`` runs one with the API module that it is given and records the
results, ``compare`` finds the differences between two such records, and ``reasons`` lists the intended ones.
``command`` is the driver: it runs actorsession's side with its own Python and TensorFlow's with the peer's,
each in a process of its own, and reads their records. ``recorded`` has those of TensorFlow for our tests.

The library does not import this folder. The modules that the peer's Python loads (``side`` and those that it
imports) need numpy and TensorFlow and run on Python 3.10. The programs import neither library; they are given
an API module.
"""
