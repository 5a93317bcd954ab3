"""Regular expressions: the syntax, errors and matches of RE2 as TensorFlow 2.21 has them, in linear time."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import Graph, TensorShape, strings
from actorsession.errors import InvalidArgumentError
from actorsession.opsets.text.regex_programs import BLOCK, MOST_STATES, Expression, compiled
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each, refused


@for_each(
    "pattern, error",
    [
        ("(", "missing ): ("), ("((((", "missing ): (((("), ("(?:", "missing ): (?:"),
        ("a)", "unexpected ): a)"), ("*a", "no argument for repetition operator: *"),
        ("a|*", "no argument for repetition operator: *"), ("(*)", "no argument for repetition operator: *"),
        ("a**", "bad repetition operator: **"), ("a*?*", "bad repetition operator: *?*"),
        ("x{2}{3}", "bad repetition operator: {2}{3}"), ("[a", "missing ]: [a"), ("[]", "missing ]: []"),
        ("a{1001}", "invalid repetition size: {1001}"), ("a{2,1}", "invalid repetition size: {2,1}"),
        ("(a{100}){100}", "invalid repetition size: {100}"), ("a\\", "trailing \\"),
        (r"\8", r"invalid escape sequence: \8"), (r"(a)\1", r"invalid escape sequence: \1"),
        (r"\Z", r"invalid escape sequence: \Z"), (r"\é", r"invalid escape sequence: \é"),
        (r"\x4", r"invalid escape sequence: \x4"), (r"\xzz", r"invalid escape sequence: \xzz"),
        (r"\x{110000}", r"invalid escape sequence: \x{110000"),
        ("[z-a]", "invalid character class range: z-a"),
        ("[[:no:]]", "invalid character class range: [:no:]"),
        ("[[:alpha::]]", "invalid character class range: [:alpha::]"),
        (r"\pX", r"invalid character class range: \pX"), (r"[a-\d]", r"invalid escape sequence: \d"),
        ("(?=a)", "invalid perl operator: (?="), ("(?<n>a)", "invalid perl operator: (?<"),
        ("(?P=n)", "invalid perl operator: (?P"), ("(?", "invalid perl operator: (?"),
        ("(?i", "invalid perl operator: (?i"), ("(?z)", "invalid perl operator: (?z"),
        ("(?i-:a)", "invalid perl operator: (?i-:"), ("(?--i)", "invalid perl operator: (?--"),
        ("(?P<n", "invalid named capture group: (?P<n"),
    ],
)  # fmt: skip
def test_what_is_no_pattern_is_refused_in_the_words_of_re2(pattern: str, error: str) -> None:
    with pytest.raises(InvalidArgumentError) as found:
        compiled(pattern.encode())
    assert found.value.message == f"Invalid pattern: {pattern}, error: {error}"


def test_a_pattern_is_text_of_some_size() -> None:
    refused(lambda: compiled(b"\xff"), InvalidArgumentError, "invalid UTF-8")
    refused(lambda: compiled(rb"\pL{1000}"), InvalidArgumentError, "pattern too large")
    refused(lambda: compiled(b"(" * 999 + b")*" * 999), InvalidArgumentError, "nests too deeply")


@for_each(
    "pattern, text, replaced",
    [
        ("a{2,3}", "aaaa", "<aaa>a"), ("a{,2}", "a{,2}", "<a{,2}>"), ("(?:ab)+", "xababy", "x<abab>y"),
        (r"\s+", "a\t\v", "a<\t>\v"), (r"\d[^\d]", "12x", "1<2x>"), ("[]a]+", "x]a]", "x<]a]>"),
        ("[^[:digit:]]", "1a", "1<a>"), ("(?P<n>b)", "ab", "a<b>"), ("(?i)AB", "xab", "x<ab>"),
        ("(?s)a.b", "a\nb", "<a\nb>"), (r"b\z", "bab", "ba<b>"), (r"\bb", "ab b", "ab <b>"),
        (r"\x41", "BA", "B<A>"), ("a+?", "aaa", "<a><a><a>"), (r"[\w-]+", "é a-b", "é <a-b>"),
        (r"\.\*", "a.*", "a<.*>"), (r"\W", "aé", "a<é>"), (r"\D\S", "1ab", "1<ab>"),
        ("(a(?i:b))?c", "aBc", "<aBc>"), (r"\Q*\E", "a*", "a<*>"), (r"\pL", "aé1", "<a><é>1"),
        (r"[^\PN]", "a1", "a<1>"), (r"\p{^L}", "a1", "a<1>"), ("(?U)a+", "aab", "<a><a>b"),
        ("(?m)^", "a\nb", "<>a\n<>b"), ("$", "a\n", "a\n<>"), ("a|ab", "ab", "<a>b"), ("", "aé", "<>a<>é<>"),
        ("x*", "abc", "<>a<>b<>c<>"), ("^ab", "abab", "<ab>ab"), (r"\b", "a b", "<>a<> <>b<>"),
        (".+", "ab\ncd", "<ab>\n<cd>"), (r"\07", "\a", "<\a>"),
        ("(?i)[sk]", "\u017f\u212a", "<\u017f><\u212a>"),
        (r"[\d-z]", "-a", "<->a"), ("(?-s).", "\na", "\n<a>"), ("[^é]", "éa", "é<a>"),
    ],
)  # fmt: skip
def test_patterns_match_what_they_match_in_tensorflow(pattern: str, text: str, replaced: str) -> None:
    assert _replaced(pattern, r"<\0>", text.encode()) == replaced.encode()


@for_each(
    "pattern, text, replaced",
    [
        ("(a*)+", "baac", "<>b<aa>c<>"),
        ("(a|b*)*", "baac", "<a>c<>"),
        ("(|x)*", "xx", "<>x<>x<>"),
        ("(|x)+", "xx", "<>x<>x<>"),
        ("(x|)*?", "xx", "<>x<>x<>"),
        ("(b)|(?:c)", "abc", "a<b><>"),
        ("(a|ab)(?:c|bcd)*", "abcd", "<a>"),
    ],
)
def test_groups_capture_what_they_capture_in_tensorflow(pattern: str, text: str, replaced: str) -> None:
    assert _replaced(pattern, r"<\1>", text.encode()) == replaced.encode()


@for_each(
    "pattern, text, replaced",
    [
        (".", b"a\xc3", b"<>\xc3"),
        (".", b"a\xffb", b"<>\xff<>"),
        ("", b"a\xffb", b"<>a<>\xff<>b<>"),
        (r"\C", b"\xc3\xa9", b"<><>"),
        (r"\C", b"\xff", b"<>"),
    ],
)
def test_bytes_that_are_no_utf_8_are_no_characters(pattern: str, text: bytes, replaced: bytes) -> None:
    assert _replaced(pattern, "<>", text) == replaced


def _replaced(pattern: str, rewrite: str, text: bytes) -> bytes:
    with Graph().as_default():
        (found,) = evaluate([strings.regex_replace(text, pattern, rewrite)])
    assert isinstance(found, bytes)
    return found


_PATTERNS = st.recursive(
    st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", r"\w", r"\b", "^", "(?:)", "(?m:$)"]),
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("({}|{})".format, inner, inner),
        # What may be empty is repeated otherwise by Python.
        st.builds("({}x){}".format, inner, st.sampled_from(["*", "+?", "??", "{2}", "{1,3}", "{0,2}?"])),
    ),
    max_leaves=8,
)


@given(_PATTERNS, st.text("abcx\n ", max_size=12))
def test_matches_are_those_of_a_backtracking_engine(pattern: str, text: str) -> None:
    ours, theirs = Expression(pattern.encode()), re.compile(pattern, re.ASCII)
    assert ours.matches(text.encode()) == (theirs.fullmatch(text) is not None)
    first = theirs.search(text)
    found = next(ours.search(text.encode()), None)
    assert (found is None) == (first is None)
    if found is not None and first is not None:
        spans = list(zip(found[::2], found[1::2], strict=True))
        assert spans == [first.span(i) for i in range(theirs.groups + 1)]


@for_each("pattern", ["a*a*a*a*a*a*a*a*b", "(a+)+b", "(a|a)*b", "(a*)*b", "(a?){50}a{50}b", "(.|a)*b"])
def test_a_pattern_that_goes_back_elsewhere_takes_one_turn_for_each_byte(pattern: str) -> None:
    """400 characters of the first take Python's engine years."""
    expression = Expression(pattern.encode())
    assert not expression.matches(b"a" * 100_000)
    assert list(expression.search(b"a" * 100_000)) == []
    assert expression.matches(b"a" * 99_999 + b"b") or "{" in pattern


