"""``Saver``: writes the variables of a session to checkpoints and restores them.

Owns the work around the saving step: names of checkpoints, which of them are kept, the ``checkpoint`` file in
their folder, and explanatory errors for checkpoints that cannot be restored. ``saver_graph`` builds the
nodes; ``actorsession.checkpoints`` owns the formats.

Tensors are written and read where the session runs the nodes. Everything else, that is the ``checkpoint``
file, the graph and the removal of old checkpoints, happens in the calling process. So a program with a remote
session shares a file system with its tasks, as with TensorFlow.

A saver serves both session APIs: ``save`` and ``restore`` for a ``Session``, ``save_async`` and
``restore_async`` for an ``AsyncSession``.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from actorsession import checkpoints
from actorsession.actors.loops import in_thread
from actorsession.config.file_roots import path_text
from actorsession.errors import InvalidArgumentError, NotFoundError, RequestValueError
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.process_bound import GraphBound
from actorsession.progress import shown_while
from actorsession.records import dataclass, description
from actorsession.train.checkpoint_retention import CheckpointRetention
from actorsession.train.checkpoint_state import (
    DEFAULT_FILENAME,
    checkpoint_exists,
    get_checkpoint_mtimes,
    meta_graph_filename,
    write_state,
)
from actorsession.train.graph_file import write_graph
from actorsession.train.saveable import SaveableObject, saveables_of
from actorsession.train.saver_arguments import check_session, is_symbolic, step_number
from actorsession.train.saver_graph import SaverDef, basename_of, build_saver

__all__ = ["Saver"]

_log = logging.getLogger("actorsession.train")

_UNBUILT = "call build() first, because this Saver was created with defer_build=True"


@dataclass(frozen=True, slots=True)
class _Save:
    """The checked arguments of one call of ``save``."""

    prefix: str
    folder: str
    latest_filename: str
    meta_graph_suffix: str
    write_meta_graph: bool
    write_state: bool
    graph: Graph


class Saver(GraphBound):
    """A saver writes variables to checkpoints and restores them.

    A saver adds nodes to the graph of its variables, so it must be created before the graph is finalized.

    Args:
        var_list: variables (including partitioned ones) and objects of ``SaveableObject``: a list, or a dict
            by their names in checkpoints; all global variables and saveable objects of the default graph if
            left out.
        reshape: whether to restore tensors of another shape with the same number of elements.
        sharded: whether each device writes its own file.
        max_to_keep: number of the latest checkpoints to keep; all for ``None`` or 0.
        keep_checkpoint_every_n_hours: interval in hours at which a checkpoint is kept permanently.
        name: wanted name of the scope around the nodes.
        restore_sequentially: whether variables are assigned one after the other; reading is not affected.
        saver_def: description of a saver whose nodes already exist in the graph: a ``SaverDef``, or anything
            with its attributes.
        builder: must be ``None``.
        defer_build: whether nodes are added only by ``build``.
        allow_empty: whether there may be nothing to save; ``save`` and ``restore`` then do nothing.
        write_version: 2; or 1 for TensorFlow's first format, which old programs read.
        pad_step_number: whether step numbers are padded to at least eight digits, so that names sort.
        save_relative_paths: whether paths in the ``checkpoint`` file are relative to its folder.
        filename: prefix used when the nodes are run without feeding one.

    Raises:
        ValueError: if there is nothing to save, two variables have one name, or an argument is invalid.
        TypeError: for an object that cannot be saved.
    """

    # Whether TensorFlow's format is written; a subclass may.
    _bundle: ClassVar[bool] = False

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
            raise ValueError("var_list must be None with defer_build=True, because build() collects the variables")
        if builder is not None:
            raise ValueError("builder must be None, because a Saver builds its own nodes")
        if write_version == SaverDef.V1:
            _log.warning(
                "this saver writes checkpoints of version 1, which are held in memory as a whole and lack "
                "some dtypes; version 2 is better for all but old readers"
            )
        elif write_version != SaverDef.V2:
            raise ValueError(
                f"write_version must be {SaverDef.V2}, or {SaverDef.V1} for TensorFlow's first format, got "
                f"{write_version!r}"
            )
        self._version = int(write_version)
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
        self._retention = CheckpointRetention(max_to_keep or 0, keep_checkpoint_every_n_hours)
        if saver_def is not None:
            self._def = SaverDef.of(saver_def)
            every = self._def.keep_checkpoint_every_n_hours
            self._retention = CheckpointRetention(self._def.max_to_keep, every)
        elif not defer_build:
            self.build()

    def __repr__(self) -> str:
        return description(self, self._name, max_to_keep=self._retention.count, sharded=self._sharded)

    # -- nodes ---------------------------------------------------------------------------------

    def build(self) -> None:
        """Add the nodes of a saver created with ``defer_build``; a second call does nothing.

        Raises:
            ValueError: if there is nothing to save.
        """
        if self._def is not None or self._is_empty:
            return
        saveables = saveables_of(self._var_list)
        if not saveables:
            if not self._allow_empty:
                raise ValueError("No variables to save: create some first, or pass allow_empty=True")
            self._is_empty = True
            return
        self._def = replace(
            self._built(saveables),
            max_to_keep=self._retention.count,
            keep_checkpoint_every_n_hours=self._retention.every_n_hours,
        )

    def _built(self, saveables: Sequence[SaveableObject]) -> SaverDef:
        graph = saveables[0].graph or get_default_graph()
        return build_saver(
            graph,
            saveables,
            self._name,
            self._filename,
            sharded=self._sharded,
            reshape=self._reshape,
            restore_sequentially=self._sequentially,
            bundle=self._bundle,
            version=self._version,
        )

    @property
    def saver_def(self) -> SaverDef | None:
        """The names of the saver's nodes; ``None`` before they are built, and for an empty saver."""
        return self._def

    def as_saver_def(self) -> SaverDef | None:
        """Return ``saver_def`` (TensorFlow's other spelling)."""
        return self._def

    to_proto = as_saver_def

    @staticmethod
    def from_proto(saver_def: Any) -> Saver:
        """Return a saver for nodes that already exist in the graph.

        Args:
            saver_def: the names of the nodes.
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
        """Write a checkpoint completely, or none at all.

        Args:
            sess: a ``Session`` in which the variables are initialised.
            save_path: prefix of the files, including the folder; missing folders are created.
            global_step: step number appended to the name after a dash: a number, tensor or variable.
            latest_filename: name of the file that records the latest checkpoint; ``checkpoint`` if left out.
            meta_graph_suffix: suffix of the file with the graph.
            write_meta_graph: whether the graph is written as well, in this library's own format.
            write_state: whether the checkpoint is recorded in ``latest_filename``, and old ones are removed.
            strip_default_attrs: without effect.
            save_debug_info: likewise.

        Returns:
            The prefix of the checkpoint, to be passed to ``restore``; ``None`` if there is nothing to save.

        Raises:
            TypeError: if ``sess`` is no session, or an ``AsyncSession``.
            ValueError: if the names of the checkpoint and of ``latest_filename`` collide, or are invalid.
            RuntimeError: if the nodes were not built.
            FailedPreconditionError: if a variable has no value.
            OpError: if the file system reports an error.
        """
        check_session(sess, awaited=False)
        plan, step = self._plan(sess, save_path, latest_filename, global_step), global_step
        if is_symbolic(global_step):
            step = sess.run(global_step)
        plan = self._named(plan, step, meta_graph_suffix, write_meta_graph, write_state)
        if self._def is not None:
            with shown_while(f"saving {plan.prefix}"), _fed(self._def, plan) as feeds:
                plan = _written(self._def, plan, sess.run(self._def.save_tensor_name, feeds))
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

        Files are written in worker threads; the event loop is not blocked. A cancelled call leaves a complete
        checkpoint or none.
        """
        check_session(sess, awaited=True)
        plan, step = self._plan(sess, save_path, latest_filename, global_step), global_step
        if is_symbolic(global_step):
            step = await sess.run(global_step)
        plan = self._named(plan, step, meta_graph_suffix, write_meta_graph, write_state)
        if self._def is not None:
            with shown_while(f"saving {plan.prefix}"), _fed(self._def, plan) as feeds:
                saved = await sess.run(self._def.save_tensor_name, feeds)
                plan = await in_thread(_written, self._def, plan, saved)
        return await in_thread(self._finish, plan)

    def _plan(self, sess: Any, save_path: Any, latest: str | None, step: Any) -> _Save:
        """Check the arguments that are known before anything runs."""
        if self._def is None and not self._is_empty:
            raise RuntimeError(_UNBUILT)
        latest = latest or DEFAULT_FILENAME
        if os.path.basename(latest) != latest:
            raise ValueError(f"latest_filename must be a name without folders, got {latest!r}")
        prefix = path_text(save_path, "save_path")
        folder, name = os.path.split(prefix)
        if not name and not self._bundle:
            raise RequestValueError(f"save_path must end in a name, as in 'folder/model', got {save_path!r}")
        if step is None and name == latest:
            raise ValueError(f"latest_filename {latest!r} collides with save_path {save_path!r}: choose another name")
        return _Save(prefix, folder, latest, "", True, True, sess.graph)

    def _named(self, plan: _Save, step: Any, suffix: str, meta: bool, state: bool) -> _Save:
        prefix = plan.prefix
        if step is not None:
            number = step_number(step)
            prefix += f"-{number:08d}" if self._pad_step_number else f"-{number}"
        return replace(plan, prefix=prefix, meta_graph_suffix=suffix, write_meta_graph=meta, write_state=state)

    def _finish(self, plan: _Save) -> str | None:
        """Complete a save after the tensors were written; accesses files and may block."""
        if plan.write_state and not self._is_empty:

            def record(kept: Sequence[str]) -> None:
                write_state(plan.folder, plan.prefix, kept, plan.latest_filename, None, None, relative=self._relative)

            self._retention.add(plan.prefix, plan.meta_graph_suffix, record)
        if plan.write_meta_graph:
            path = meta_graph_filename(plan.prefix, plan.meta_graph_suffix)
            self._write_graph(path, plan.graph)
        return None if self._is_empty else plan.prefix

    def _write_graph(self, path: str, graph: Graph) -> None:
        """Write the graph of a checkpoint to a file; a subclass may use another format."""
        write_graph(path, graph)

    # -- retained checkpoints ------------------------------------------------------------------

    @property
    def last_checkpoints(self) -> list[str]:
        """The prefixes of the checkpoints that are kept temporarily, the oldest first."""
        return self._retention.prefixes

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Set the list of earlier checkpoints, without their times: they are never removed.

        Args:
            last_checkpoints: prefixes of the checkpoints, the oldest first.
        """
        self._retention.set([(path, math.inf) for path in last_checkpoints])

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: Sequence[tuple[str, float]]) -> None:
        """Set the list of earlier checkpoints, the oldest first.

        Args:
            last_checkpoints_with_time: prefix and seconds since 1970 of each.
        """
        self._retention.set(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Take over the checkpoints of an earlier program, except those without files.

        Args:
            checkpoint_paths: prefixes of the checkpoints, the oldest first.
        """
        there = [path for path in checkpoint_paths if checkpoint_exists(path)]
        self._retention.set(list(zip(there, get_checkpoint_mtimes(there), strict=True)))

    # -- restoring -----------------------------------------------------------------------------

    def restore(self, sess: Any, save_path: str | None) -> None:
        """Restore the variables from a checkpoint, in our format or in TensorFlow's.

        The variables need not be initialised. If anything is wrong with the checkpoint, no variable changes.

        Args:
            sess: a ``Session``.
            save_path: prefix of the checkpoint, as returned by ``save``.

        Raises:
            TypeError: if ``sess`` is no session, or an ``AsyncSession``.
            ValueError: if there is no such checkpoint.
            NotFoundError: if the checkpoint lacks a tensor; the message lists the nearest names.
            InvalidArgumentError: if a tensor has another shape or dtype.
            DataLossError: if the checkpoint is damaged.
        """
        check_session(sess, awaited=False)
        step = self._to_restore(sess, save_path)
        if step is not None:
            with shown_while(f"restoring {save_path}"), _restore_errors(save_path):
                sess.run(*step)

    async def restore_async(self, sess: Any, save_path: str | None) -> None:
        """Restore the variables of an ``AsyncSession`` from a checkpoint; see ``restore``."""
        check_session(sess, awaited=True)
        step = self._to_restore(sess, save_path)
        if step is not None:
            with shown_while(f"restoring {save_path}"), _restore_errors(save_path):
                await sess.run(*step)

    def _to_restore(self, sess: Any, save_path: Any) -> tuple[str, dict[str, str]] | None:
        """Return fetch and feeds of the restoring step, or ``None`` if there is nothing to restore."""
        if self._is_empty:
            return None
        if self._def is None:
            raise RuntimeError(_UNBUILT)
        if save_path is None:
            raise RequestValueError("save_path is None, so there is no checkpoint to restore")
        prefix = path_text(save_path, "save_path")
        # Tasks elsewhere may see files that this process does not; in that case the step reports missing
        # files.
        if not getattr(sess, "target", "") and not checkpoint_exists(prefix):
            raise RequestValueError(f"The passed save_path is not a valid checkpoint: {save_path}")
        return self._def.restore_op_name, {self._def.filename_tensor_name: prefix}


