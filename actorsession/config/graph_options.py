"""The planning of graphs: ``GraphOptions`` and its optimisations, with TensorFlow's names.

Frozen values, a part of ``ConfigProto``; see ``session``.
"""

from __future__ import annotations

import enum
from dataclasses import field
from typing import Any

from actorsession.config.wire import at_least, check_types, one_of, reject, to_wire
from actorsession.errors import InvalidArgumentError
from actorsession.records import changed_fields, dataclass

__all__ = ["GraphOptions", "JitLevel", "OptLevel", "OptimizerOptions"]


class OptLevel(enum.IntEnum):
    """The level of optimisation of graphs before they are run."""

    L1 = 0
    L0 = -1


class JitLevel(enum.IntEnum):
    """The level of just-in-time compilation; ``ON_1`` and ``ON_2`` are the same here."""

    DEFAULT = 0
    OFF = -1
    ON_1 = 1
    ON_2 = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerOptions:
    """The optimisations of a graph when a run is planned.

    Attributes:
        do_common_subexpression_elimination: compute equal expressions once; always done at level ``L1``.
        do_constant_folding: compute what depends on constants alone when a run is planned; always done at
            level ``L1``.
        max_folded_constant_in_bytes: largest folded value; 0 for 10 MiB.
        opt_level: ``L1`` (the default) for all of them, ``L0`` for those that are named.
        global_jit_level: above ``OFF``, devices that bring a compiler have it compile nodes that ran often; see
            docs/devices.md. The device ``CPU`` has none.
        cpu_global_jit: refused for that reason.
    """

    do_common_subexpression_elimination: bool = False
    do_constant_folding: bool = False
    max_folded_constant_in_bytes: int = 0
    opt_level: OptLevel = OptLevel.L1
    global_jit_level: JitLevel = JitLevel.DEFAULT
    cpu_global_jit: bool = False

    __repr__ = changed_fields

    def __post_init__(self) -> None:
        check_types(self)
        at_least(0, "max_folded_constant_in_bytes", self.max_folded_constant_in_bytes)
        _as_member(self, "opt_level", OptLevel)
        _as_member(self, "global_jit_level", JitLevel)
        reject(
            "cpu_global_jit",
            self.cpu_global_jit,
            (False,),
            "the kernels of the CPU are numpy's, which nothing compiles; global_jit_level is for other devices",
        )

    @property
    def compiles(self) -> bool:
        """Whether devices that bring a compiler use it."""
        return self.global_jit_level > JitLevel.DEFAULT

    def to_wire(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return to_wire(self)


def _as_member(settings: Any, name: str, kind: type[enum.IntEnum]) -> None:
    """Convert a plain number to a member of its enumeration."""
    value = getattr(settings, name)
    try:
        object.__setattr__(settings, name, kind(value))
    except ValueError:
        members = ", ".join(f"{m.name}={m.value}" for m in kind)
        raise InvalidArgumentError(f"{name} must be one of {members}, got {value!r}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOptions:
    """The planning of graphs.

    Attributes:
        optimizer_options: the optimisations.
        build_cost_model: every n-th run of a plan adds its times and sizes to the session's cost model; 0
            for no model; refused for remote sessions.
        build_cost_model_after: runs of each plan to leave out before that, while caches are cold.
        infer_shapes: attach the inferred shape of each output to the partition graphs that a run reports,
            as attribute ``_output_shapes``. Shapes are inferred in any case.
        place_pruned_graph: place only the nodes that a run needs, so that an invalid device on another node
            is not an error.
        enable_bfloat16_sendrecv: send float32 tensors from task to task as bfloat16, at half the bytes and
            8 bits of precision; nothing changes within one task.
        timeline_step: record the timeline of every ``timeline_step``-th step; 0 for none.
        enable_recv_scheduling: refused: values are pushed as soon as they exist.
        rewrite_options: refused: there is no other optimiser than the one of ``optimizer_options``.
    """

    optimizer_options: OptimizerOptions = field(default_factory=OptimizerOptions, metadata=one_of(OptimizerOptions))
    build_cost_model: int = 0
    build_cost_model_after: int = 0
    infer_shapes: bool = False
    place_pruned_graph: bool = False
    enable_bfloat16_sendrecv: bool = False
    timeline_step: int = 0
    enable_recv_scheduling: bool = False
    rewrite_options: Any = None

    __repr__ = changed_fields

    def __post_init__(self) -> None:
        check_types(self)
        for name in ("build_cost_model", "build_cost_model_after", "timeline_step"):
            at_least(0, name, getattr(self, name))
        reject(
            "enable_recv_scheduling",
            self.enable_recv_scheduling,
            (False,),
            "a tensor is pushed to its consumer as soon as it exists, so there is no receive to schedule",
        )
        reject(
            "rewrite_options",
            self.rewrite_options,
            (None,),
            "there is no Grappler here; optimizer_options chooses how graphs are rewritten",
        )

    def to_wire(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return to_wire(self)