def test_what_a_long_search_keeps_is_bounded() -> None:
    """A text whose places are all unlike, in blocks: states are dropped and made again."""
    draw = random.Random(1)
    text = "".join(draw.choices("ab", k=2 * BLOCK))
    assert len({text[at : at + 14] for at in range(len(text))}) > MOST_STATES
    expression = Expression(b"a(a|b){14}a")
    spans = [tuple(span[:2]) for span in expression.search(text.encode())]
    assert spans == [m.span() for m in re.finditer("a(a|b){14}a", text)]
    assert len(expression._anywhere._states) <= MOST_STATES


def test_a_match_may_be_longer_than_a_block() -> None:
    length = 3 * BLOCK
    matches = list(Expression(b"b(a*)b").search(b"ab" + b"a" * length + b"bab"))
    assert matches == [[1, length + 3, 2, length + 2]]


@pytest.mark.parametrize("rewrite", [r"\1", r"\q", "\\"])
def test_a_rewrite_names_groups_that_are_there(rewrite: str) -> None:
    replaced = strings.regex_replace("aa", "a", rewrite)
    refused(lambda: evaluate([replaced]), InvalidArgumentError, "is no group")


def test_a_pattern_that_is_a_tensor_is_read_in_each_step() -> None:
    pattern = source("string", [])
    replaced = strings.regex_replace(["ab"], pattern, "x")
    assert replaced.op.type == "RegexReplace"
    assert replaced.shape == TensorShape([1])
    assert evaluate([replaced], {pattern: b"a"})[0].tolist() == [b"xb"]
    assert evaluate([replaced], {pattern: b"b"})[0].tolist() == [b"ax"]
