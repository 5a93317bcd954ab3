"""``tf.train.Checkpoint``: objects that are saved and restored by what they consist of.

Values are written in TensorFlow's format with the description of their objects, so that TensorFlow restores
what is saved here, and the other way round.
"""

from __future__ import annotations

import os
from typing import Any

from actorsession import ops
from actorsession.checkpoints import CheckpointReader
from actorsession.compat.v1.logging import get_logger
from actorsession.compat.v1.train.checkpoints.objects import (
    GRAPH_KEY,
    AutoTrackable,
    Matching,
    Tracked,
    children_of,
    is_trackable,
    parts_of,
    read_description,
    tracked,
)
from actorsession.compat.v1.train.checkpoints.savers import Saver
from actorsession.config.file_roots import path_text
from actorsession.errors import NotFoundError
from actorsession.graph.default_session import get_default_session
from actorsession.graph.dtypes import int64
from actorsession.graph.graph import control_dependencies, get_default_graph
from actorsession.graph.operation import Operation
from actorsession.train.checkpoint_state import write_state
from actorsession.train.saveable import SaveableObject, SaveSpec

__all__ = ["Checkpoint", "values_of"]

_log = get_logger()


def session_of(preferred: Any) -> Any:
    """Return a session: the given one, or the default one.

    Raises:
        ValueError: if there is none.
    """
    session = get_default_session() if preferred is None else preferred
    if session is None:
        raise ValueError(
            "objects are saved and restored in a session: pass session=, or call this inside `with session:`"
        )
    return session


class _Description(SaveableObject):
    """The description of the objects of a checkpoint, as one of its tensors."""

    def __init__(self, message: Any) -> None:
        tensor = ops.constant(message.SerializeToString(), name="object_graph")
        super().__init__(tensor, [SaveSpec(tensor, "", GRAPH_KEY)], GRAPH_KEY)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Operation:
        """Restore nothing."""
        return ops.no_op()


def values_of(tracking: Tracked) -> dict[str, Any]:
    """Return what a checkpoint of some objects holds, by its keys: their values and their description."""
    with control_dependencies(None):
        return {**tracking.keys, GRAPH_KEY: _Description(tracking.message)}


