"""``tf.train.queue_runner``: the former module of queue runners."""

from __future__ import annotations

from actorsession.train import QueueRunner, add_queue_runner, start_queue_runners

__all__ = ["QueueRunner", "add_queue_runner", "start_queue_runners"]
