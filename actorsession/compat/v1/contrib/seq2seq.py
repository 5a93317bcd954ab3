"""``tf.contrib.seq2seq``: only the loss; decoders and attention are not included."""

from __future__ import annotations

from actorsession.compat.v1.recurrent.sequences import sequence_loss

__all__ = ["sequence_loss"]
