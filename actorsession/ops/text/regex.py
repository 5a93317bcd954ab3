"""Regular expressions on strings: ``regex_replace`` and ``regex_full_match``.

Patterns are RE2's, run by Python's ``re``; ``regex_patterns`` translates them, and refuses what could run for
ever. A pattern that is a plain string becomes an attribute of the node, as in TensorFlow.
"""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import bool_, string
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import (
    NOT_DIFFERENTIABLE,
    REQUIRED,
    InferContext,
    Kernel,
    KernelContext,
    OpDef,
    register,
)
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.text.kernels import (
    each,
    each_number,
    one_string,
    require_string,
    string_unary,
    text_of,
)
from actorsession.ops.text.regex_patterns import compiled

__all__ = ["regex_full_match", "regex_replace"]


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    """Each string with what matches a pattern replaced.

    Args:
        input: strings.
        pattern: a regular expression of RE2.
        rewrite: what takes the place; ``\\\\1`` to ``\\\\9`` stand for groups, ``\\\\0`` for the whole.
        replace_global: whether all matches are replaced, or only the first.
        name: wanted name.

    Returns:
        The strings. InvalidArgumentError at run time for a pattern that is none, or that could take time
        exponential in the text: one with a repetition inside a repeated group.
    """
    attrs = {"replace_global": bool(replace_global)}
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        attrs_static = {"pattern": text_of(pattern), "rewrite": text_of(rewrite), **attrs}
        return string_unary("StaticRegexReplace", input, name, attrs_static)
    value = convert_to_tensor(input, string)
    with value.graph.name_scope(name or "RegexReplace") as scope:
        operands = [
            value,
            convert_to_tensor(pattern, string, "pattern", graph=value.graph),
            convert_to_tensor(rewrite, string, "rewrite", graph=value.graph),
        ]
        return make_one("RegexReplace", operands, attrs, scope)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Whether the whole of each string matches a pattern; arguments as ``regex_replace``."""
    if isinstance(pattern, (str, bytes)):
        attrs = {"pattern": text_of(pattern)}
        return string_unary("StaticRegexFullMatch", input, name, attrs)
    value = convert_to_tensor(input, string)
    with value.graph.name_scope(name or "RegexFullMatch") as scope:
        expression = convert_to_tensor(pattern, string, "pattern", graph=value.graph)
        return make_one("RegexFullMatch", [value, expression], None, scope)


# -- one string ------------------------------------------------------------------------------------

_pattern = functools.lru_cache(maxsize=64)(compiled)


def _replaced(
    pattern: re.Pattern[str], rewrite: list[str | int], once: bool, value: bytes
) -> bytes:
    text = value.decode("utf-8", "surrogateescape")
    out: list[str] = []
    end = 0
    for found in pattern.finditer(text):
        if found.end() == found.start() == end and out:
            continue  # nothing right after a match is no match in RE2
        out.append(text[end : found.start()])
        out.extend((found[p] or "") if isinstance(p, int) else p for p in rewrite)
        end = found.end()
        if once:
            break
    return "".join([*out, text[end:]]).encode("utf-8", "surrogateescape")


def _parts(rewrite: bytes, pattern: re.Pattern[str]) -> list[str | int]:
    """A rewrite taken apart: text, and numbers of groups."""
    parts: list[str | int] = []
    for piece in re.findall(r"\\.?|[^\\]+", rewrite.decode("utf-8", "surrogateescape"), re.DOTALL):
        if not piece.startswith("\\"):
            parts.append(piece)
        elif piece == "\\\\":
            parts.append("\\")
        elif piece[1:].isdecimal() and int(piece[1:]) <= pattern.groups:
            parts.append(int(piece[1:]))
        else:
            raise InvalidArgumentError(
                f"Invalid rewrite: {rewrite!r:.200}: {piece} is no group; the pattern has {pattern.groups}"
            )
    return parts


def _matches(pattern: re.Pattern[str], value: bytes) -> bool:
    return pattern.fullmatch(value.decode("utf-8", "surrogateescape")) is not None


# -- op types --------------------------------------------------------------------------------------


def _infer_replace(ctx: InferContext) -> list[TensorSpec]:
    require_string(ctx, 0)
    require_string(ctx, *range(1, len(ctx.inputs)), rank=0)
    return [TensorSpec(string, ctx.inputs[0].shape)]


def _infer_match(ctx: InferContext) -> list[TensorSpec]:
    [replaced] = _infer_replace(ctx)
    return [TensorSpec(bool_, replaced.shape)]


def _replace_all(value: Any, pattern: bytes, rewrite: bytes, once: bool) -> Any:
    expression = _pattern(pattern)
    parts = _parts(rewrite, expression)
    return each(lambda v: _replaced(expression, parts, once, v), value)


def _match_all(value: Any, pattern: bytes) -> Any:
    expression = _pattern(pattern)
    return each_number(lambda v: _matches(expression, v), value, np.dtype(np.bool_))


def _replace_kernel(ctx: KernelContext) -> Kernel:
    once = not ctx.attrs["replace_global"]
    if ctx.op == "RegexReplace":
        return lambda value, pattern, rewrite: _replace_all(
            value, one_string(pattern), one_string(rewrite), once
        )
    pattern, rewrite = ctx.attrs["pattern"].encode(), ctx.attrs["rewrite"].encode()
    return lambda value: _replace_all(value, pattern, rewrite, once)


def _match_kernel(ctx: KernelContext) -> Kernel:
    if ctx.op == "RegexFullMatch":
        return lambda value, pattern: _match_all(value, one_string(pattern))
    pattern = ctx.attrs["pattern"].encode()
    return lambda value: _match_all(value, pattern)


for _name, _infer, _kernel, _attrs in (
    ("RegexReplace", _infer_replace, _replace_kernel, {"replace_global": True}),
    ("StaticRegexReplace", _infer_replace, _replace_kernel,
     {"pattern": REQUIRED, "rewrite": REQUIRED, "replace_global": True}),
    ("RegexFullMatch", _infer_match, _match_kernel, {}),
    ("StaticRegexFullMatch", _infer_match, _match_kernel, {"pattern": REQUIRED}),
):  # fmt: skip
    register(
        OpDef(
            name=_name, infer=_infer, kernel=_kernel, gradient=NOT_DIFFERENTIABLE, attrs=_attrs
        )
    )  # fmt: skip
