"""The catalogue of errors has what the code raises, with the message and the circumstances."""

from __future__ import annotations

import ast
import re
import textwrap

import pytest

from scripts.error_catalogue import Raised, catalogue_pages, error_classes, raised_errors, raised_in

MODULE = '''
    LATE = "it is late"

    class Wrong(ValueError):
        """Something is wrong.

        What to do: make it right.
        """

    def refuse(x):
        """Refuse what is none.

        Raises:
            Wrong: for an even number,
                or none.
            KeyError: without reason.
        """
        if x % 2 == 0:
            raise Wrong(f"{x!r} is even" + "; add one")
        if x > 3:
            return TypeError(LATE)
        try:
            raise KeyError
        except OSError as error:
            text = f"{error}: " + LATE
            raise RuntimeError(f"so {text}") from error
'''


def test_the_errors_of_a_module_are_read_with_message_condition_and_place() -> None:
    tree = ast.parse(textwrap.dedent(MODULE))
    kinds = error_classes([tree])
    assert kinds["Wrong"].startswith("Something is wrong.")
    first, second, third = raised_in(tree, "a.py", kinds)
    assert first == Raised("Wrong", "{x} is even; add one", "for an even number, or none", "a.py", "refuse", 19)
    assert (second.kind, second.message, second.when) == ("TypeError", "it is late", "`x > 3`")
    assert (third.kind, third.message, third.when) == ("RuntimeError", "so {text}", "`except OSError`")


@pytest.fixture(scope="module", name="raised")
def all_that_is_raised() -> list[Raised]:
    return raised_errors()


@pytest.mark.slow
def test_nearly_all_errors_have_a_message_and_a_condition(raised: list[Raised]) -> None:
    assert len(raised) > 3500
    assert sum(not each.message for each in raised) < len(raised) / 20
    assert sum(not each.when for each in raised) < len(raised) / 10


@pytest.mark.slow
def test_every_error_with_a_message_is_in_the_page_of_its_class(raised: list[Raised]) -> None:
    pages = catalogue_pages()
    shown = {name: " ".join(re.findall(r"^- .*", page, re.MULTILINE)) for name, page in pages.items()}
    lost = [
        each
        for each in raised
        if each.message
        and not each.kind.startswith("_")
        and " ".join(each.message.split()) not in shown[f"{each.kind}.md"]
    ]
    assert lost == []
    assert f"All {sum(page.count(chr(10) + '- ') for page in pages.values())} errors" in pages["index.md"]


@pytest.mark.slow
def test_the_class_of_a_code_says_what_to_do() -> None:
    from actorsession import errors

    codes = {value for value in vars(errors).values() if isinstance(value, type) and "error_code" in vars(value)}
    without = [kind.__name__ for kind in codes - {errors.OpError} if "What to do: " not in (kind.__doc__ or "")]
    assert without == []
