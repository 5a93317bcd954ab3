"""Pages, docstrings and comments are in plain words, and no class is too large.

Words and phrases that are not used stand in a table. A row has the reason and what to write in its place.
Code is not read: neither blocks, nor what stands in backticks. Old entries of CHANGELOG.md are history and
are not read either.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from scripts.pages import public_modules
from tests.test_docs_names import PACKAGES, PAGES, ROOT, sources

# Pages that describe the library. The others may say who "we" are.
REFERENCE_PAGES = frozenset(
    f"docs/{name}.md"
    for name in ("checkpoints", "distributed", "extending", "graphs", "questions", "semantics", "sessions")
)

THINGS = "client|device|graph|kernel|master|node|plan|process|server|session|step|task|tensor|variable|worker"


class Row(NamedTuple):
    """Words that are not used.

    Attributes:
        pattern: a regular expression without regard to case; a space is any white space.
        reason: why not.
        better: what to write in its place.
        only: the pages to which the row applies; all texts if empty.
    """

    pattern: str
    reason: str
    better: str
    only: frozenset[str] = frozenset()


ADVERTISING = "it praises and says nothing"
TALKING_DOWN = "who does not find it so is told that he should"
FILLER = "the sentence says the same without it"
OTHER_NAME = "the field has a word for it"

TABLE = [
    Row(r"powerful|blazing(ly)?|lightning[- ]fast|awesome|amazing", ADVERTISING, "a figure"),
    Row(r"seamless(ly)?|elegant(ly)?|effortless(ly)?|rock[- ]solid", ADVERTISING, "what happens"),
    Row(r"cutting[- ]edge|state[- ]of[- ]the[- ]art|next[- ]generation", ADVERTISING, "what is new"),
    Row(r"simply|easily|trivial(ly)?|straightforward(ly)?", TALKING_DOWN, "nothing"),
    Row(r"obvious(ly)?|of course|clearly|needless to say", TALKING_DOWN, "nothing, or the reason"),
    Row(r"just(?![- ]in[- ]time)", FILLER, "only, or the time that is meant"),
    Row(r"actually|basically|really|quite", FILLER, "nothing"),
    Row(r"note that|please|it should be noted", FILLER, "the sentence without it"),
    Row(r"in order to", FILLER, "to"),
    Row(r"utili[sz]e[sd]?|leverag(e|es|ing)", "a longer word for a short one", "use"),
    Row(r"via|e\.g\.|i\.e\.|etc\.|viz\.", "an abbreviation of Latin", "by, for example, that is"),
    Row(
        r"\w+n't|(it|that|there|here|we|you|they|let|what|who|he|she)'(s|re|ve|ll|d)|i'm",
        "contractions are not used",
        "both words",
    ),
    # The dialect that the project had.
    Row(r"who waits", OTHER_NAME, "the calls that wait"),
    Row(r"(take|takes|took) in(?= (new|what|the|nodes)\b|[.,;])", OTHER_NAME, "extend, register"),
    Row(r"lets? go of|letting go of", OTHER_NAME, "release"),
    Row(r"(comes?|came) to rest", OTHER_NAME, "is quiescent, becomes idle"),
    Row(r"lives? in part", OTHER_NAME, "is partially dead"),
    Row(r"what (is|was) fed", OTHER_NAME, "the feeds"),
    Row(r"rooms|(a|the|this|that|each|every|no|lower|upper) room(?! for)", OTHER_NAME, "package, folder"),
    Row(r"and (its|their) kin", OTHER_NAME, "the names, or: and similar ones"),
    Row(r"words? (that|which) builds?|way of a value home", OTHER_NAME, "function, answer"),
    Row(r"vigils?|companions?|fates of", "a metaphor", "monitor, sidecar, outcome"),
    Row(r"as ever|at will", "a turn of speech", "as before, to any depth"),
    # Grammar, where a rule can tell.
    Row(
        rf"(if|when|whether|because|unless|while|until) ({THINGS}) (is|has|was|may|can|will|does)",
        "the article is missing",
        "a, the or each before the noun",
    ),
    Row(
        r"we|our|ours|ourselves|(?<!\d\s)us",
        "a reference describes the library",
        "the library, its parts",
        REFERENCE_PAGES,
    ),
]


def pattern_of(row: Row) -> re.Pattern[str]:
    """The expression of a row, for whole words."""
    spaced = row.pattern.replace(" ", r"\s+")
    return re.compile(rf"(?<![\w.-])(?:{spaced})(?![\w-])", re.IGNORECASE)


PATTERNS = [pattern_of(row) for row in TABLE]
DOUBLE = re.compile(r"(?<![\w.-])([a-z]+)(?: +| *\n *)\1(?![\w-])", re.IGNORECASE)

# What may be prose in a module; it is cheaper to find than what is.
PROSE = re.compile(r'""".*?"""|#[^\n]*', re.DOTALL)


class Text(NamedTuple):
    """A piece of prose, and where it begins.

    Attributes:
        file: its file, relative to the repository.
        line: number of its first line.
        words: the text, with as many lines as in the file, without code.
    """

    file: str
    line: int
    words: str


def blank(found: re.Match[str]) -> str:
    """A sign that is no word, and the line ends of what it stands for."""
    return "`" + "\n" * found[0].count("\n")


def without_code(text: str) -> str:
    """A text without blocks of code, code in a line, and the targets of links."""
    text = re.sub(r"^```.*?^```", blank, text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"(?<=\n\n)( {4}[^\n]*\n)+(?=\n|$)", blank, text) if text.startswith("#") else text
    return re.sub(r"(`+)[^`]+\1|\]\([^)]*\)|<[^>\n]*>|https?:\S+", blank, text)


def page_text(page: Path) -> Text:
    """The prose of a page."""
    return Text(page.relative_to(ROOT).as_posix(), 1, without_code(page.read_text(encoding="utf-8")))


def source_texts(file: str, source: str) -> Iterator[Text]:
    """The docstrings and comments of a module; comments on successive lines are one text."""
    comment: list[str] = []
    first = last = 0
    before = tokenize.ENCODING
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if comment and token.start[0] == last + 1:
                comment.append(token.string)
            else:
                yield from _comment(file, first, comment)
                comment, first = [token.string], token.start[0]
            last = token.start[0]
        elif token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            if token.type == tokenize.STRING and before in (tokenize.ENCODING, tokenize.NEWLINE):
                yield Text(file, token.start[0], without_code(token.string))
            before = token.type
    yield from _comment(file, first, comment)


def _comment(file: str, first: int, lines: list[str]) -> Iterator[Text]:
    if lines:
        yield Text(file, first, without_code("\n".join(line.lstrip("# ") for line in lines)))


@cache
def texts() -> tuple[Text, ...]:
    """All prose of the project; of modules only those in which a word of the table may stand."""
    found = [page_text(page) for page in PAGES]
    patterns = [p for p, row in zip(PATTERNS, TABLE, strict=True) if not row.only]
    for file in sources():
        source = (ROOT / file).read_text(encoding="utf-8")
        prose = "\n".join(PROSE.findall(source))
        if any(pattern.search(prose) for pattern in [*patterns, DOUBLE]):
            found.extend(source_texts(file, source))
    return tuple(found)


def place(text: Text, position: int) -> str:
    """The file and line of a position in a text."""
    return f"{text.file}:{text.line + text.words.count(chr(10), 0, position)}"


def findings(text: Text) -> Iterator[str]:
    """One line for each word of a text that is not used, with the reason and what to write."""
    for row, pattern in zip(TABLE, PATTERNS, strict=True):
        if row.only and text.file not in row.only:
            continue
        for found in pattern.finditer(text.words):
            said = " ".join(found[0].split())
            yield f"{place(text, found.start())}: {said!r}: {row.reason}; write: {row.better}"
    for found in DOUBLE.finditer(text.words):
        yield f"{place(text, found.start())}: {found[1]!r} stands twice"


@pytest.mark.slow
def test_pages_docstrings_and_comments_have_no_word_of_the_table() -> None:
    found = [line for text in texts() for line in findings(text)]
    assert found == [], "\n".join(found)


def messages(tree: ast.Module) -> Iterator[ast.Constant]:
    """The texts of a module that are no docstrings: those of its errors, and what these are made of."""
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            yield node


def messages_of_tensorflow(file: str, source: str) -> list[str]:
    """Where a text of the library names something of TensorFlow's package that a program may not have."""
    return [
        f"{file}:{text.lineno}: {text.value!r}: a program has no `tf`; write: the name without it"
        for text in messages(ast.parse(source))
        if re.search(r"(?<![\w.])tf\.[A-Za-z]", str(text.value))
    ]


