"""Pictures as SVG and for Graphviz: whole by themselves, with every text as text."""

from __future__ import annotations

import re
import shutil
import subprocess
from xml.etree import ElementTree

import pytest

from actorsession.drawing import Arrow, Box, Picture, style, text

Kinds, fit = style.Kinds, text.fit

HOSTILE = '<script>alert("1")</script>&\\" \x00\u202e\n'
EVERYWHERE = Picture(
    (
        Box(HOSTILE, (HOSTILE,), (HOSTILE, HOSTILE), HOSTILE, HOSTILE),
        Box("b", (), (HOSTILE,), "error"),
        Box("c", label=HOSTILE),
    ),
    (Arrow(HOSTILE, "b", HOSTILE, HOSTILE, HOSTILE), Arrow("b", "b"), Arrow("b", HOSTILE)),
    HOSTILE,
)
SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: Picture, *tags: str) -> list[str]:
    root = ElementTree.fromstring(picture.svg())
    return ["".join(element.itertext()) for tag in tags for element in root.iter(f"{SVG}{tag}")]


def test_every_text_of_a_picture_is_text() -> None:
    root = ElementTree.fromstring(EVERYWHERE.svg())
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == {
        "svg", "style", "rect", "g", "path", "text", "title",
    }  # fmt: skip
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)
    titles = texts(EVERYWHERE, "title")
    assert all("\x00" not in title and "\u202e" not in title for title in titles)
    assert any("<script>" in title and r"\x00\u202e" in title for title in titles)


def test_a_picture_refers_to_nothing() -> None:
    svg = EVERYWHERE.svg()
    assert not re.search(r"href|url\(|@import|\bid=|<script", svg)
    assert svg.count("http") == 1  # the name space
    assert "@media (prefers-color-scheme:dark)" in svg
    assert EVERYWHERE._repr_svg_() == svg


def test_what_a_box_says_is_in_it_and_long_names_are_whole_at_the_pointer() -> None:
    long = "scope/" * 20 + "MatMul"
    picture = Picture((Box(long, ("float32", "[3]")), Box("b", title="told")), (Arrow(long, "b", "x:0"),))
    assert texts(picture, "text") == [fit(long, 34), "float32", "[3]", "b", "x:0"]
    assert texts(picture, "title") == [f"{long} → b\nx:0", f"{long}\nfloat32\n[3]", "told"]
    assert fit(long, 34).startswith("scope/")
    assert fit(long, 34).endswith("MatMul")
    assert len(fit(long, 34)) == 34


def test_a_legend_names_the_kinds_and_frames_have_their_titles() -> None:
    boxes = (Box("a", kind="one", group=("task", "cpu")), Box("b", kind="two"))
    picture = Picture(boxes, (Arrow("a", "b", kind="way"),))
    assert texts(picture, "text") == ["task", "cpu", "a", "b", "one", "two", "way"]


def test_kinds_have_colours_by_name_or_in_the_order_of_appearance() -> None:
    kinds = Kinds()
    assert [kinds.css(kind) for kind in ("x", "error", "0", "x", "")] == [
        " acts-k0", " acts-kerror", " acts-k1", " acts-k0", "",
    ]  # fmt: skip
    assert kinds.css('"') == " acts-k2"


def test_labels_that_would_cover_each_other_are_left_to_the_pointer() -> None:
    crowd = [f"a long label {number}" for number in range(40)]
    boxes = (Box("a"), Box("b"))
    picture = Picture(boxes, tuple(Arrow("a", "b", label) for label in crowd))
    assert 1 <= len(texts(picture, "text")) - 2 <= 5
    assert sum("a long label" in title for title in texts(picture, "title")) == 40


@pytest.mark.parametrize("draw", [Picture.svg, Picture.dot], ids=["svg", "dot"])
def test_a_picture_with_unknown_or_repeated_names_is_refused(draw) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match="two boxes of a picture are called 'a'"):
        draw(Picture((Box("a"), Box("a"))))
    with pytest.raises(ValueError, match="an arrow from 'a' to 'b': there is no box 'b'"):
        draw(Picture((Box("a"),), (Arrow("a", "b"),)))


def test_graphviz_gets_clusters_and_quoted_texts() -> None:
    dot = Picture((Box('a"\\', ("l",), ("t", "d")), Box("b")), (Arrow("b", 'a"\\', "x"),), "c").dot()
    assert dot == (
        "digraph {\n"
        '  label="c"; labelloc=t; node [shape=box, style=rounded];\n'
        '  n1 [label="b", tooltip="b"];\n'
        '  subgraph "cluster_0_n0" {\n'
        '    label="t"; tooltip="t";\n'
        '    subgraph "cluster_1_n0" {\n'
        '      label="d"; tooltip="d";\n'
        '      n0 [label="a\\"\\\\\\nl", tooltip="a\\"\\\\"];\n'
        "    }\n"
        "  }\n"
        '  n1 -> n0 [label="x", tooltip="x"];\n'
        "}\n"
    )


@pytest.mark.process
@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_draws_the_picture() -> None:
    drawn = subprocess.run(["dot", "-Tsvg"], input=EVERYWHERE.dot(), capture_output=True, text=True, timeout=60)
    assert drawn.returncode == 0
    assert not drawn.stderr
    assert drawn.stdout.count('class="node"') == 3
    assert drawn.stdout.count('class="cluster"') == 2
    assert "<script" not in drawn.stdout
