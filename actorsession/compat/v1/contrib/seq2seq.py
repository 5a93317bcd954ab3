"""``tf.contrib.seq2seq``: its loss; decoders and attention are not here."""

from __future__ import annotations

from actorsession.compat.v1.recurrent.sequences import sequence_loss

__all__ = ["sequence_loss"]
