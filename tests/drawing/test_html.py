"""Fragments of HTML, tables of text and quantities."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from actorsession.drawing import html, text

HOSTILE = '<script>alert("1")</script>\x1b[2J'


class Reader(HTMLParser):
    """Collects tags and text, and holds that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag not in ("br", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


def read(source: str) -> Reader:
    reader = Reader()
    reader.feed(source)
    reader.close()
    assert not reader.open
    return reader


def test_every_value_of_a_page_is_text() -> None:
    everything = html.page(
        HOSTILE,
        HOSTILE,
        html.section(HOSTILE, HOSTILE, is_open=False),
        html.table([HOSTILE], [[HOSTILE], [1]]),
        html.definition({HOSTILE: HOSTILE}),
    )
    for whole in (everything, html.document(HOSTILE, everything)):
        reader = read(whole)
        assert "script" not in reader.tags
        assert reader.text.count('<script>alert("1")</script>\\x1b[2J') >= 8


def test_parts_that_are_html_stay_and_lines_break() -> None:
    assert html.value("a\nb") == "a<br>b"
    assert html.value(html.value("<")) == "&lt;"
    assert html.section("t", html.figure("<svg></svg>")) == (
        '<details open><summary>t</summary><div class="scroll"><svg></svg></div></details>'
    )


def test_a_table_aligns_numbers_and_says_what_it_leaves_out() -> None:
    shown = html.table(["name", "n"], [["a", 1], ["b", "20 MiB"], ["c", "-"]], limit=2)
    assert shown.count("<td class=n>") == 2
    assert shown.count("<th class=n>") == 1
    assert read(shown).text == "namena1b20 MiB1 more rows are left out."


def test_a_table_of_text_aligns_its_columns() -> None:
    rows = [("TASK", "STEPS", "LAG"), ("worker\x1b", 12, 0.5), ("ps", 3)]
    assert text.table(rows, 1, "  ") == ["  TASK        STEPS  LAG", "  worker\\x1b     12  0.5", "  ps              3"]
    assert text.table([]) == []


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (text.byte_size(0), "0 B"),
        (text.byte_size(1023), "1023 B"),
        (text.byte_size(1024), "1.0 KiB"),
        (text.byte_size(1_048_575), "1.0 MiB"),
        (text.byte_size(300 * 2**20), "300 MiB"),
        (text.byte_size(5000 * 2**40), "5000 TiB"),
        (text.duration(0), "0 us"),
        (text.duration(12.3e-6), "12.3 us"),
        (text.duration(0.9999e-3), "1 ms"),
        (text.duration(0.05), "50 ms"),
        (text.duration(12.34), "12.3 s"),
        (text.duration(12345), "12345 s"),
        (text.percent(1, 3), "33 %"),
        (text.percent(1, 0), "-"),
    ],
)
def test_quantities_have_three_digits_and_a_unit(shown: str, expected: str) -> None:
    assert shown == expected
