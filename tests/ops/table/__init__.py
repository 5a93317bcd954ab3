"""The table of ops: how each operation type is built, what numpy says of it, and where it is smooth.

One file per family, called ``of_...``, whose variables hold rows; ``tests/ops/test_table.py`` runs them all, and
fails for an operation type that has no row and is not named in ``elsewhere.py``.
"""
