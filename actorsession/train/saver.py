"""``Saver``: writes the variables of a session to checkpoints, and reads them back.

Owns what happens around the step that saves: names of checkpoints, which of them are kept, the ``checkpoint``
file beside them, and errors that say what was wrong with a checkpoint. The nodes are ``saver_graph``'s, the
formats those of ``actorsession.checkpoints``.

Tensors are written and read where the session runs them. Everything else here, the ``checkpoint`` file, the
graph and the removal of old checkpoints, happens in the process that calls, so a program with a remote
session shares a file system with its tasks, as with TensorFlow.

A saver has two faces: ``save`` and ``restore`` for a ``Session``, ``save_async`` and ``restore_async`` to be
awaited with an ``AsyncSession``.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from actorsession import checkpoints
from actorsession.errors import InvalidArgumentError, NotFoundError
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.records import dataclass
from actorsession.train.checkpoint_state import (
    DEFAULT_FILENAME,
    checkpoint_exists,
    get_checkpoint_mtimes,
    meta_graph_filename,
    write_state,
)
from actorsession.train.graph_file import write_graph
from actorsession.train.kept_checkpoints import KeptCheckpoints
from actorsession.train.saveable import SaveableObject, saveables_of
from actorsession.train.saver_arguments import check_session, is_symbolic, step_number
from actorsession.train.saver_graph import SaverDef, basename_of, build_saver

__all__ = ["Saver"]

_log = logging.getLogger("actorsession.train")

_UNBUILT = "call build() first: this Saver was made with defer_build=True"


@dataclass(frozen=True, slots=True)
class _Save:
    """One call of ``save``, once it is known to make sense."""

    prefix: str
    folder: str
    latest_filename: str
    meta_graph_suffix: str
    write_meta_graph: bool
    write_state: bool
    graph: Graph


class Saver:
    """Saves and restores variables.

    It adds nodes to the graph of its variables, so it is made before the graph is finalized.

    Args:
        var_list: variables (partitioned ones too) and ``SaveableObject``s: a list, or a dict by the names
            that they have in checkpoints; all global variables and saveable objects of the default graph if
            left out.
        reshape: whether a tensor of another shape, with as many elements, is restored.
        sharded: whether each device writes a file of its own.
        max_to_keep: how many of the latest checkpoints are kept; all for ``None`` or 0.
        keep_checkpoint_every_n_hours: one checkpoint in so many hours is kept for good.
        name: wanted name of the scope around the nodes.
        restore_sequentially: whether variables are assigned one after the other; they are read together.
        saver_def: description of a saver whose nodes are in the graph already: a ``SaverDef``, or anything
            with its attributes.
        builder: must be ``None``.
        defer_build: whether nodes are added by ``build`` only.
        allow_empty: whether there may be nothing to save; ``save`` and ``restore`` then do nothing.
        write_version: 2; or 1, TensorFlow's older format, instead of which 2 is written.
        pad_step_number: whether step numbers have eight digits at least, so that names sort.
        save_relative_paths: whether the ``checkpoint`` file has paths relative to its folder.
        filename: prefix for whoever runs the nodes without feeding one.

    Raises:
        ValueError: if there is nothing to save, two variables have one name, or an argument makes no sense.
        TypeError: for something that cannot be saved.
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = SaverDef.V2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if defer_build and var_list:
            raise ValueError(
                "with defer_build the variables are found by build(): give no var_list"
            )
        if builder is not None:
            raise ValueError("Saver builds its own nodes: builder must be None")
        if write_version == SaverDef.V1:
            _log.warning("checkpoints of version 1 are not written: this saver writes version 2")
        elif write_version != SaverDef.V2:
            raise ValueError(f"write_version is {SaverDef.V2}, got {write_version!r}")
        self._var_list = var_list
        self._reshape = reshape
        self._sharded = sharded
        self._name = name
        self._sequentially = restore_sequentially
        self._filename = filename
        self._allow_empty = allow_empty
        self._pad_step_number = pad_step_number
        self._relative = save_relative_paths
        self._is_empty = False
        self._def: SaverDef | None = None
        self._kept = KeptCheckpoints(max_to_keep or 0, keep_checkpoint_every_n_hours)
        if saver_def is not None:
            self._def = SaverDef.of(saver_def)
            every = self._def.keep_checkpoint_every_n_hours
            self._kept = KeptCheckpoints(self._def.max_to_keep, every)
        elif not defer_build:
            self.build()

    # -- what it is ----------------------------------------------------------------------------

    def build(self) -> None:
        """Add the nodes, for a saver that was made with ``defer_build``; a second call does nothing.

        Raises:
            ValueError: if there is nothing to save.
        """
        if self._def is not None or self._is_empty:
            return
        saveables = saveables_of(self._var_list)
        if not saveables:
            if not self._allow_empty:
                raise ValueError("No variables to save: make some first, or give allow_empty=True")
            self._is_empty = True
            return
        self._def = replace(
            self._built(saveables),
            max_to_keep=self._kept.count,
            keep_checkpoint_every_n_hours=self._kept.every_n_hours,
        )

    def _built(self, saveables: Sequence[SaveableObject]) -> SaverDef:
        graph = saveables[0].graph or get_default_graph()
        return build_saver(
            graph, saveables, self._name, self._filename, sharded=self._sharded,
            reshape=self._reshape, restore_sequentially=self._sequentially,
        )  # fmt: skip

    @property
    def saver_def(self) -> SaverDef | None:
        """The names of its nodes; nothing before they are built, and for a saver that has none."""
        return self._def

    def as_saver_def(self) -> SaverDef | None:
        """As ``saver_def`` (TensorFlow's other spelling)."""
        return self._def

    to_proto = as_saver_def

    @staticmethod
    def from_proto(saver_def: Any) -> Saver:
        """A saver of nodes that are in the graph already.

        Args:
            saver_def: their names.
        """
        return Saver(saver_def=saver_def)

    # -- saving --------------------------------------------------------------------------------

    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Write a checkpoint, whole or not at all.

        Args:
            sess: a ``Session`` in which the variables have values.
            save_path: what the files begin with, folder included; missing folders are made.
            global_step: put behind the name with a dash: a number, or a tensor or variable that has it.
            latest_filename: name of the file that says which checkpoint is the latest; ``checkpoint`` if left
                out.
            meta_graph_suffix: what the file with the graph ends in.
            write_meta_graph: whether the graph is written as well, in this library's own form.
            write_state: whether the checkpoint is entered in that file, and old ones are removed.
            strip_default_attrs: accepted for TensorFlow's sake.
            save_debug_info: likewise.

        Returns:
            The prefix of the checkpoint, which ``restore`` takes; nothing if there is nothing to save.

        Raises:
            TypeError: if ``sess`` is no session, or one that is awaited.
            ValueError: if the names of the checkpoint and of ``latest_filename`` collide, or are no names.
            RuntimeError: if the nodes were not built.
            FailedPreconditionError: if a variable has no value.
            OpError: if the file system refuses.
        """
        check_session(sess, awaited=False)
        plan, step = self._plan(sess, save_path, latest_filename, global_step), global_step
        if is_symbolic(global_step):
            step = sess.run(global_step)
        plan = self._named(plan, step, meta_graph_suffix, write_meta_graph, write_state)
        if self._def is not None:
            with _fed(self._def, plan) as feeds:
                sess.run(self._def.save_tensor_name, feeds)
        return self._finish(plan)

    async def save_async(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Write a checkpoint of an ``AsyncSession``; see ``save``.

        Files are written in threads, the loop goes on. A call that is cancelled leaves a whole checkpoint, or
        none.
        """
        check_session(sess, awaited=True)
        plan, step = self._plan(sess, save_path, latest_filename, global_step), global_step
        if is_symbolic(global_step):
            step = await sess.run(global_step)
        plan = self._named(plan, step, meta_graph_suffix, write_meta_graph, write_state)
        if self._def is not None:
            with _fed(self._def, plan) as feeds:
                await sess.run(self._def.save_tensor_name, feeds)
        return await asyncio.to_thread(self._finish, plan)

    def _plan(self, sess: Any, save_path: Any, latest: str | None, step: Any) -> _Save:
        """Check what is known before anything runs."""
        if self._def is None and not self._is_empty:
            raise RuntimeError(_UNBUILT)
        latest = latest or DEFAULT_FILENAME
        if os.path.basename(latest) != latest:
            raise ValueError(f"latest_filename is a name without folders, got {latest!r}")
        prefix = os.fspath(save_path)
        folder, name = os.path.split(prefix)
        if not name:
            raise ValueError(f"save_path ends in a name, as in 'folder/model', got {save_path!r}")
        if step is None and name == latest:
            raise ValueError(
                f"latest_filename {latest!r} collides with save_path {save_path!r}: choose another name"
            )
        return _Save(prefix, folder, latest, "", True, True, sess.graph)

    def _named(self, plan: _Save, step: Any, suffix: str, meta: bool, state: bool) -> _Save:
        prefix = plan.prefix
        if step is not None:
            number = step_number(step)
            prefix += f"-{number:08d}" if self._pad_step_number else f"-{number}"
        return replace(
            plan, prefix=prefix, meta_graph_suffix=suffix, write_meta_graph=meta, write_state=state
        )

    def _finish(self, plan: _Save) -> str | None:
        """Return what comes after the tensors were written; it works with files and may block."""
        if plan.write_state and not self._is_empty:

            def tell(kept: Sequence[str]) -> None:
                write_state(
                    plan.folder, plan.prefix, kept, plan.latest_filename, None, None,
                    relative=self._relative,
                )  # fmt: skip

            self._kept.enter(plan.prefix, plan.meta_graph_suffix, tell)
        if plan.write_meta_graph:
            path = meta_graph_filename(plan.prefix, plan.meta_graph_suffix)
            self._write_graph(path, plan.graph)
        return None if self._is_empty else plan.prefix

    def _write_graph(self, path: str, graph: Graph) -> None:
        """Write the graph beside a checkpoint; a subclass may have another form for it."""
        write_graph(path, graph)

    # -- which checkpoints are kept ------------------------------------------------------------

    @property
    def last_checkpoints(self) -> list[str]:
        """The prefixes of the checkpoints that are kept for now, the oldest first."""
        return self._kept.prefixes

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Say which checkpoints were written before, without their times: they are never removed.

        Args:
            last_checkpoints: their prefixes, the oldest first.
        """
        self._kept.set([(path, math.inf) for path in last_checkpoints])

    def set_last_checkpoints_with_time(
        self, last_checkpoints_with_time: Sequence[tuple[str, float]]
    ) -> None:
        """Say which checkpoints were written before, the oldest first.

        Args:
            last_checkpoints_with_time: prefix and seconds since 1970 of each.
        """
        self._kept.set(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Go on with the checkpoints of an earlier program; those without files are left out.

        Args:
            checkpoint_paths: their prefixes, the oldest first.
        """
        there = [path for path in checkpoint_paths if checkpoint_exists(path)]
        self._kept.set(list(zip(there, get_checkpoint_mtimes(there), strict=True)))

    # -- restoring -----------------------------------------------------------------------------

    def restore(self, sess: Any, save_path: str | None) -> None:
        """Give the variables the values of a checkpoint, of our format or of TensorFlow's.

        They need no value before. If anything is wrong with the checkpoint no variable changes.

        Args:
            sess: a ``Session``.
            save_path: prefix of the checkpoint, as ``save`` returns it.

        Raises:
            TypeError: if ``sess`` is no session, or one that is awaited.
            ValueError: if there is no such checkpoint.
            NotFoundError: if it lacks a tensor; the message lists the nearest names.
            InvalidArgumentError: if a tensor has another shape or dtype.
            DataLossError: if it is damaged.
        """
        check_session(sess, awaited=False)
        step = self._to_restore(sess, save_path)
        if step is not None:
            with _explained(save_path):
                sess.run(*step)

    async def restore_async(self, sess: Any, save_path: str | None) -> None:
        """Give the variables of an ``AsyncSession`` the values of a checkpoint; see ``restore``."""
        check_session(sess, awaited=True)
        step = self._to_restore(sess, save_path)
        if step is not None:
            with _explained(save_path):
                await sess.run(*step)

    def _to_restore(self, sess: Any, save_path: Any) -> tuple[str, dict[str, str]] | None:
        """Return what the session is to run, and what it is fed."""
        if self._is_empty:
            return None
        if self._def is None:
            raise RuntimeError(_UNBUILT)
        if save_path is None:
            raise ValueError("save_path is None: there is no checkpoint to restore")
        # Tasks elsewhere may see files that this process does not: then the step says what is there.
        if not getattr(sess, "target", "") and not checkpoint_exists(save_path):
            raise ValueError(f"the save_path is no checkpoint: nothing is at {save_path!r}")
        return self._def.restore_op_name, {self._def.filename_tensor_name: os.fspath(save_path)}


@contextlib.contextmanager
def _fed(names: SaverDef, plan: _Save) -> Iterator[dict[Any, str]]:
    """What the step that saves is fed; the save is under way for as long as the block lasts."""
    feeds: dict[Any, str] = {names.filename_tensor_name: plan.prefix}
    basename = basename_of(plan.graph.get_tensor_by_name(names.filename_tensor_name))
    if basename is None:
        yield feeds
        return
    with checkpoints.saving(plan.prefix) as start:
        yield {**feeds, basename: start}


@contextlib.contextmanager
def _explained(save_path: Any) -> Iterator[None]:
    """Add to errors of restoring what they mean for who restores."""
    try:
        yield
    except NotFoundError as exc:
        if exc.message.startswith(checkpoints.MISSING):
            raise ValueError(f"the save_path is no checkpoint: {exc.message}") from exc
        exc.message = _hint(save_path, exc.message, "lacks a variable of the graph")
        raise
    except InvalidArgumentError as exc:
        exc.message = _hint(save_path, exc.message, "does not fit the graph")
        raise


def _hint(save_path: Any, message: str, what: str) -> str:
    return f"restoring failed, because the checkpoint {os.fspath(save_path)!r} {what}: {message}"
