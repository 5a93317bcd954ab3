"""Libraries that TensorFlow 1 brought along: what programs use of them, for where they are not installed.

The finder of ``alias`` has them behind all others, so a library that is installed is found itself.
"""