class Checkpoint(AutoTrackable):
    """Objects that are saved and restored together: variables, layers, optimisers, and objects of them.

    Args:
        kwargs: the objects by their names; they become attributes.

    Raises:
        ValueError: for a value that holds no variables.
    """

    # On the class, for subclasses that do not call ``__init__``.
    _saver: tuple[Any, Saver] | None = None
    _counting: Any = None

    def __init__(self, **kwargs: Any) -> None:
        for name, value in sorted(kwargs.items()):
            if not is_trackable(value):
                raise ValueError(
                    "`Checkpoint` was expecting a trackable object (an object derived from `TrackableBase`), "
                    f"got {value!r:.200}: it takes variables, layers, optimizers, and checkpoints of such"
                )
            setattr(self, name, value)

    # -- saving ------------------------------------------------------------------------------------

    @property
    def save_counter(self) -> Any:
        """The variable that counts the calls of ``save``; it numbers the checkpoints."""
        known = vars(self).get("_counter")
        if known is None:
            with ops.variable_scope("", auxiliary_name_scope=False, use_resource=True):
                known = ops.Variable(0, dtype=int64, trainable=False, name="save_counter")
            self._counter = known
        return known

    @property
    def _checkpoint_dependencies(self) -> list[tuple[str, Any]]:
        counter = vars(self).get("_counter")
        return [*parts_of(self), *([] if counter is None else [("save_counter", counter)])]

    def write(self, file_prefix: str, session: Any = None) -> str:
        """Write a checkpoint without a number, and do not record it.

        Args:
            file_prefix: the beginning of the names of its files.
            session: the session with the values; the default one if left out.

        Returns:
            The prefix, for ``restore``.
        """
        parts = tracked(self)
        content = parts.message.SerializeToString()
        key = (get_default_graph(), content, tuple(map(id, parts.keys.values())))
        if self._saver is None or self._saver[0] != key:
            self._saver = key, Saver(values_of(parts), max_to_keep=0)
        path = self._saver[1].save(
            session_of(session), path_text(file_prefix), write_meta_graph=False, write_state=False
        )
        assert path is not None
        return path

    def save(self, file_prefix: str, session: Any = None) -> str:
        """Write a numbered checkpoint, and record it as the latest of its folder.

        Args:
            file_prefix: the beginning of the names of its files; a dash and the number follow.
            session: the session with the values; the default one if left out.

        Returns:
            The prefix with the number, for ``restore``.
        """
        session = session_of(session)
        number = self.next_number(session)
        path = self.write(f"{path_text(file_prefix)}-{number}", session)
        write_state(os.path.dirname(path_text(file_prefix)), path, [path])
        return path

    def next_number(self, session: Any) -> int:
        """Count a call of ``save``, and return its number."""
        if vars(self).get("_counter") is None:
            session.run(self.save_counter.initializer)
        if self._counting is None:
            self._counting = self.save_counter.assign_add(1, read_value=True)
        return int(session.run(self._counting))

    # -- restoring ---------------------------------------------------------------------------------

    def restore(self, save_path: str | None) -> Any:
        """Return what restores a checkpoint, and says whether all was found.

        Args:
            save_path: the prefix of the checkpoint, or ``None`` to restore nothing. It may be one of a
                ``Saver``, whose values are matched by the names of variables.

        Raises:
            NotFoundError: if there is no checkpoint.
        """
        if save_path is None:
            status: Any = InitializationOnlyStatus(self)
        else:
            path = path_text(save_path)
            try:
                with CheckpointReader(path) as reader:
                    message = read_description(reader)
                    names = set(reader.get_variable_to_shape_map())
            except NotFoundError as exc:
                raise NotFoundError(
                    "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
                    f"{path}: {exc.message}"
                ) from exc
            if message is None:
                status = NameBasedSaverStatus(self, path, names)
            else:
                status = CheckpointLoadStatus(self, path, message)
        _ = self.save_counter  # So that it is initialised with the other variables.
        return status


def _variables(root: Any) -> list[Any]:
    return list(tracked(root).keys.values())


class _Status:
    """What restores a checkpoint; the subclasses know what is in it.

    Args:
        root: the root of the objects.
        path: the prefix of the checkpoint.
    """

    def __init__(self, root: Any, path: str) -> None:
        self._root, self._path = root, path
        self._restorer: tuple[Any, Saver] | None = None

    def _values(self) -> dict[str, Any]:
        raise NotImplementedError

    def run_restore_ops(self, session: Any = None) -> None:
        """Restore all objects that there are by now, in a session or the default one."""
        values = self._values()
        if not values:
            return
        key = (get_default_graph(), tuple((name, id(each)) for name, each in values.items()))
        if self._restorer is None or self._restorer[0] != key:
            self._restorer = key, Saver(values)
        self._restorer[1].restore(session_of(session), self._path)

    def initialize_or_restore(self, session: Any = None) -> None:
        """Restore what the checkpoint has, and initialise the rest."""
        session = session_of(session)
        restored = {id(each) for each in self._values().values()}
        rest = [each for each in _variables(self._root) if id(each) not in restored]
        self.run_restore_ops(session)
        session.run([each.initializer for each in rest])

    @property
    def has_slots(self) -> bool:
        """Whether the checkpoint has what optimisers keep for variables."""
        return False

    def expect_partial(self) -> Any:
        """Return this object: nothing is said of values that are not used."""
        return self


