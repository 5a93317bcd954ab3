# Written by scripts/generated.py.
"""Sound: files of waves."""

from actorsession.opsets.signals.audio import decode_wav as decode_wav, encode_wav as encode_wav


__all__ = [
"decode_wav", "encode_wav"
]
