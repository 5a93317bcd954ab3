"""``six``: what differed between Python 2 and 3, as Python 3 has it."""

from __future__ import annotations

import functools
import importlib
import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO, StringIO
from types import ModuleType
from typing import Any, NoReturn

__all__ = [
    "MAXSIZE",
    "PY2",
    "PY3",
    "PY34",
    "BytesIO",
    "StringIO",
    "add_metaclass",
    "advance_iterator",
    "b",
    "binary_type",
    "byte2int",
    "callable",
    "class_types",
    "create_bound_method",
    "ensure_binary",
    "ensure_str",
    "ensure_text",
    "exec_",
    "get_function_closure",
    "get_function_code",
    "get_function_defaults",
    "get_function_globals",
    "get_method_function",
    "get_method_self",
    "indexbytes",
    "int2byte",
    "integer_types",
    "iterbytes",
    "iteritems",
    "iterkeys",
    "iterlists",
    "itervalues",
    "moves",
    "next",
    "print_",
    "python_2_unicode_compatible",
    "raise_from",
    "reraise",
    "string_types",
    "text_type",
    "u",
    "unichr",
    "viewitems",
    "viewkeys",
    "viewvalues",
    "with_metaclass",
    "wraps",
]

PY2, PY3, PY34 = False, True, True
MAXSIZE = sys.maxsize
string_types: tuple[type, ...] = (str,)
integer_types: tuple[type, ...] = (int,)
class_types: tuple[type, ...] = (type,)
text_type, binary_type = str, bytes
unichr, wraps, callable, next = chr, functools.wraps, callable, next
advance_iterator, print_ = next, print
byte2int, indexbytes, iterbytes = operator.itemgetter(0), operator.getitem, iter
get_function_closure, get_function_code = (operator.attrgetter("__closure__"), operator.attrgetter("__code__"))
get_function_defaults, get_function_globals = (operator.attrgetter("__defaults__"), operator.attrgetter("__globals__"))
get_method_function, get_method_self = (operator.attrgetter("__func__"), operator.attrgetter("__self__"))


def iteritems(d: Mapping[Any, Any], **kwargs: Any) -> Iterator[Any]:
    """Return an iterator over the items of a dict."""
    return iter(d.items())


def iterkeys(d: Mapping[Any, Any], **kwargs: Any) -> Iterator[Any]:
    """Return an iterator over the keys of a dict."""
    return iter(d.keys())


def itervalues(d: Mapping[Any, Any], **kwargs: Any) -> Iterator[Any]:
    """Return an iterator over the values of a dict."""
    return iter(d.values())


def iterlists(d: Any, **kwargs: Any) -> Iterator[Any]:
    """Return an iterator over the lists of a dict of lists."""
    return iter(d.lists())


viewitems, viewkeys, viewvalues = (
    operator.methodcaller("items"),
    operator.methodcaller("keys"),
    operator.methodcaller("values"),
)


def int2byte(i: int) -> bytes:
    """Return a byte."""
    return bytes((i,))


def b(s: str) -> bytes:
    """Return a text of Latin letters as bytes."""
    return s.encode("latin-1")


def u(s: str) -> str:
    """Return a text."""
    return s


def ensure_binary(s: str | bytes, encoding: str = "utf-8", errors: str = "strict") -> bytes:
    """Return a text as bytes, and bytes as they are."""
    return s if isinstance(s, bytes) else s.encode(encoding, errors)


def ensure_text(s: str | bytes, encoding: str = "utf-8", errors: str = "strict") -> str:
    """Return bytes as a text, and a text as it is."""
    return s.decode(encoding, errors) if isinstance(s, bytes) else s


ensure_str = ensure_text


def raise_from(value: BaseException, from_value: BaseException | None) -> NoReturn:
    """Raise an error whose cause is another one."""
    raise value from from_value


def reraise(tp: Any, value: BaseException | None, tb: Any = None) -> NoReturn:
    """Raise an error with a traceback."""
    raised = tp() if value is None else value
    raise raised.with_traceback(tb)


def exec_(code: Any, globs: Any = None, locs: Any = None) -> NoReturn:
    """Refuse to run text.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("six.exec_ runs text as a program; call exec()")


def create_bound_method(func: Any, obj: Any) -> Any:
    """Return a function as a method of an object."""
    return func.__get__(obj)


def python_2_unicode_compatible(cls: type) -> type:
    """Return the class."""
    return cls


def add_metaclass(metaclass: type) -> Callable[[type], type]:
    """Return a decorator that makes a class again with a metaclass."""

    def again(cls: type) -> type:
        body = {key: value for key, value in vars(cls).items() if key not in _OF_CLASS}
        for slot in [cls.__dict__.get("__slots__", ())]:
            for name in [slot] if isinstance(slot, str) else slot:
                body.pop(name, None)
        copied: type = metaclass(cls.__name__, cls.__bases__, body)
        return copied

    return again


_OF_CLASS = ("__dict__", "__weakref__")


def with_metaclass(meta: type, *bases: type) -> type:
    """Return a base whose subclasses have a metaclass, and other bases in its place."""

    class Between(type):
        def __new__(cls, name: str, _: Any, body: dict[str, Any]) -> type:
            created: type = meta(name, bases, body)
            return created

        @classmethod
        def __prepare__(cls, name: str, _: Any, **kwargs: Any) -> Any:  # type: ignore[override]
            return meta.__prepare__(name, bases)

    return type.__new__(Between, "temporary_class", (), {})


# -- six.moves ---------------------------------------------------------------------------------

# Builtins, modules, and names of modules, by their names in ``six.moves``.
_MOVED = {
    "BaseHTTPServer": "http.server", "SimpleHTTPServer": "http.server", "StringIO": "io:StringIO",
    "builtins": "builtins", "cPickle": "pickle", "cStringIO": "io:StringIO",
    "configparser": "configparser", "copyreg": "copyreg", "email_mime_text": "email.mime.text",
    "filter": "builtins:filter", "filterfalse": "itertools:filterfalse", "getcwd": "os:getcwd",
    "getoutput": "subprocess:getoutput", "html_entities": "html.entities",
    "html_parser": "html.parser", "http_client": "http.client", "http_cookiejar": "http.cookiejar",
    "http_cookies": "http.cookies", "input": "builtins:input", "intern": "sys:intern",
    "map": "builtins:map", "queue": "queue", "range": "builtins:range", "reduce": "functools:reduce",
    "reload_module": "importlib:reload", "reprlib": "reprlib", "shlex_quote": "shlex:quote",
    "socketserver": "socketserver", "tkinter": "tkinter", "urllib": "urllib",
    "urllib_parse": "urllib.parse", "xmlrpc_client": "xmlrpc.client", "xrange": "builtins:range",
    "zip": "builtins:zip", "zip_longest": "itertools:zip_longest",
}  # fmt: skip


class _Moves(ModuleType):
    """What has another name or place in Python 3."""

    def __init__(self) -> None:
        super().__init__("six.moves", self.__doc__)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name not in _MOVED:
            raise AttributeError(f"module 'six.moves' has no attribute {name!r}", name=name)
        where, _, attribute = _MOVED[name].partition(":")
        value: Any = importlib.import_module(where)
        if name == "urllib":
            for inner in "parse", "request", "error", "response", "robotparser":
                importlib.import_module(f"urllib.{inner}")
        value = getattr(value, attribute) if attribute else value
        setattr(self, name, value)
        return value


moves = _Moves()