class CheckpointLoadStatus(_Status):
    """The status of a checkpoint of objects; see ``Checkpoint.restore``.

    Args:
        root: the root of the objects.
        path: the prefix of the checkpoint.
        message: its description of objects.
    """

    def __init__(self, root: Any, path: str, message: Any) -> None:
        super().__init__(root, path)
        self._message = message
        self._match()

    def _match(self) -> Matching:
        return Matching(self._root, self._message, _log.warning)

    def _values(self) -> dict[str, Any]:
        return self._match().values()

    @property
    def has_slots(self) -> bool:
        """Whether the checkpoint has what optimisers keep for variables."""
        return any(node.slot_variables for node in self._message.nodes)

    def assert_consumed(self) -> CheckpointLoadStatus:
        """Return this object, if all of the program and all of the checkpoint is matched.

        Raises:
            AssertionError: if something is not.
        """
        self.assert_existing_objects_matched()
        match = self._match()
        for number, node in enumerate(self._message.nodes):
            if number not in match.objects:
                raise AssertionError(f"Unresolved object in checkpoint {self._name_of(number)}: {node}")
        return self

    def _name_of(self, number: int) -> str:
        """Return the path to an object of the checkpoint."""
        names = {0: "(root)"}
        for at, node in enumerate(self._message.nodes):
            for child in node.children:
                names.setdefault(child.node_id, f"{names.get(at, '')}.{child.local_name}")
            for slot in node.slot_variables:
                names.setdefault(
                    slot.slot_variable_node_id,
                    f"{names.get(at, '')}'s state '{slot.slot_name}' for "
                    f"{names.get(slot.original_variable_node_id, '')}",
                )
        return names.get(number, str(number))

    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        """Return this object, if all of the program is matched.

        Raises:
            AssertionError: if something is not.
        """
        matched = {id(each) for each in self._match().objects.values()}
        missing = [
            each
            for each in tracked(self._root).objects
            if id(each) not in matched and not (isinstance(each, (list, dict)) and not children_of(each))
        ]
        if missing:
            raise AssertionError(
                "Some Python objects were not bound to checkpointed values, likely due to changes in the "
                f"Python program: {missing}"
            )
        return self

    def assert_nontrivial_match(self) -> CheckpointLoadStatus:
        """Return this object, if more than the root is matched.

        Raises:
            AssertionError: if nothing is.
        """
        if len(self._match().objects) <= 1:
            raise AssertionError(
                f"Nothing except the root object matched a checkpointed value. Objects of the checkpoint: "
                f"{[child.local_name for child in self._message.nodes[0].children]}"
            )
        return self


class NameBasedSaverStatus(_Status):
    """The status of a checkpoint that names variables; see ``Checkpoint.restore``.

    Args:
        root: the root of the objects.
        path: the prefix of the checkpoint.
        names: the names in it.
    """

    def __init__(self, root: Any, path: str, names: set[str]) -> None:
        super().__init__(root, path)
        self._names = names

    def _values(self) -> dict[str, Any]:
        known = {each.op.name: each for each in _variables(self._root)}
        counter = vars(self._root).get("_counter")
        return {name: each for name, each in known.items() if each is not counter or name in self._names}

    def assert_consumed(self) -> NameBasedSaverStatus:
        """Return this object, if the checkpoint has a value for each variable, and no others.

        Raises:
            AssertionError: if it has not.
        """
        self.assert_existing_objects_matched()
        unused = self._names - set(self._values())
        if unused:
            raise AssertionError(f"Unused attributes in the checkpoint: {sorted(unused)}")
        return self

    def assert_existing_objects_matched(self) -> NameBasedSaverStatus:
        """Return this object, if the checkpoint has a value for each variable.

        Raises:
            AssertionError: if it has not.
        """
        missing = sorted(set(self._values()) - self._names)
        if missing:
            raise AssertionError(f"Objects not assigned a value from the checkpoint: {missing}")
        return self

    assert_nontrivial_match = assert_existing_objects_matched


class InitializationOnlyStatus(_Status):
    """The status of no checkpoint; see ``Checkpoint.restore``.

    Args:
        root: the root of the objects.
    """

    def __init__(self, root: Any) -> None:
        super().__init__(root, "")

    def _values(self) -> dict[str, Any]:
        return {}

    def _refused(self) -> Any:
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_consumed = assert_existing_objects_matched = assert_nontrivial_match = _refused

    def run_restore_ops(self, session: Any = None) -> None:
        """Refuse: there is nothing to restore.

        Raises:
            AssertionError: always.
        """
        raise AssertionError(
            "No checkpoint specified, so no restore ops are available (save_path=None to Saver.restore)."
        )

    def initialize_or_restore(self, session: Any = None) -> None:
        """Initialise all variables."""
        session_of(session).run([each.initializer for each in _variables(self._root)])
