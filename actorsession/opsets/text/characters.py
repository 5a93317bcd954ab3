"""The characters of strings: case, white space, length, substrings, base64 and encodings.

Each op is defined here completely. Lengths and positions count bytes unless ``unit`` is ``UTF8_CHAR``. In
that case every byte that does not continue a character starts one, as in TensorFlow, so broken UTF-8 is
counted too.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import string
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor, graph_of
from actorsession.ops.operands import broadcast
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import boxed
from actorsession.opsets.text.kernels import each, like_strings, per_string, require_string, string_array

__all__ = [
    "check_errors",
    "check_input_encoding",
    "decode_base64",
    "encode_base64",
    "encodings",
    "string_length",
    "string_lower",
    "string_strip",
    "string_upper",
    "substr",
    "unicode_transcode",
]

_SPACE = b" \t\n\x0b\x0c\r"


# -- case and white space --------------------------------------------------------------------------


def string_lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Return each string in lower case.

    Args:
        input: strings.
        encoding: ``utf-8``, or empty to change only ASCII letters.
    """
    return raw.StringLower(convert_to_tensor(input, string), encoding=encoding, name=name)


def string_upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Return each string in upper case; arguments as for ``string_lower``."""
    return raw.StringUpper(convert_to_tensor(input, string), encoding=encoding, name=name)


def string_strip(input: Any, name: str | None = None) -> Tensor:
    """Return each string without the white space at its ends."""
    return raw.StringStrip(convert_to_tensor(input, string), name=name)


def _with_encoding(ctx: InferContext) -> Sequence[TensorShape]:
    if ctx.attrs["encoding"].lower() not in ("", "utf-8"):
        raise ValueError(f"{ctx.op}: encoding is 'utf-8' or empty, got {ctx.attrs['encoding']!r:.100}")
    return like_strings(ctx)


def _cased(ascii_only: Callable[[bytes], bytes], of_text: Callable[[str], str]) -> Callable[[KernelContext], Kernel]:
    """Return a kernel that changes each string by a function that the node's encoding chooses."""

    def through_text(value: bytes) -> bytes:
        return of_text(value.decode("utf-8", "replace")).encode()

    return per_string(lambda ctx: through_text if ctx.attrs["encoding"] else ascii_only)


op("StringLower", _with_encoding, kernel=_cased(bytes.lower, str.lower), grad=NOT_DIFFERENTIABLE)
op("StringUpper", _with_encoding, kernel=_cased(bytes.upper, str.upper), grad=NOT_DIFFERENTIABLE)
op("StringStrip", like_strings, lambda value: each(lambda text: text.strip(_SPACE), value), NOT_DIFFERENTIABLE)


# -- length and parts ------------------------------------------------------------------------------


def string_length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Return the length of each string, int32.

    Args:
        input: strings.
        unit: ``BYTE`` or ``UTF8_CHAR``.
    """
    return raw.StringLength(convert_to_tensor(input, string), unit=unit, name=name)


def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Return a substring of each string.

    Args:
        input: strings.
        pos: start of the substring, int32 or int64; counted from the end if negative. Broadcasts with
            ``input``.
        len: its length, of the dtype and shape of ``pos``; it is limited by the end of the string. A negative
            length selects all bytes to the end, but no characters.
        unit: ``BYTE`` or ``UTF8_CHAR``.

    Returns:
        The strings. At run time an InvalidArgumentError is raised for a ``pos`` outside a string.
    """
    graph = graph_of(input, pos, len)
    with graph.name_scope(name or "Substr") as scope:
        value = convert_to_tensor(input, string, "input", graph=graph)
        start = convert_to_tensor(pos, None, "pos", graph=graph)
        count = convert_to_tensor(len, None if hasattr(len, "_as_graph_element") else start.dtype, "len", graph=graph)
        return raw.Substr(value, start, count, unit=unit, name=scope)


def _check_unit(ctx: InferContext) -> None:
    if ctx.attrs["unit"] not in ("BYTE", "UTF8_CHAR"):
        raise ValueError(f"{ctx.op}: unit is BYTE or UTF8_CHAR, got {ctx.attrs['unit']!r:.100}")


def _starts(value: bytes) -> list[int]:
    """Return the starts of the characters: every byte that does not continue a character."""
    return [i for i, byte in enumerate(value) if byte & 0xC0 != 0x80]


def _characters(value: bytes) -> int:
    return sum(byte & 0xC0 != 0x80 for byte in value)


def _lengths(ctx: InferContext) -> Sequence[TensorShape]:
    _check_unit(ctx)
    return like_strings(ctx)


def _substrings(ctx: InferContext) -> Sequence[TensorShape]:
    require_string(ctx, 0)
    _check_unit(ctx)
    if not ctx.inputs[1].shape.is_compatible_with(ctx.inputs[2].shape):
        raise ValueError(f"Substr: pos and len have one shape, got {ctx.inputs[1].shape} and {ctx.inputs[2].shape}")
    return [broadcast(ctx, 0, 1)]


def _part(value: bytes, position: int, count: int, by_character: bool) -> bytes:
    starts = [*_starts(value), len(value)] if by_character else range(len(value) + 1)
    size = len(starts) - 1
    if not -size <= position <= size:
        raise InvalidArgumentError(f"Substr: position {position} is outside a string of length {size}: {value!r:.100}")
    first = position + size if position < 0 else position
    if count < 0:
        count = 0 if by_character else size
    last = min(size, first + count)
    return value[starts[first] : starts[last]]


