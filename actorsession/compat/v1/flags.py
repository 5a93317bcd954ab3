"""Command-line flags as TensorFlow 1 programs define them.

``DEFINE_string("name", default, help)`` adds a flag and ``FLAGS.name`` reads it. The first read parses the
command line; flags that nobody has defined are left in place then, and by ``app.run``. Behaviour and errors
are those of ``absl.flags``, on which TensorFlow's stand.
"""

from __future__ import annotations

import difflib
import enum
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from actorsession.errors import PicklableError
from actorsession.process_bound import ProcessBound

__all__ = [
    "FLAGS",
    "DEFINE_alias",
    "DEFINE_bool",
    "DEFINE_boolean",
    "DEFINE_enum",
    "DEFINE_enum_class",
    "DEFINE_float",
    "DEFINE_integer",
    "DEFINE_list",
    "DEFINE_multi_enum",
    "DEFINE_multi_float",
    "DEFINE_multi_integer",
    "DEFINE_multi_string",
    "DEFINE_spaceseplist",
    "DEFINE_string",
    "DuplicateFlagError",
    "Error",
    "Flag",
    "FlagHolder",
    "FlagValues",
    "IllegalFlagValueError",
    "UnparsedFlagAccessError",
    "UnrecognizedFlagError",
    "ValidationError",
    "declare_key_flag",
    "mark_bool_flags_as_mutual_exclusive",
    "mark_flag_as_required",
    "mark_flags_as_mutual_exclusive",
    "mark_flags_as_required",
    "multi_flags_validator",
    "override_value",
    "register_multi_flags_validator",
    "register_validator",
    "set_default",
    "validator",
]

_TRUE, _FALSE = ("true", "t", "1", "yes", "y"), ("false", "f", "0", "no", "n")


class Error(PicklableError):
    """A flag cannot be defined, or the command line cannot be read."""


class DuplicateFlagError(Error):
    """Two modules define a flag of one name."""


class IllegalFlagValueError(Error):
    """A flag does not take that value."""


class UnrecognizedFlagError(Error):
    """The command line has a flag that is not defined.

    Args:
        flagname: its name.
        flagvalue: its value.
        suggestions: names that are spelt like it.
    """

    def __init__(self, flagname: str, flagvalue: str = "", suggestions: Iterable[str] | None = None) -> None:
        self.flagname, self.flagvalue = flagname, flagvalue
        meant = ", ".join(suggestions or ())
        super().__init__(f"Unknown command line flag '{flagname}'" + (f". Did you mean: {meant} ?" if meant else ""))


class UnparsedFlagAccessError(Error):
    """A flag is read before the command line is."""


class ValidationError(Error):
    """A value does not pass a validator."""


class _OfProgram(ProcessBound):
    instead = "send their values, FLAGS.flag_values_dict()"


@dataclass(kw_only=True)
class Flag(_OfProgram):
    """A flag of the program.

    Attributes:
        name: the name after ``--``.
        default: the value if the flag is not given.
        help: the help text.
        parse: reads a value, from text or from what a program assigns.
        boolean: whether it needs no value.
        multi: whether it is given several times, which makes a list.
        module: who defined it.
        value: the value now.
        present: how often it was given.
        using_default_value: whether the value is the default.
    """

    name: str
    default: Any
    help: str | None
    parse: Callable[[Any], Any]
    boolean: bool = False
    multi: bool = False
    module: str = ""
    value: Any = None
    present: int = 0
    using_default_value: bool = True
    checks: list[Callable[[], None]] = field(default_factory=list)

    def read(self, setting: Any) -> None:
        """Set the value from one appearance on the command line, or from an assignment.

        Raises:
            IllegalFlagValueError: for a value that the flag does not take.
        """
        several = self.multi and isinstance(setting, list)
        value = [self.checked(one) for one in setting] if several else self.checked(setting)
        if self.multi and not several and value is not None:
            value = [*(self.value if self.present else []), value]
        self.value, self.using_default_value = value, False

    def checked(self, setting: Any) -> Any:
        """Return one value as the flag has it."""
        if setting is None:
            return None
        try:
            return self.parse(setting)
        except (TypeError, ValueError) as exc:
            raise IllegalFlagValueError(f"flag --{self.name}={setting}: {exc}") from None

    def reset(self) -> None:
        """Set the value to the default."""
        default = self.default
        if self.multi and default is not None:
            listed = default if isinstance(default, (list, tuple)) else [default]
            self.value = [self.checked(one) for one in listed]
        else:
            self.value = self.checked(default)
        self.present, self.using_default_value = 0, True


