"""Well-known public repositories for TensorFlow 1, trained as they are (``scripts/famous``).

``table`` has one row for each: the commit, what is run, and how its output shows that it has learnt. ``data``
generates what a repository does not ship, ``drivers`` are programs of ours for repositories that have a model
but no program that trains it. Nothing of a repository is kept here, and nothing of it is changed but the
constants that a row names.
"""

from __future__ import annotations
