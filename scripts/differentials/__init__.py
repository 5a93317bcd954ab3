"""Differential programs: the same small program on both libraries, and whatever comes out differently.

``families`` holds the programs, ``record`` runs one with the face that it is given and writes down what came
out, ``compare`` finds the differences between two such records, and ``reasons`` says which of them are meant.
``command`` is the driver: it runs our side with its own Python and TensorFlow's with the peer's, each in a
process of its own, and reads what they wrote.

Nothing of the library imports this folder. What the peer's Python loads (``side`` and below) needs numpy and
TensorFlow and runs on Python 3.10. The programs import neither library: they are given a face of it.
"""