def test_native_errors_do_not_name_tensorflow_s_package() -> None:
    native = [file for file in sources() if "/compat/" not in file]
    found = []
    for file in native:
        source = (ROOT / file).read_text(encoding="utf-8")
        if "tf." in source:
            found += messages_of_tensorflow(file, source)
    assert found == [], "\n".join(found)


def test_only_compat_speaks_of_compatibility() -> None:
    """What only programs of TensorFlow 1 need is there; older arguments are rows of ``ops/arguments.py``."""
    spoken = re.compile(r"for compat|[Oo]lder (name|spelling) of ``")
    found = [
        f"{file}: {match[0]!r}: say what it does, or move it to compat"
        for file in sources()
        if "/compat/" not in file
        for match in spoken.finditer((ROOT / file).read_text(encoding="utf-8"))
    ]
    assert found == [], "\n".join(found)


PAGE = """\
# A page

This is a very good
page. It is `simply` [what](simply.md) it is.

```python
simply = 1
```

You simply call the the function.
"""

MODULE = '''\
"""Return what is there.

It lets go of ``just`` the lock.
"""

x = "simply"  # a comment
# that goes on: the room
# of of a class
'''


def test_a_planted_word_would_be_noticed_with_its_file_and_line() -> None:
    page = Text("docs/page.md", 1, without_code(PAGE))
    assert list(findings(page)) == [
        f"docs/page.md:10: 'simply': {TALKING_DOWN}; write: nothing",
        "docs/page.md:10: 'the' stands twice",
    ]
    module = [line for text in source_texts("a.py", MODULE) for line in findings(text)]
    assert module == [
        f"a.py:3: 'lets go of': {OTHER_NAME}; write: release",
        f"a.py:7: 'the room': {OTHER_NAME}; write: package, folder",
        "a.py:8: 'of' stands twice",
    ]


