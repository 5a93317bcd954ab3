"""Strings: parts, patterns, numbers and hashes.

They are compared with ``equal`` and ``not_equal``. Functions that return ragged tensors in TensorFlow are
missing.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.opsets.text.characters": (
        "string_length=length string_lower=lower string_strip=strip string_upper=upper substr unicode_transcode"
    ),
    "actorsession.opsets.text.fingerprints": "fingerprint",
    "actorsession.opsets.text.hash_buckets": (
        "string_to_hash_bucket=to_hash_bucket string_to_hash_bucket_fast=to_hash_bucket_fast "
        "string_to_hash_bucket_strong=to_hash_bucket_strong"
    ),
    "actorsession.opsets.text.joining": ("reduce_join string_format=format string_join=join unsorted_segment_join"),
    "actorsession.opsets.text.numbers": "as_string string_to_number=to_number",
    "actorsession.opsets.text.regex": "regex_full_match regex_replace",
    "actorsession.opsets.text.splitting": "string_split string_split_v2=split",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