def _written(names: SaverDef, plan: _Save, saved: Any) -> _Save:
    """Return a plan with the name of the checkpoint that was written; a pattern if it has shards."""
    if names.version != SaverDef.V1:
        return plan
    path = saved.decode() if isinstance(saved, bytes) else str(saved)
    if names.sharded and not path.startswith(f"{plan.prefix}-"):  # shards with names of this save
        path = checkpoints.join_tables(path, plan.prefix)
    return replace(plan, prefix=path)


@contextlib.contextmanager
def _fed(names: SaverDef, plan: _Save) -> Iterator[dict[Any, str]]:
    """Yield the feeds of the saving step; the save is in progress while the context is open."""
    feeds: dict[Any, str] = {names.filename_tensor_name: plan.prefix}
    basename = basename_of(plan.graph.get_tensor_by_name(names.filename_tensor_name))
    if basename is None:
        yield feeds
        return
    with checkpoints.saving(plan.prefix) as start:
        yield {**feeds, basename: start}


@contextlib.contextmanager
def _restore_errors(save_path: Any) -> Iterator[None]:
    """Add explanations for the user to errors of restoring."""
    try:
        yield
    except NotFoundError as exc:
        if exc.message.startswith(checkpoints.MISSING):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {exc.message}") from exc
        exc.message = _hint(save_path, exc.message, "lacks a variable of the graph")
        raise
    except InvalidArgumentError as exc:
        exc.message = _hint(save_path, exc.message, "does not fit the graph")
        raise


def _hint(save_path: Any, message: str, what: str) -> str:
    return f"restoring failed, because the checkpoint {os.fsdecode(save_path)!r} {what}: {message}"
