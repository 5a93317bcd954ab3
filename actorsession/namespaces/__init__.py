"""The namespaces of the public API (``acts.nn``, ``acts.math``, ...): tables of names defined below them.

Nothing is defined here, and a name imports its file when it is first used. The names follow TensorFlow's
namespaces where it has them; ``actorsession`` itself shows these modules and the most common names.
"""
