"""The fields of TensorFlow's messages that few parts of this library read, as tables.

Each module holds a text: the name of a message, or of an enumeration, then its fields in the form of
``Message.SCHEMA``; a line that begins with ``#`` names the file of TensorFlow that describes what follows.
``tabled`` makes classes from them. Field names and numbers are TensorFlow's; tests compare them.
"""
