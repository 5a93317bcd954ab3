"""TensorFlow's ``tf.strings`` namespace; the files of the folder ``text`` define its functions.

Strings are compared with ``equal`` and ``not_equal``. Functions that return ragged tensors in TensorFlow are
missing.
"""

from __future__ import annotations

from actorsession.ops.text.characters import string_length as length
from actorsession.ops.text.characters import string_lower as lower
from actorsession.ops.text.characters import string_strip as strip
from actorsession.ops.text.characters import string_upper as upper
from actorsession.ops.text.characters import substr, unicode_transcode
from actorsession.ops.text.hash_buckets import string_to_hash_bucket as to_hash_bucket
from actorsession.ops.text.hash_buckets import string_to_hash_bucket_fast as to_hash_bucket_fast
from actorsession.ops.text.hash_buckets import string_to_hash_bucket_strong as to_hash_bucket_strong
from actorsession.ops.text.joining import reduce_join, unsorted_segment_join
from actorsession.ops.text.joining import string_format as format
from actorsession.ops.text.joining import string_join as join
from actorsession.ops.text.numbers import as_string
from actorsession.ops.text.numbers import string_to_number as to_number
from actorsession.ops.text.regex import regex_full_match, regex_replace
from actorsession.ops.text.splitting import string_split_v2 as split

__all__ = [
    "as_string", "format", "join", "length", "lower", "reduce_join", "regex_full_match",
    "regex_replace", "split", "strip", "substr", "to_hash_bucket", "to_hash_bucket_fast",
    "to_hash_bucket_strong", "to_number", "unicode_transcode", "unsorted_segment_join", "upper",
]  # fmt: skip
