# Written by scripts/generated.py.
"""Strings: parts, patterns, numbers and hashes.

They are compared with ``equal`` and ``not_equal``. Functions that return ragged tensors in TensorFlow are
missing.
"""

from actorsession.opsets.text.characters import (
string_length as length, string_lower as lower, string_strip as strip, string_upper as upper, substr
as substr, unicode_transcode as unicode_transcode
)
from actorsession.opsets.text.fingerprints import fingerprint as fingerprint
from actorsession.opsets.text.hash_buckets import (
string_to_hash_bucket as to_hash_bucket, string_to_hash_bucket_fast as to_hash_bucket_fast,
string_to_hash_bucket_strong as to_hash_bucket_strong
)
from actorsession.opsets.text.joining import (
reduce_join as reduce_join, string_format as format, string_join as join, unsorted_segment_join as
unsorted_segment_join
)
from actorsession.opsets.text.numbers import as_string as as_string, string_to_number as to_number
from actorsession.opsets.text.regex import (
regex_full_match as regex_full_match, regex_replace as regex_replace
)
from actorsession.opsets.text.splitting import (
string_split as string_split, string_split_v2 as split
)


__all__ = [
"as_string", "fingerprint", "format", "join", "length", "lower", "reduce_join", "regex_full_match",
"regex_replace", "split", "string_split", "strip", "substr", "to_hash_bucket",
"to_hash_bucket_fast", "to_hash_bucket_strong", "to_number", "unicode_transcode",
"unsorted_segment_join", "upper"
]
