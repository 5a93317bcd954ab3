"""``tf.contrib.staging``: the area that holds values back between two steps."""

from __future__ import annotations

from actorsession.opsets.staging.areas import StagingArea

__all__ = ["StagingArea"]
