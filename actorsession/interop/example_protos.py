"""Messages for training examples, as TensorFlow's data files hold them.

An ``Example`` is a map from key to ``Feature``, which is a list of strings, of floats or of integers. A
``SequenceExample`` has a second map with one feature per step. ``ops.parse_example`` parses their serialised
form.
"""

from __future__ import annotations

from actorsession.interop.message import Message

__all__ = [
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
]


class BytesList(Message):
    """Strings of bytes."""

    SCHEMA = """
        1 value bytes*
    """


class FloatList(Message):
    """Numbers of type float32."""

    SCHEMA = """
        1 value float*
    """


class Int64List(Message):
    """Integers of 64 bits."""

    SCHEMA = """
        1 value int64*
    """


class Feature(Message):
    """One of the three lists, or nothing."""

    SCHEMA = """
        1 bytes_list BytesList in kind
        2 float_list FloatList in kind
        3 int64_list Int64List in kind
    """


class Features(Message):
    """Features by key."""

    SCHEMA = """
        1 feature map<string, Feature>
    """


class Example(Message):
    """The features of one example."""

    SCHEMA = """
        1 features Features
    """


class FeatureList(Message):
    """A feature for each step of a sequence."""

    SCHEMA = """
        1 feature Feature*
    """


class FeatureLists(Message):
    """Lists of features by key."""

    SCHEMA = """
        1 feature_list map<string, FeatureList>
    """


class SequenceExample(Message):
    """The features of one sequence as a whole, and of each of its steps."""

    SCHEMA = """
        1 context Features
        2 feature_lists FeatureLists
    """
