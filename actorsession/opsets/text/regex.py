"""Regular expressions on strings: ``regex_replace`` and ``regex_full_match``.

Patterns have RE2's syntax: ``regex_patterns`` parses them and ``regex_programs`` runs them, in time linear in
the text. A pattern that is a plain string becomes an attribute of the node, as in TensorFlow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import string
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import ANY_INPUT, NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import op
from actorsession.opsets.text.kernels import each, each_number, joined, like_strings, one_string, require_string
from actorsession.opsets.text.regex_programs import Expression, compiled

__all__ = ["regex_full_match", "regex_replace"]


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    """Replace the matches of a pattern in each string.

    Args:
        input: strings.
        pattern: a regular expression of RE2.
        rewrite: the replacement; ``\\\\1`` to ``\\\\9`` stand for groups, ``\\\\0`` for the whole.
        replace_global: whether all matches are replaced, or only the first.

    Returns:
        The strings. At run time an InvalidArgumentError is raised for an invalid pattern.
    """
    value, everywhere = convert_to_tensor(input, string), bool(replace_global)
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return raw.StaticRegexReplace(value, pattern=pattern, rewrite=rewrite, replace_global=everywhere, name=name)
    with value.graph.name_scope(name or "RegexReplace") as scope:
        expression = convert_to_tensor(pattern, string, "pattern", graph=value.graph)
        replacement = convert_to_tensor(rewrite, string, "rewrite", graph=value.graph)
        return raw.RegexReplace(value, expression, replacement, replace_global=everywhere, name=scope)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Return whether the whole of each string matches a pattern; arguments as for ``regex_replace``."""
    value = convert_to_tensor(input, string)
    if isinstance(pattern, (str, bytes)):
        return raw.StaticRegexFullMatch(value, pattern=pattern, name=name)
    with value.graph.name_scope(name or "RegexFullMatch") as scope:
        expression = convert_to_tensor(pattern, string, "pattern", graph=value.graph)
        return raw.RegexFullMatch(value, expression, name=scope)


# -- one string ------------------------------------------------------------------------------------


def _replaced(expression: Expression, rewrite: list[bytes | int], once: bool, value: bytes) -> bytes:
    out: list[bytes] = []
    end = 0
    for match in expression.search(value):
        out.append(value[end : match[0]])
        # A group without text begins and ends at -1, which selects an empty slice.
        out.extend([value[match[2 * p] : match[2 * p + 1]] if isinstance(p, int) else p for p in rewrite])
        end = match[1]
        if once:
            break
    return joined(b"", [[*out, value[end:]]], "RegexReplace")[0] if out else value


def _parts(rewrite: bytes, groups: int) -> list[bytes | int]:
    """Return the components of a rewrite: text, and numbers of groups."""
    parts: list[bytes | int] = []
    for piece in re.findall(rb"\\.?|[^\\]+", rewrite, re.DOTALL):
        if not piece.startswith(b"\\"):
            parts.append(piece)
        elif piece == b"\\\\":
            parts.append(b"\\")
        elif piece[1:].isdigit() and int(piece[1:]) <= groups:
            parts.append(int(piece[1:]))
        else:
            raise InvalidArgumentError(
                f"Invalid rewrite: {rewrite!r:.200}: {piece.decode(errors='replace')} is no group; the "
                f"pattern has {groups}"
            )
    return parts


# -- op types --------------------------------------------------------------------------------------


def _with_patterns(ctx: InferContext) -> Sequence[TensorShape]:
    require_string(ctx, *range(1, len(ctx.inputs)), rank=0)
    return like_strings(ctx)


def _replace_all(value: Any, pattern: bytes, rewrite: bytes, once: bool) -> Any:
    expression = compiled(pattern)
    parts = _parts(rewrite, expression.groups)
    return each(lambda v: _replaced(expression, parts, once, v), value)


def _match_all(value: Any, pattern: bytes) -> Any:
    return each_number(compiled(pattern).matches, value, np.dtype(np.bool_))


def _replace_kernel(ctx: KernelContext) -> Kernel:
    once = not ctx.attrs["replace_global"]
    if ctx.op == "RegexReplace":
        return lambda value, pattern, rewrite: _replace_all(value, one_string(pattern), one_string(rewrite), once)
    pattern, rewrite = ctx.attrs["pattern"].encode(), ctx.attrs["rewrite"].encode()
    return lambda value: _replace_all(value, pattern, rewrite, once)


def _match_kernel(ctx: KernelContext) -> Kernel:
    if ctx.op == "RegexFullMatch":
        return lambda value, pattern: _match_all(value, one_string(pattern))
    pattern = ctx.attrs["pattern"].encode()
    return lambda value: _match_all(value, pattern)


for _name in ("RegexReplace", "StaticRegexReplace"):
    op(_name, _with_patterns, None, NOT_DIFFERENTIABLE, kernel=_replace_kernel, sized_by=ANY_INPUT)
for _name in ("RegexFullMatch", "StaticRegexFullMatch"):
    op(_name, _with_patterns, None, NOT_DIFFERENTIABLE, kernel=_match_kernel, sized_by=ANY_INPUT)
