"""The sequence of the demo from its first line to its last."""

from __future__ import annotations

from pathlib import Path

from actorsession.actors.loops import run
from actorsession.demo import report
from actorsession.demo.all_reduce import train_with_all_reduce
from actorsession.demo.digits import Digits
from actorsession.demo.distributed import train_on_cluster
from actorsession.demo.interrupt import Interrupts
from actorsession.demo.local import train_locally
from actorsession.demo.places import Variant
from actorsession.demo.progress import Reporter, reporter
from actorsession.demo.training import Lesson
from actorsession.records import dataclass

__all__ = ["Settings", "show"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of the demo.

    Attributes:
        steps: training steps of each lesson.
        workers: processes that train in the second lesson.
        variant: what is trained, and where.
        strategy: how they train together: ``ps`` with a parameter server, ``allreduce`` without one.
        output: an existing folder for the files that are written.
        local_only: whether to skip the second lesson.
        progress: whether to show progress.
    """

    steps: int
    workers: int
    variant: Variant
    strategy: str
    output: Path
    local_only: bool
    progress: bool


def show(digits: Digits, settings: Settings, interrupts: Interrupts) -> list[str]:
    """Train both models, and print and write the results.

    Args:
        digits: the training and test images.
        settings: the settings.
        interrupts: registers what Ctrl-C has to end.

    Returns:
        A line for each model that is not good enough.

    Raises:
        OpError: if a step or a process fails.
        OSError: if a file cannot be written.
    """
    print(f"Learning {len(digits.train_labels)} handwritten digits; {len(digits.test_labels)} more are held out.")
    lessons = run(_lessons(digits, settings, interrupts))
    print(f"\n{report.table(lessons)}\n")
    for event in [event for lesson in lessons for event in lesson.events]:
        print(event)
    print(report.save_trace(lessons, settings.output))
    print(report.save_curves(lessons, settings.output))
    return list(report.failures(lessons))


async def _lessons(digits: Digits, settings: Settings, interrupts: Interrupts) -> list[Lesson]:
    with interrupts.cancelling_this(), reporter(settings.progress) as shown:
        lessons = [await _first(digits, settings, shown)]
        if not settings.local_only:
            lessons.append(await _second(digits, settings, shown, interrupts))
        return lessons


async def _first(digits: Digits, settings: Settings, shown: Reporter) -> Lesson:
    shown.begin("one process", settings.steps)
    return await train_locally(digits, settings.steps, shown.advance, settings.variant)


async def _second(digits: Digits, settings: Settings, shown: Reporter, interrupts: Interrupts) -> Lesson:
    workers = f"{settings.workers} worker{'s' * (settings.workers > 1)}"
    if settings.strategy == "allreduce":
        shown.begin(f"{workers}, all-reduce", settings.steps)
        train = train_with_all_reduce
    else:
        shown.begin(f"1 ps + {workers}", settings.steps)
        train = train_on_cluster
    return await train(
        digits,
        settings.steps,
        settings.workers,
        shown.advance,
        on_start=lambda cluster: interrupts.on_hard_end(cluster.kill_now),
        variant=settings.variant,
    )
