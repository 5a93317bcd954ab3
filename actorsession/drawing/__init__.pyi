# Written by scripts/generated.py.
"""Pictures, tables and fragments of HTML, for people who look at graphs, steps and counters.

A ``Picture`` is boxes and arrows, which become SVG or the language of Graphviz; ``chart`` draws curves and
``lanes`` what ran when; ``html`` and ``text`` lay out tables. Everything that is shown passes ``visible`` and
is escaped here, so that callers give names and messages as they are. Nothing here knows of graphs or
sessions: the packages above choose what to show. It imports only helpers such as ``records``; what draws is
imported when something is drawn.
"""

from actorsession.drawing.layout import Layout as Layout, Place as Place, lay_out as lay_out
from actorsession.drawing.picture import Arrow as Arrow, Box as Box, Picture as Picture


__all__ = [
"Arrow", "Box", "Layout", "Picture", "Place", "lay_out"
]
