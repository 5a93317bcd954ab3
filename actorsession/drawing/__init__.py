"""Pictures, tables and fragments of HTML, for people who look at graphs, steps and counters.

A ``Picture`` is boxes and arrows, which become SVG or the language of Graphviz; ``chart`` draws curves and
``lanes`` what ran when; ``html`` and ``text`` lay out tables. Everything that is shown passes ``visible`` and
is escaped here, so that callers give names and messages as they are. Nothing here knows of graphs or
sessions: the packages above choose what to show. It imports only helpers such as ``records``; what draws is
imported when something is drawn.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {".layout": "Layout Place lay_out", ".picture": "Arrow Box Picture"}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