@pytest.mark.parametrize(
    ("said", "rows"),
    [
        ("It doesn't, and that's it.", 2),
        ("A just-in-time compiler takes in 3 bytes; there is room for more.", 0),
        ("The step fails if session is closed.", 1),
        ("The step fails if the session is closed.", 0),
        ("It takes\nin new nodes.", 1),
    ],
)
def test_a_row_finds_what_it_means_and_nothing_else(said: str, rows: int) -> None:
    assert len(list(findings(Text("a.py", 1, without_code(said))))) == rows


def test_only_reference_pages_have_no_we() -> None:
    assert list(findings(Text("README.md", 1, "We chose it. It takes 3 us."))) == []
    assert len(list(findings(Text("docs/sessions.md", 1, "We chose it. It takes 3 us.")))) == 1


def test_a_message_with_tensorflow_s_package_would_be_noticed() -> None:
    source = 'def f(x):\n    raise ValueError(f"{x} is no tf.float32")\n'
    (found,) = messages_of_tensorflow("a.py", source)
    assert found.startswith("a.py:2: ' is no tf.float32': ")
    source = 'def text(x):\n    """Say tf.x."""\n    said = f"a symbolic `tf.Tensor` {x}"\n    return said\n'
    (found,) = messages_of_tensorflow("a.py", source)
    assert found.startswith("a.py:3: ")


@pytest.mark.slow
def test_the_texts_are_read() -> None:
    """Guards against a pattern of files that matches none."""
    assert len([text for text in texts() if text.file.endswith(".md")]) == len(PAGES)
    assert {file.split("/")[0] for file in sources()} == set(PACKAGES)
    (first, *_) = source_texts("a.py", (ROOT / "transports/frame.py").read_text(encoding="utf-8"))
    assert first.line == 1


