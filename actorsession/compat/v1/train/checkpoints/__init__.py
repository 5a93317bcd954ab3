"""Files of values under TensorFlow's signatures: those of savers, and checkpoints of objects.

``savers`` has ``tf.train.Saver``; ``management`` and ``waits`` the ``checkpoint`` file of a folder,
``warm_starts`` models that begin with the values of others. ``objects`` says what an object consists of,
and describes objects as a message; ``checkpoint`` saves and restores by such descriptions; ``manager``
keeps the latest checkpoints. Values are matched by the names that objects have in each other, so a program
may name its variables otherwise than the one that saved them.
"""
