"""An immutable vector: appending, removing or replacing an item returns a new one.

The two share all but one path of their structure, so each operation takes time and memory logarithmic in the
length, and a loop may keep every version. Used by ``lists.values``; independent of tensors.

The structure is a tree of tuples, with ``WIDTH`` items in each leaf and as many nodes in each inner node, and
a separate tail of the last 1 to ``WIDTH`` items, which most operations touch alone. Invariants: the tail is
empty in the empty vector only; the tree holds only full leaves, from the left; its root is of height
``shift``, in bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["EMPTY", "WIDTH", "PersistentVector"]

_BITS = 5
# Items per node: an append copies half of this on average, and a look-up visits log32 of the length nodes.
WIDTH = 1 << _BITS
_MASK = WIDTH - 1

_Node = tuple[Any, ...]


class PersistentVector:
    """An immutable vector; made by ``of`` and by the methods of another one.

    Args:
        count: number of items.
        shift: bits of an index below those that select a child of the root.
        root: the tree.
        tail: the last items.
    """

    __slots__ = ("_count", "_root", "_shift", "_tail")

    def __init__(self, count: int, shift: int, root: _Node, tail: _Node) -> None:
        self._count = count
        self._shift = shift
        self._root = root
        self._tail = tail

    @classmethod
    def of(cls, items: Iterable[Any]) -> PersistentVector:
        """Return a vector of items, in time linear in their number."""
        all_items = tuple(items)
        count = len(all_items)
        in_tree = max(count - 1, 0) & ~_MASK
        nodes: list[_Node] = [all_items[k : k + WIDTH] for k in range(0, in_tree, WIDTH)]
        shift = _BITS
        while len(nodes) > WIDTH:
            nodes = [tuple(nodes[k : k + WIDTH]) for k in range(0, len(nodes), WIDTH)]
            shift += _BITS
        return cls(count, shift, tuple(nodes), all_items[in_tree:])

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        yield from _leaves(self._root, self._shift)
        yield from self._tail

    def __getitem__(self, index: int) -> Any:
        """Return the item at an index from 0 to the length.

        Raises:
            IndexError: for any other index.
        """
        self._check(index)
        node = self._tail
        if index < self._count - len(node):
            node = self._root
            for level in range(self._shift, 0, -_BITS):
                node = node[index >> level & _MASK]
        return node[index & _MASK]

    def _check(self, index: int) -> None:
        if not 0 <= index < self._count:
            raise IndexError(f"index {index} is not in [0, {self._count})")

    def append(self, item: Any) -> PersistentVector:
        """Return a vector with one more item at the end."""
        count, shift, root, tail = self._count, self._shift, self._root, self._tail
        if len(tail) < WIDTH:
            return PersistentVector(count + 1, shift, root, (*tail, item))
        if count >> _BITS > 1 << shift:  # with the tail, more leaves than fit under the root
            root = (root, _path(shift, tail))
            shift += _BITS
        else:
            root = _with_leaf(root, shift, count - 1, tail)
        return PersistentVector(count + 1, shift, root, (item,))

    def pop(self) -> PersistentVector:
        """Return a vector without the last item.

        Raises:
            IndexError: if the vector is empty.
        """
        count, shift, root, tail = self._count, self._shift, self._root, self._tail
        if len(tail) > 1:
            return PersistentVector(count - 1, shift, root, tail[:-1])
        if count <= 1:
            if not count:
                raise IndexError("pop from an empty vector")
            return EMPTY
        root, tail = _without_leaf(root, shift)
        if shift > _BITS and len(root) == 1:
            root = root[0]
            shift -= _BITS
        return PersistentVector(count - 1, shift, root, tail)

    def replace(self, index: int, item: Any) -> PersistentVector:
        """Return a vector with another item at an index.

        Raises:
            IndexError: for an index out of range.
        """
        self._check(index)
        root, tail = self._root, self._tail
        if index >= self._count - len(tail):
            tail = _with_item(tail, 0, index, item)
        else:
            root = _with_item(root, self._shift, index, item)
        return PersistentVector(self._count, self._shift, root, tail)

    def __repr__(self) -> str:
        return f"<PersistentVector of {self._count}>"


EMPTY = PersistentVector(0, _BITS, (), ())


def _leaves(node: _Node, shift: int) -> Iterator[Any]:
    if not shift:
        yield from node
        return
    for child in node:
        yield from _leaves(child, shift - _BITS)


def _path(shift: int, leaf: _Node) -> _Node:
    """Return a node of a height that contains one leaf."""
    for _ in range(0, shift, _BITS):
        leaf = (leaf,)
    return leaf


def _with_leaf(node: _Node, shift: int, index: int, leaf: _Node) -> _Node:
    """Return a node with a leaf appended, which contains ``index``."""
    place = index >> shift & _MASK
    if shift == _BITS:
        return (*node, leaf)
    if place == len(node):
        return (*node, _path(shift - _BITS, leaf))
    return (*node[:-1], _with_leaf(node[-1], shift - _BITS, index, leaf))


def _without_leaf(node: _Node, shift: int) -> tuple[_Node, _Node]:
    """Return a node without its last leaf, and that leaf; an empty node if there was no other."""
    if shift == _BITS:
        return node[:-1], node[-1]
    rest, leaf = _without_leaf(node[-1], shift - _BITS)
    return (*node[:-1], rest) if rest else node[:-1], leaf


def _with_item(node: _Node, shift: int, index: int, item: Any) -> _Node:
    place = index >> shift & _MASK
    child = item if not shift else _with_item(node[place], shift - _BITS, index, item)
    return (*node[:place], child, *node[place + 1 :])