class FlagHolder(_OfProgram):
    """What a definition returns: its name, its default, and its value when that is read.

    Args:
        flags: the flags of the program.
        name: the name of the flag.
    """

    def __init__(self, flags: FlagValues, name: str) -> None:
        self._flags, self.name = flags, name

    @property
    def value(self) -> Any:
        """The value now."""
        return getattr(self._flags, self.name)

    @property
    def default(self) -> Any:
        """The value if the flag is not given."""
        return self._flags[self.name].default

    @property
    def present(self) -> int:
        """How often the flag was given."""
        return self._flags[self.name].present


class FlagValues(_OfProgram):
    """The flags of a program, with their values as attributes.

    Calling it parses a command line: ``rest = FLAGS(sys.argv)``.
    """

    def __init__(self) -> None:
        self.__dict__.update(_flags={}, _parsed=False)

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Parse a command line.

        Args:
            argv: the name of the program, and its arguments.
            known_only: whether flags that are not defined are left, and no errors.

        Returns:
            The name of the program and all arguments that are no flags.

        Raises:
            Error: for flags that are not defined, without a value, or with a wrong one.
        """
        if isinstance(argv, (str, bytes)):
            raise TypeError(f"argv should be a tuple/list of strings, not {argv!r:.80}")
        if not argv:
            raise ValueError("argv cannot be an empty list; it should contain the program name")
        flags: dict[str, Flag] = self.__dict__["_flags"]
        for flag in flags.values():
            flag.present = 0
        rest = [argv[0]]
        words = iter(argv[1:])
        for word in words:
            if word == "--":
                rest += words
            elif not word.startswith("-") or word == "-":
                rest.append(word)
            elif (match := self._find(word)) is not None:
                _read_word(*match, words)
            elif known_only:
                rest.append(word)
            else:
                name, _, value = word.lstrip("-").partition("=")
                near = difflib.get_close_matches(name, flags, n=3)
                raise UnrecognizedFlagError(name, value, near)
        self.__dict__["_parsed"] = True
        self._check(flags.values())
        return rest

    def _find(self, word: str) -> tuple[Flag, str, str | None] | None:
        """The flag that a word names, the name in it, and the value in it."""
        flags: dict[str, Flag] = self.__dict__["_flags"]
        name, equals, value = word.lstrip("-").partition("=")
        if name in flags:
            return flags[name], name, value if equals else None
        refused = flags.get(name.removeprefix("no")) if name.startswith("no") else None
        if refused is not None and refused.boolean and not equals:
            return refused, name, "false"
        return None

    def _check(self, flags: Iterable[Flag]) -> None:
        for flag in flags:
            for check in flag.checks:
                check()

    def _add(self, flag: Flag) -> FlagHolder:
        flags: dict[str, Flag] = self.__dict__["_flags"]
        former = flags.get(flag.name)
        if former is not None and former.module != flag.module:
            raise DuplicateFlagError(
                f"The flag '{flag.name}' is defined twice. First from {former.module}, second from "
                f"{flag.module}. Description from first occurrence: {former.help}"
            )
        flag.reset()
        flags[flag.name] = flag
        self.__dict__["_parsed"] = False
        return FlagHolder(self, flag.name)

    def _parse_flags(self, args: Sequence[str] | None = None) -> None:
        """Read the command line, as programs ask for that were written before TensorFlow 1.5."""
        self(["", *(sys.argv[1:] if args is None else args)], known_only=True)

    def _parse_once(self) -> None:
        if not self.__dict__["_parsed"]:
            self(sys.argv or [""], known_only=True)

    def __getattr__(self, name: str) -> Any:
        flags: dict[str, Flag] = self.__dict__["_flags"]
        if name == "__flags":  # programs print them all
            self._parse_once()
            return dict(flags)
        if name.startswith("__") or name not in flags:
            raise AttributeError(name)
        self._parse_once()
        return flags[name].value

    def __setattr__(self, name: str, value: Any) -> None:
        flags: dict[str, Flag] = self.__dict__["_flags"]
        if name not in flags:
            raise AttributeError(f"there is no flag {name!r}")
        self._parse_once()
        flag = flags[name]
        former = flag.value, flag.using_default_value
        # As it is: a string stays one in a flag of numbers, as in absl.
        flag.value, flag.using_default_value = value, False
        try:
            self._check([flag])
        except IllegalFlagValueError:
            flag.value, flag.using_default_value = former
            raise

    def __getitem__(self, name: str) -> Flag:
        flag: Flag = self.__dict__["_flags"][name]
        return flag

    def __delattr__(self, name: str) -> None:
        if self.__dict__["_flags"].pop(name, None) is None:
            raise AttributeError(name)

    def __contains__(self, name: object) -> bool:
        return name in self.__dict__["_flags"]

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__["_flags"])

    def __len__(self) -> int:
        return len(self.__dict__["_flags"])

    def __dir__(self) -> list[str]:
        return sorted(self.__dict__["_flags"])

    def is_parsed(self) -> bool:
        """Return whether a command line has been parsed."""
        return bool(self.__dict__["_parsed"])

    def mark_as_parsed(self) -> None:
        """Let flags be read without a command line."""
        self.__dict__["_parsed"] = True

    def unparse_flags(self) -> None:
        """Forget the command line: all flags have their defaults."""
        for flag in self.__dict__["_flags"].values():
            flag.reset()
        self.__dict__["_parsed"] = False

    def flag_values_dict(self) -> dict[str, Any]:
        """Return the values by name."""
        return {name: flag.value for name, flag in self.__dict__["_flags"].items()}

    def get_flag_value(self, name: str, default: Any) -> Any:
        """Return the value of a flag; ``default`` if it is not defined or has none."""
        value = getattr(self, name, None)
        return default if value is None else value

    def set_default(self, name: str, value: Any) -> None:
        """Change a default, and the value if the flag was not given."""
        flag = self[name]
        flag.default = value
        if flag.using_default_value:
            flag.reset()

    def find_module_defining_flag(self, flagname: str, default: Any = None) -> Any:
        """Return the name of the module that defines a flag."""
        return self[flagname].module if flagname in self else default

    def flags_into_string(self) -> str:
        """Return the values as lines of a command line."""
        return "".join(
            f"--{name}={flag.value}\n" for name, flag in self.__dict__["_flags"].items() if flag.value is not None
        )

    def main_module_help(self) -> str:
        """Return the help text of all flags."""
        lines = []
        for name, flag in sorted(self.__dict__["_flags"].items()):
            shown = f"--[no]{name}" if flag.boolean else f"--{name}"
            lines.append(f"  {shown}: {flag.help or ''}")
            if flag.default is not None:
                default = str(flag.default).lower() if flag.boolean else repr(flag.default)
                lines.append(f"    (default: {default})")
        return "\n".join(lines)

    get_help = main_module_help


def _read_word(flag: Flag, name: str, value: str | None, words: Iterator[str]) -> None:
    """Set a flag from a word of the command line, and from the next one if that has its value."""
    if value is None:
        value = "true" if flag.boolean else next(words, None)
    if value is None:
        raise Error(f"Missing value for flag --{name}")
    flag.read(value)
    flag.present += 1


FLAGS = FlagValues()
"""The flags of the program."""


# -- kinds -------------------------------------------------------------------------------------------


def _boolean(setting: Any) -> bool:
    if setting in (True, False):
        return bool(setting)
    if isinstance(setting, str) and setting.lower() in (*_TRUE, *_FALSE):
        return setting.lower() in _TRUE
    raise ValueError(f"Non-boolean argument to boolean flag: {setting}")


def _string(setting: Any) -> str:
    if not isinstance(setting, str):
        raise TypeError(f"flag value must be a string, found {setting!r:.80}")
    return setting


def _integer(setting: Any) -> int:
    if isinstance(setting, str):
        text = setting.lower()
        return int(setting, 16 if "0x" in text else 8 if "0o" in text else 10)
    return int(setting)


def _comma_list(setting: Any) -> list[str]:
    if isinstance(setting, str):
        return [part.strip() for part in setting.split(",")] if setting else []
    return list(setting)


def _space_list(setting: Any) -> list[str]:
    return setting.split() if isinstance(setting, str) else list(setting)


def _definer(parse: Callable[[Any], Any], *, boolean: bool = False, multi: bool = False) -> Any:
    def define(
        name: str,
        default: Any,
        help: str | None = "",
        flag_values: FlagValues = FLAGS,
        required: bool = False,
        **args: Any,
    ) -> FlagHolder:
        """Add a flag.

        Args:
            name: the name after ``--``.
            default: the value if the flag is not given.
            help: the help text.
            flag_values: where the flag is added.
            required: whether it must be given.
            **args: ``lower_bound`` and ``upper_bound`` of numbers; others change nothing.

        Returns:
            An object with its value.

        Raises:
            DuplicateFlagError: if another module defines a flag of that name.
        """
        low, high = args.get("lower_bound"), args.get("upper_bound")

        def bounded(setting: Any) -> Any:
            value = parse(setting)
            if (low is not None and value < low) or (high is not None and value > high):
                raise ValueError(f"{setting} is not {_range_text(low, high)}")
            return value

        flag = Flag(
            name=name, default=default, help=help, parse=bounded, boolean=boolean, multi=multi, module=_calling_module()
        )
        return _added(flag, flag_values, required)

    return define


def _range_text(low: Any, high: Any) -> str:
    if low is not None and high is not None:
        return f"in the range [{low}, {high}]"
    if low in (0, 1) and high is None:
        return "a positive integer" if low else "a non-negative integer"
    return f"at least {low}" if low is not None else f"at most {high}"


def _added(flag: Flag, flags: FlagValues, required: bool) -> FlagHolder:
    holder = flags._add(flag)
    if required:
        mark_flag_as_required(flag.name, flags)
    return holder


def _calling_module() -> str:
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "-"))


DEFINE_string = _definer(_string)
DEFINE_integer = _definer(_integer)
DEFINE_float = _definer(float)
DEFINE_bool = DEFINE_boolean = _definer(_boolean, boolean=True)
DEFINE_list = _definer(_comma_list)
DEFINE_spaceseplist = _definer(_space_list)
DEFINE_multi_string = _definer(_string, multi=True)
DEFINE_multi_integer = _definer(_integer, multi=True)
DEFINE_multi_float = _definer(float, multi=True)


def _choice(values: Sequence[str], case_sensitive: bool) -> Callable[[Any], str]:
    def parse(setting: Any) -> str:
        for value in values:
            if setting == value or (not case_sensitive and setting.lower() == value.lower()):
                return value
        raise ValueError(f"value should be one of <{'|'.join(values)}>")

    return parse


def DEFINE_enum(
    name: str,
    default: Any,
    enum_values: Sequence[str],
    help: str | None = "",
    flag_values: FlagValues = FLAGS,
    required: bool = False,
    case_sensitive: bool = True,
    **args: Any,
) -> FlagHolder:
    """Add a flag with one of the given values; the other arguments are those of ``DEFINE_string``."""
    flag = Flag(
        name=name,
        default=default,
        help=f"<{'|'.join(enum_values)}>: {help}",
        parse=_choice(list(enum_values), case_sensitive),
        module=_calling_module(),
        multi=bool(args.get("multi")),
    )
    return _added(flag, flag_values, required)


def DEFINE_multi_enum(
    name: str,
    default: Any,
    enum_values: Sequence[str],
    help: str | None = "",
    flag_values: FlagValues = FLAGS,
    case_sensitive: bool = True,
    **args: Any,
) -> FlagHolder:
    """Add a flag with several of the given values; the other arguments are those of ``DEFINE_enum``."""
    return DEFINE_enum(name, default, enum_values, help, flag_values, case_sensitive=case_sensitive, multi=True, **args)


def DEFINE_enum_class(
    name: str,
    default: Any,
    enum_class: type[enum.Enum],
    help: str | None = "",
    flag_values: FlagValues = FLAGS,
    required: bool = False,
    case_sensitive: bool = False,
    **args: Any,
) -> FlagHolder:
    """Add a flag with a member of an ``enum.Enum``; the other arguments are those of ``DEFINE_enum``."""
    read = _choice([member.name for member in enum_class], case_sensitive)

    def parse(setting: Any) -> Any:
        return setting if isinstance(setting, enum_class) else enum_class[read(setting)]

    flag = Flag(name=name, default=default, help=help, parse=parse, module=_calling_module())
    return _added(flag, flag_values, required)


def DEFINE_alias(name: str, original_name: str, flag_values: FlagValues = FLAGS) -> FlagHolder:
    """Add a second name of a flag."""
    flag_values.__dict__["_flags"][name] = flag_values[original_name]
    return FlagHolder(flag_values, name)


# -- checks ------------------------------------------------------------------------------------------


def register_validator(
    flag_name: str,
    checker: Callable[[Any], Any],
    message: str = "Flag validation failed",
    flag_values: FlagValues = FLAGS,
) -> None:
    """Have the value of a flag checked when the command line is parsed, and when it is assigned.

    Args:
        flag_name: the flag.
        checker: takes the value and returns whether it is right; it may raise ``ValidationError``.
        message: what the error says.
        flag_values: the flags of the program.
    """
    register_multi_flags_validator([flag_name], lambda values: checker(values[flag_name]), message, flag_values)


def register_multi_flags_validator(
    flag_names: Sequence[str],
    multi_flags_checker: Callable[[dict[str, Any]], Any],
    message: str = "Flags validation failed",
    flag_values: FlagValues = FLAGS,
) -> None:
    """Have the values of several flags checked together; see ``register_validator``.

    Args:
        flag_names: the flags.
        multi_flags_checker: takes a dict with their values.
        message: what the error says.
        flag_values: the flags of the program.
    """
    names = [getattr(name, "name", name) for name in flag_names]
    flags = [flag_values[name] for name in names]

    def check() -> None:
        values = {name: flag.value for name, flag in zip(names, flags, strict=True)}
        said = ", ".join(f"flag --{name}={value}" for name, value in values.items())
        try:
            if multi_flags_checker(values):
                return
            why = message
        except ValidationError as exc:
            why = str(exc)
        raise IllegalFlagValueError(f"{said}: {why}")

    for flag in flags:
        flag.checks.append(check)


def validator(
    flag_name: str, message: str = "Flag validation failed", flag_values: FlagValues = FLAGS
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Return a decorator for functions that check a flag; see ``register_validator``."""

    def decorate(checker: Callable[[Any], Any]) -> Callable[[Any], Any]:
        register_validator(flag_name, checker, message, flag_values)
        return checker

    return decorate


