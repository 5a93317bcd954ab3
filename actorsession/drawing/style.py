"""The colours, letters and widths of drawings, which ``svg``, ``chart`` and ``lanes`` share.

All drawings have the same rules, so that several of them stand in one page. Each has a ground of its own: a
notebook may be dark while the reader's system is light.
"""

from __future__ import annotations

from html import escape
from unicodedata import east_asian_width

from actorsession.drawing.text import fit
from actorsession.terminal_text import visible

__all__ = ["SIZE", "Kinds", "drawing", "legend", "shown", "text_width", "tooltip"]

SIZE = 12
"""Height of letters in pixels."""

# Colours of kinds: edge and ground of a box where it is light, and where it is dark. The first eight go to kinds
# in the order of their appearance; those with a name mean the same everywhere.
_COLOURS = {
    "0": ("#2563a8", "#e3eefa", "#79b0ea", "#17304a"),
    "1": ("#b45f06", "#fdeedb", "#eba659", "#44290c"),
    "2": ("#2f7d4f", "#e2f3e8", "#6fc492", "#15372a"),
    "3": ("#8250b8", "#f1e8fb", "#bf97ec", "#34224b"),
    "4": ("#0f7c86", "#dff4f5", "#5fc4cd", "#0f3a3f"),
    "5": ("#a6407c", "#fae6f1", "#e58bbd", "#461f36"),
    "6": ("#7a6a1c", "#f6f1d3", "#cdbb5d", "#373010"),
    "7": ("#55606e", "#e9edf1", "#a3b0bf", "#2a3139"),
    "error": ("#c02d2d", "#fde7e7", "#f48080", "#4d1a1a"),
    "slow": ("#c2410c", "#ffe8d9", "#fb9a5c", "#4f2410"),
    "muted": ("#a9b1ba", "#f7f8f9", "#5c6570", "#1d2229"),
    "critical": ("#b3261e", "#fbe0de", "#ff8a80", "#4a1512"),
}
_PLAIN = 8
_LIGHT = "ground:#ffffff frame:#f6f8fa line:#c8d0d9 ink:#1f2328 soft:#59636e"
_DARK = "ground:#0f141a frame:#161d26 line:#3a4552 ink:#e6edf3 soft:#9aa6b2"
# Widths of letters relative to their height, in the fonts that systems use for their own texts.
_NARROW, _WIDE = frozenset("iljtfrI.,:;'|!()[]/\\ "), frozenset("mwMW@%")


def _rules() -> str:
    def colours(words: str, column: int) -> str:
        use = dict(word.split(":") for word in words.split())
        rules = [
            f".acts-g{{fill:{use['ground']}}}.acts-f{{fill:{use['frame']};stroke:{use['line']}}}",
            f".acts-b{{fill:{use['ground']};stroke:{use['soft']}}}.acts-t{{fill:{use['ink']}}}",
            f".acts-s{{fill:{use['soft']}}}.acts-a{{stroke:{use['soft']}}}.acts-h{{fill:{use['soft']}}}",
            f".acts-l{{fill:{use['soft']};stroke:{use['ground']}}}.acts-x{{stroke:{use['line']}}}",
        ]
        for name, row in _COLOURS.items():
            edge, ground = row[column : column + 2]
            rules.append(f".acts-b.acts-k{name}{{fill:{ground};stroke:{edge}}}.acts-a.acts-k{name}{{stroke:{edge}}}")
            rules.append(f".acts-h.acts-k{name}{{fill:{edge}}}")
        return "".join(rules)

    fonts = f"font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;font-size:{SIZE}px"
    return (
        f".acts-d{{{fonts}}}.acts-a{{fill:none;stroke-width:1.3}}.acts-b,.acts-f{{stroke-width:1.2}}"
        ".acts-l{font-size:10px;paint-order:stroke;stroke-width:3px}.acts-s{font-size:11px}.acts-m{font-weight:600}"
        ".acts-x{fill:none;stroke-width:1}.acts-kcritical.acts-a,.acts-kcritical.acts-b{stroke-width:2.4}"
        f"{colours(_LIGHT, 0)}@media (prefers-color-scheme:dark){{{colours(_DARK, 2)}}}"
    )


_STYLE = f"<style>{_rules()}</style>"


class Kinds:
    """The colour class of each kind of a drawing, by a name that is known or in the order of appearance."""

    def __init__(self) -> None:
        self.classes: dict[str, str] = {}

    def css(self, kind: str) -> str:
        """Return what follows the class of a shape: "" for no kind."""
        if not kind:
            return ""
        if kind not in self.classes:
            others = sum(css.isdigit() for css in self.classes.values())
            named = kind in _COLOURS and not kind.isdigit()
            self.classes[kind] = kind if named else str(others % _PLAIN)
        return f" acts-k{self.classes[kind]}"


def drawing(width: float, height: float, parts: list[str], caption: str = "") -> str:
    """Return the whole text of a drawing.

    Args:
        width: in pixels; a page may show it smaller.
        height: likewise.
        parts: its shapes.
        caption: what it shows, for readers who do not see it.
    """
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    begin = f'<svg xmlns="http://www.w3.org/2000/svg" class="acts-d" role="img" aria-label="{shown(caption)}" {size}>'
    ground = f'<rect class="acts-g" width="{width:.0f}" height="{height:.0f}" rx="6"/>'
    return "".join([begin, _STYLE, ground, *parts, "</svg>"])


def legend(kinds: Kinds, x: float, y: float) -> tuple[list[str], float]:
    """Return the shapes of a line that explains the colours, and its width."""
    parts = []
    for kind, css in kinds.classes.items():
        parts.append(f'<rect class="acts-b acts-k{css}" x="{x:.0f}" y="{y - 9:.0f}" width="12" height="10" rx="2"/>')
        parts.append(f'<text class="acts-s" x="{x + 17:.0f}" y="{y:.0f}">{shown(fit(kind, 40))}</text>')
        x += 17 + text_width(fit(kind, 40)) + 16
    return parts, x


def text_width(text: str) -> float:
    """Return about how wide a text is, rather too wide than too narrow."""
    width = 0.0
    for sign in text:
        if sign in _NARROW:
            width += 0.36
        elif sign in _WIDE or east_asian_width(sign) in "WF":
            width += 1.0
        else:
            width += 0.7 if sign.isupper() else 0.6
    return width * SIZE


def shown(text: str) -> str:
    """Return a text as it stands in a document."""
    return escape(visible(text))


def tooltip(text: str) -> str:
    """Return the element with the text that appears at the pointer; "" for none."""
    lines = "&#10;".join(shown(line) for line in text.split("\n"))
    return f"<title>{lines}</title>" if text else ""