def _substr_kernel(ctx: KernelContext) -> Kernel:
    by_character = ctx.attrs["unit"] == "UTF8_CHAR"

    def parts(value: Any, position: Any, count: Any) -> Any:
        if np.shape(position) != np.shape(count):
            raise InvalidArgumentError(
                f"Substr: pos and len have one shape, got {list(np.shape(position))} and {list(np.shape(count))}"
            )
        try:
            texts, firsts, counts = np.broadcast_arrays(boxed(value), position, count)
        except ValueError:
            raise InvalidArgumentError(
                f"Substr cannot broadcast strings of shape {list(np.shape(boxed(value)))} with "
                f"positions of shape {list(np.shape(position))}"
            ) from None
        triples = zip(texts.flat, firsts.flat, counts.flat, strict=True)
        cut = [_part(text, int(first), int(n), by_character) for text, first, n in triples]
        return string_array(cut, texts.shape)

    return parts


def _counter(ctx: KernelContext) -> Callable[[bytes], int]:
    return len if ctx.attrs["unit"] == "BYTE" else _characters


op("StringLength", _lengths, kernel=per_string(_counter), grad=NOT_DIFFERENTIABLE)
op("Substr", _substrings, kernel=_substr_kernel, grad=NOT_DIFFERENTIABLE)


# -- base64 ----------------------------------------------------------------------------------------


def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """Return each string in web-safe base64.

    Args:
        input: strings.
        pad: whether the last group of four is padded with ``=``.
    """
    return raw.EncodeBase64(convert_to_tensor(input, string), pad=bool(pad), name=name)


def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """Decode each string from web-safe base64, padded or not.

    At run time an InvalidArgumentError is raised for invalid base64.
    """
    return raw.DecodeBase64(convert_to_tensor(input, string), name=name)


def _encoder(ctx: KernelContext) -> Callable[[bytes], bytes]:
    encode = base64.urlsafe_b64encode
    return encode if ctx.attrs["pad"] else lambda value: encode(value).rstrip(b"=")


_PLAIN = bytes(itertools.chain(range(48, 58), range(65, 91), range(97, 123))) + b"-_"


def _decoded(value: bytes) -> bytes:
    bare = value.rstrip(b"=")
    padding = len(value) - len(bare)
    fits = len(bare) % 4 != 1 and (not padding or (padding <= 2 and len(value) % 4 == 0))
    if not fits or bare.strip(_PLAIN):
        raise InvalidArgumentError(f"no web-safe base64: {value!r:.100}")
    try:
        return base64.urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))
    except binascii.Error as error:
        raise InvalidArgumentError(f"no web-safe base64 ({error}): {value!r:.100}") from None


op("EncodeBase64", like_strings, kernel=per_string(_encoder), grad=NOT_DIFFERENTIABLE)
op("DecodeBase64", like_strings, lambda value: each(_decoded, value), NOT_DIFFERENTIABLE)


# -- encodings -------------------------------------------------------------------------------------


def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return each string in another encoding.

    Args:
        input: strings.
        input_encoding: encoding of the input, a name known to Python.
        output_encoding: ``UTF-8``, ``UTF-16-BE`` or ``UTF-32-BE``.
        errors: treatment of invalid bytes: ``replace``, ``ignore`` or ``strict``.
        replacement_char: code point that replaces invalid bytes.
        replace_control_characters: whether it also replaces the code points below 32.
    """
    return raw.UnicodeTranscode(
        convert_to_tensor(input, string),
        input_encoding=input_encoding,
        output_encoding=output_encoding,
        errors=errors,
        replacement_char=int(replacement_char),
        replace_control_characters=bool(replace_control_characters),
        name=name,
    )


_OUTPUTS = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}
_CONTROL = range(32)


def encodings(ctx: InferContext | KernelContext, key: str) -> str:
    """Return Python's name of the encoding of a result, an attribute.

    Raises:
        ValueError: for another than the three that TensorFlow writes.
    """
    encoding = ctx.attrs[key]
    if encoding not in _OUTPUTS:
        raise ValueError(f"{ctx.op}: {key} is one of {', '.join(_OUTPUTS)}, got {encoding!r:.100}")
    return _OUTPUTS[encoding]


def check_errors(ctx: InferContext) -> None:
    """Raise ValueError unless attribute ``errors`` says what is done about invalid bytes."""
    if ctx.attrs["errors"] not in ("replace", "ignore", "strict"):
        raise ValueError(f"{ctx.op}: errors is replace, ignore or strict, got {ctx.attrs['errors']!r:.100}")


def check_input_encoding(ctx: InferContext) -> None:
    """Raise ValueError for an ``input_encoding`` that is not known."""
    try:
        codecs.lookup(ctx.attrs["input_encoding"])
    except LookupError:
        raise ValueError(f"{ctx.op}: unknown input_encoding {ctx.attrs['input_encoding']!r:.100}") from None


def _transcodings(ctx: InferContext) -> Sequence[TensorShape]:
    encodings(ctx, "output_encoding")
    check_errors(ctx)
    check_input_encoding(ctx)
    return like_strings(ctx)


def _transcoder(ctx: KernelContext) -> Callable[[bytes], bytes]:
    source, errors = ctx.attrs["input_encoding"], ctx.attrs["errors"]
    target, stand_in = encodings(ctx, "output_encoding"), chr(ctx.attrs["replacement_char"])
    replaced = _CONTROL if ctx.attrs["replace_control_characters"] else ()
    table: dict[int, str] = dict.fromkeys(replaced, stand_in)
    if stand_in != "\ufffd":
        table[0xFFFD] = stand_in

    def transcode(value: bytes) -> bytes:
        try:
            return value.decode(source, errors).translate(table).encode(target)
        except UnicodeError as error:
            raise InvalidArgumentError(f"no {source}: {value!r:.100} ({error})") from None

    return transcode


op("UnicodeTranscode", _transcodings, kernel=per_string(_transcoder), grad=NOT_DIFFERENTIABLE)
