"""A vector that never changes: to append, take away or replace an item gives another one.

Both share all but a path of their structure, so each such step takes time and memory in the logarithm of
the length: a loop may keep every version. Used by ``list_values``; it knows nothing of tensors.

A tree of tuples, ``WIDTH`` items in each leaf and as many nodes in each node above, and beside it the last
items, 1 to ``WIDTH`` of them, which most steps touch alone. Invariants: the tail is empty in the empty vector
alone; the tree holds whole leaves only, from the left; its root is of height ``shift``, in bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["EMPTY", "WIDTH", "PersistentVector"]

_BITS = 5
# Items per node: an append copies half of this on the average, a look-up goes through log32 of the length.
WIDTH = 1 << _BITS
_MASK = WIDTH - 1

_Node = tuple[Any, ...]


class PersistentVector:
    """A vector that never changes; made by ``of`` and by the methods of another.

    Args:
        count: number of items.
        shift: bits of an index below the root's share of it.
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
        """A vector of items, in time linear in their number."""
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
        """A vector with one more item at the end."""
        count, shift, root, tail = self._count, self._shift, self._root, self._tail
        if len(tail) < WIDTH:
            return PersistentVector(count + 1, shift, root, (*tail, item))
        if count >> _BITS > 1 << shift:  # with the tail, more leaves than the root has room for
            root = (root, _path(shift, tail))
            shift += _BITS
        else:
            root = _with_leaf(root, shift, count - 1, tail)
        return PersistentVector(count + 1, shift, root, (item,))

    def pop(self) -> PersistentVector:
        """A vector without the last item.

        Raises:
            IndexError: if there is none.
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
        """A vector with another item at an index.

        Raises:
            IndexError: if there is none to replace.
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
    """A node of a height with one leaf in it."""
    for _ in range(0, shift, _BITS):
        leaf = (leaf,)
    return leaf


def _with_leaf(node: _Node, shift: int, index: int, leaf: _Node) -> _Node:
    """A node with a leaf, in which ``index`` is, behind those it has."""
    place = index >> shift & _MASK
    if shift == _BITS:
        return (*node, leaf)
    if place == len(node):
        return (*node, _path(shift - _BITS, leaf))
    return (*node[:-1], _with_leaf(node[-1], shift - _BITS, index, leaf))


def _without_leaf(node: _Node, shift: int) -> tuple[_Node, _Node]:
    """A node without its last leaf, and that leaf; an empty node if there was no other."""
    if shift == _BITS:
        return node[:-1], node[-1]
    rest, leaf = _without_leaf(node[-1], shift - _BITS)
    return (*node[:-1], rest) if rest else node[:-1], leaf


def _with_item(node: _Node, shift: int, index: int, item: Any) -> _Node:
    place = index >> shift & _MASK
    child = item if not shift else _with_item(node[place], shift - _BITS, index, item)
    return (*node[:place], child, *node[place + 1 :])
