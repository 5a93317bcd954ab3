"""Checkpoints of objects: ``tf.train.Checkpoint`` and its manager.

``objects`` says what an object consists of, and describes objects as a message; ``checkpoint`` saves and
restores by such descriptions; ``manager`` keeps the latest checkpoints. Values are matched by the names that
objects have in each other, so a program may name its variables otherwise than the one that saved them.
"""