MOST_METHODS, MOST_LINES = 30, 400

# Classes that are larger. The list only gets shorter: a class that is split leaves it, and none is added.
LARGE = frozenset({"Distribution", "Message", "Variable"})


def sizes_of_classes(source: str) -> Iterator[tuple[str, int, int]]:
    """The name of each class, how many methods it has, and how many lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and node.end_lineno is not None:
            kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
            methods = sum(isinstance(item, kinds) for item in node.body)
            yield node.name, methods, node.end_lineno - node.lineno + 1


def test_no_class_is_large_but_for_a_list_that_gets_shorter() -> None:
    texts = [(ROOT / file).read_text(encoding="utf-8") for file in sources()]
    # Only what may have such a class is parsed, a tenth of the files.
    may = [text for text in texts if text.count("def ") > MOST_METHODS or text.count("\n") > MOST_LINES]
    large = {
        name
        for source in may
        for name, methods, lines in sizes_of_classes(source)
        if methods > MOST_METHODS or lines > MOST_LINES
    }
    assert sorted(large - LARGE) == [], "split them by the state that each part owns"
    assert sorted(LARGE - large) == [], "they are small now: take them out of LARGE"


def test_methods_and_lines_of_a_class_are_counted() -> None:
    source = "class A:\n    x = 1\n    def f(self): ...\n    async def g(self):\n        def h(): ...\n"
    assert list(sizes_of_classes(source)) == [("A", 2, 5)]


MOST_SKIPS = 150


def test_the_formatter_is_obeyed_but_for_a_few_tables() -> None:
    folders = ("actorsession", "transports", "tests", "scripts", "examples")
    files = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    marks = sum(path.read_text(encoding="utf-8").count("# fmt: " + "skip") for path in files)
    assert marks <= MOST_SKIPS, "lay the table out as the formatter does"


# How many imports of modules that are not public the tests have. It only gets smaller.
MOST_INNER_IMPORTS = 765

INNER_IMPORT = re.compile(r"^\s*(?:from|import) (actorsession(?:\.\w+){2,})", re.MULTILINE)


def modules_of_tests() -> Iterator[tuple[str, str]]:
    """The path of each module below ``tests``, relative to the repository, and its source."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def inner_imports(source: str) -> list[str]:
    """The modules of packages that are imported, also by programs in texts, but for those that are public."""
    public = {module.__name__ for module in public_modules().values()}
    return [
        module
        for module in INNER_IMPORT.findall(source)
        if module not in public and not f"{module}.".startswith("actorsession.compat.v1.")
    ]


def test_tests_use_public_names_but_for_those_of_inner_modules() -> None:
    count = sum(len(inner_imports(source)) for _, source in modules_of_tests())
    assert count <= MOST_INNER_IMPORTS, "import from actorsession, a namespace of it, extend or compat.v1"


def test_imports_of_inner_modules_are_counted() -> None:
    source = """
import actorsession.compat.v1 as tf
import actorsession.plan.prune
from actorsession import Graph
from actorsession.actors import Deadline
from actorsession.namespaces.nn import relu
PROGRAM = '''
from actorsession.plan.place import Placer
'''
"""
    assert inner_imports(source) == ["actorsession.plan.prune", "actorsession.plan.place"]


# How many patches of names of the library's own modules and classes the tests have. It only gets smaller: a
# test names a behaviour by public names, and brings a condition about as it comes about elsewhere.
MOST_PATCHES = 60

PATCHES = {"setattr", "setitem", "delattr", "delitem", "object", "dict", "patch"}
OWN = ("actorsession", "transports", "scripts")
# What a module has that patches: only such are parsed, an eighth of the files.
CALLS_PATCH = re.compile(
    r"(?:monkeypatch|patch|mock|patched)[\w.]*\s*\.\s*(?:" + "|".join(PATCHES) + r")\b|\bpatch\s*\("
)