def multi_flags_validator(
    flag_names: Sequence[str], message: str = "Flag validation failed", flag_values: FlagValues = FLAGS
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Return a decorator for functions that check several flags; see ``register_multi_flags_validator``."""

    def decorate(checker: Callable[[Any], Any]) -> Callable[[Any], Any]:
        register_multi_flags_validator(flag_names, checker, message, flag_values)
        return checker

    return decorate


def mark_flag_as_required(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    """Make it an error if a flag has no value after the command line is parsed."""
    name = getattr(flag_name, "name", flag_name)
    register_validator(
        name, lambda value: value is not None, f"Flag --{name} must have a value other than None.", flag_values
    )


def mark_flags_as_required(flag_names: Iterable[str], flag_values: FlagValues = FLAGS) -> None:
    """Call ``mark_flag_as_required`` for several flags."""
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


def mark_flags_as_mutual_exclusive(
    flag_names: Sequence[str], required: bool = False, flag_values: FlagValues = FLAGS
) -> None:
    """Make it an error if more than one of some flags has a value, or none if one is required."""
    _at_most_one(flag_names, required, flag_values, lambda value: value is not None, "have a value other than None")


def mark_bool_flags_as_mutual_exclusive(
    flag_names: Sequence[str], required: bool = False, flag_values: FlagValues = FLAGS
) -> None:
    """Make it an error if more than one of some flags is true, or none if one is required."""
    _at_most_one(flag_names, required, flag_values, bool, "be True")


def _at_most_one(
    names: Sequence[str], required: bool, flags: FlagValues, is_given: Callable[[Any], bool], what: str
) -> None:
    def check(values: dict[str, Any]) -> bool:
        count = sum(map(is_given, values.values()))
        return count == 1 if required else count <= 1

    listed = ", ".join(str(getattr(name, "name", name)) for name in names)
    amount = "Exactly" if required else "At most"
    register_multi_flags_validator(names, check, f"{amount} one of ({listed}) must {what}.", flags)


def set_default(flag_holder: FlagHolder, value: Any) -> None:
    """Change the default of a flag, and its value if it was not given."""
    flag_holder._flags.set_default(flag_holder.name, value)


def override_value(flag_holder: FlagHolder, value: Any) -> None:
    """Change the value of a flag."""
    setattr(flag_holder._flags, flag_holder.name, value)


def declare_key_flag(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    """Check that a flag exists: one that a module counts among its own although another defines it.

    Raises:
        UnrecognizedFlagError: if it does not.
    """
    name = getattr(flag_name, "name", flag_name)
    if name not in flag_values:
        raise UnrecognizedFlagError(name)