def inner_patches(source: str) -> Iterator[str]:
    """The patches of what is the library's own, or of what a local name stands for, which a text cannot tell."""
    tree = ast.parse(source)
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name.split(".")[0]: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    names |= {node.name: "tests" for node in tree.body if isinstance(node, ast.ClassDef)} | {"globals": "tests"}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args or not _is_patch(node.func):
            continue
        target = node.args[0]
        root = next((part for part in ast.walk(target) if isinstance(part, ast.Name)), None)
        text = next((part.value for part in ast.walk(target) if isinstance(part, ast.Constant)), None)
        owner = names.get(root.id, OWN[0]) if root is not None else str(text)
        if owner.split(".")[0] in OWN:
            yield f"{node.lineno}: {ast.unparse(node)}"


def _is_patch(function: ast.expr) -> bool:
    """Whether a function is one of ``monkeypatch`` or of ``unittest.mock.patch``."""
    if isinstance(function, ast.Name):
        return function.id == "patch"
    return (
        isinstance(function, ast.Attribute)
        and function.attr in PATCHES
        and ast.unparse(function.value).split(".")[0] in ("monkeypatch", "patch", "mock", "patched")
    )


def test_tests_patch_few_names_of_the_library() -> None:
    may = [(file, source) for file, source in modules_of_tests() if CALLS_PATCH.search(source)]
    patches = [f"{file}:{patch}" for file, source in may for patch in inner_patches(source)]
    assert len(patches) <= MOST_PATCHES, "\n".join(patches)


def test_patches_of_the_library_are_told_from_others() -> None:
    source = """
import os
from unittest import mock
from actorsession.rpc import pushes
class Fake: ...
def test(monkeypatch, cache):
    monkeypatch.setattr(os, "fsync", print)
    monkeypatch.setattr(Fake, "x", 1)
    monkeypatch.setenv("A", "b")
    monkeypatch.setattr(pushes, "MAX_KEYS", 2)
    monkeypatch.setattr("actorsession.rpc.link.decode", print)
    monkeypatch.setattr(type(cache), "push", print)
    with mock.patch.object(pushes, "read_value"), mock.patch("os.link"):
        pass
"""
    assert [int(patch.partition(":")[0]) for patch in inner_patches(source)] == [10, 11, 12, 13]
    assert all(CALLS_PATCH.search(patch) for patch in inner_patches(source))


# Locals, arguments and functions whose name says how a value came about and not what it is. The number only gets
# smaller: a noun of the field says more.
MOST_VAGUE_NAMES = 26

VAGUE = {"found", "made", "wanted"}
# Where such a name stands as one may where it is bound: half of the files are parsed.
MAY_BIND = re.compile(rf"(?<![\w.])(?:{'|'.join(VAGUE)})\s*(?:[-+*/%@&|^<>]*=|[:,()\]]|in\b|if\b|for\b)")


def vague_names(source: str) -> Iterator[str]:
    """The places where a module binds a vague name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            name = node.name
        else:
            continue
        if name in VAGUE:
            yield f"{node.lineno}: {name}"


@pytest.mark.slow
def test_vague_names_of_locals_become_fewer() -> None:
    texts = [(ROOT / file).read_text(encoding="utf-8") for file in sources()]
    may = [text for text in texts if MAY_BIND.search(text)]
    count = sum(1 for text in may for _ in vague_names(text))
    assert count <= MOST_VAGUE_NAMES, "name locals, arguments and functions by what they are"


def test_a_vague_name_is_counted_where_it_is_bound() -> None:
    source = "def made(wanted):\n    found = wanted\n    x.found = found\n    return {'found': found}\n"
    assert list(vague_names(source)) == ["1: made", "1: wanted", "2: found"]


# Words of file names that are metaphors, with what was meant.
METAPHORS = re.compile(
    r"(?:^|_)(ways?|roads?|hands?|storms?|moments?|obstacles?|flips?|companions?|vigils?|fates?|lapses?|promises?"
    r"|strangers?|mortality|faces?|shortage|holding|dropping)(?:_|$)"
)


def test_files_are_named_by_terms_of_the_field() -> None:
    folders = ("actorsession", "transports", "tests", "scripts", "examples")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py") if METAPHORS.search(path.stem)]
    assert files == [], "name a file by its subject"
