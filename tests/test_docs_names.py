"""What the pages and the docstrings of modules name exists: files, modules, classes and their members.

Everything is read from syntax trees; nothing is imported but the table of operation types.
"""

from __future__ import annotations

import ast
import builtins
import gc
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from actorsession.ops.op_modules import OP_MODULES

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("actorsession", "transports")
PAGES = sorted(
    [
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("docs/decisions/*.md"),
        ROOT / "CONTRIBUTING.md",
        ROOT / "README.md",
        ROOT / "SECURITY.md",
    ]
)


def names(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


# What looks like a path in a page and is none.
NO_FILES = frozenset({".toml"})

# Names that are neither ours nor TensorFlow's operation types: OpenBLAS's kernels, methods of protobuf's
# messages, and stand-ins for a family of names.
FOREIGN_CLASSES = names(
    """
    CopyFrom HasField Haswell ParseFromString ResourceApplyX ResourceSparseApplyX SerializeToString
    SkylakeX Update WhichOneof
    """
)

# Names that modules had once and none has now. A docstring with one of them in backticks was written before
# its module was renamed.
RETIRED_MODULES = names(
    """
    call_block companion control_flow_gradients control_loops convolution_backprops
    convolution_gradients convolution_kernels convolution_nodes debug_dump debug_graph
    debug_numerics debug_ops debug_sinks debug_state device_finder direct_steps fates
    gradient_registry gradient_values growth held_steps image_boxes image_chance image_colours
    image_files image_geometry image_measures image_resizing image_sizes inquiry known_cluster lift
    lift_branches lift_draft lift_loops lift_shapes list_operands list_sums list_values memory_watch
    observed owed_values own_task partial_faces partial_plans pass_checks planners primitives pulse
    random_numbers random_samples remote_master remote_partial remote_settings remote_values room
    routing silence sparse_functions sparse_kernels sparse_makers sparse_rows sparse_segments
    sparse_shapes sparse_sums stateless_random steady stream_handshake stream_listener
    stream_transport string_characters string_joining string_kernels string_numbers string_regex
    string_splitting table_initializers table_kernels table_state tensor_list tensor_list_blocks
    tensor_list_parts thread_waits training_blocks training_rules training_updates
    transposed_convolution variable_creation variable_lists variable_settings variable_store
    variable_updates vigil vitals wait_reader ways why_here why_words writer
    """
)

# The same of names that mean something else elsewhere, by the folders in which they mean a module.
RETIRED_IN = {
    "actorsession/actors/": names("admission lease link pending service watch"),
    "actorsession/cluster/": names("held losses member"),
    "actorsession/plan/": names("block constructs flow link"),
    "actorsession/rpc/": names("pending watch"),
    "actorsession/runtime/": names("collector waits"),
    "actorsession/session/": names("kinds"),
    "transports/": names("shared users"),
}

Members = dict[str, set[str]]


# -- what there is ---------------------------------------------------------------------------------


@cache
def sources() -> tuple[str, ...]:
    """The Python files of the packages, relative to the repository."""
    found = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return tuple(sorted(path.relative_to(ROOT).as_posix() for path in found))


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax trees of all source files.

    They are half a million objects, and the collector would walk those that are there again and again while
    the others are made.
    """
    gc.disable()
    try:
        made = {s: ast.parse((ROOT / s).read_text(encoding="utf-8"), filename=s) for s in sources()}
        gc.freeze()
    finally:
        gc.enable()
    return made


def tree(source: str) -> ast.Module:
    """The syntax tree of a source file."""
    return trees()[source]


@pytest.fixture(scope="module", autouse=True)
def forgets_the_trees() -> Iterator[None]:
    yield
    trees.cache_clear()


def targets(node: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top of a module or class gives a value or a type."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=assigned):
            for part in assigned:
                yield from (n.id for n in ast.walk(part) if isinstance(n, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name for alias in aliases)
        case ast.If(body=body, orelse=other) | ast.Try(body=body, orelse=other):
            for inner in (*body, *other):
                yield from targets(inner)
        case _:
            pass


@cache
def top_names(source: str) -> frozenset[str]:
    """What a module defines or imports at its top."""
    return frozenset(name for node in tree(source).body for name in targets(node))


@cache
def classes() -> Members:
    """The members of every class by its name; those of classes with one name are put together."""
    own: Members = {}
    bases: Members = {}
    for source in sources():
        for node in ast.walk(tree(source)):
            if isinstance(node, ast.ClassDef):
                held = own.setdefault(node.name, set())
                held.update(name for inner in node.body for name in targets(inner))
                held.update(
                    inner.attr
                    for inner in ast.walk(node)
                    if isinstance(inner, ast.Attribute)
                    and isinstance(inner.value, ast.Name)
                    and inner.value.id == "self"
                )
                above = (ast.unparse(base).partition("[")[0] for base in node.bases)
                bases.setdefault(node.name, set()).update(b.rpartition(".")[2] for b in above)

    def with_inherited(name: str, seen: frozenset[str]) -> set[str]:
        inherited = (with_inherited(b, seen | {b}) for b in bases.get(name, set()) - seen)
        return own.get(name, set()).union(*inherited)

    return {name: with_inherited(name, frozenset([name])) for name in own}


@cache
def all_names() -> set[str]:
    """What any module defines or imports at its top, and every operation type, TensorFlow's included."""
    signatures = (ROOT / "actorsession/graph/op_signatures.txt").read_text(encoding="utf-8")
    types = {line.split()[0] for line in signatures.splitlines() if line}
    return types.union(OP_MODULES, *map(top_names, sources()), classes())


@cache
def is_text(word: str) -> bool:
    """Whether a word is a plain string somewhere in the sources, such as an entry point or a logger."""
    return any(
        isinstance(node, ast.Constant) and node.value == word
        for source in sources()
        if word in (ROOT / source).read_text(encoding="utf-8")
        for node in ast.walk(tree(source))
    )


def module_file(dotted: str) -> str | None:
    """The source file of a module by its full name."""
    path = dotted.replace(".", "/")
    found = (f for f in (f"{path}.py", f"{path}/__init__.py") if f in sources())
    return next(found, None)


def resolves(dotted: str) -> bool:
    """Whether a full dotted name is a module, or leads to something in one."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        file = module_file(".".join(parts[:length]))
        if file is not None:
            rest = parts[length:]
            return not rest or has_name(file, rest)
    return False


def has_name(file: str, rest: list[str]) -> bool:
    """Whether a module has a name, and the class of that name a member."""
    stub = ROOT / f"{file}i"
    known = set(top_names(file))
    if stub.exists():  # names that are imported when they are used
        known.update(name for node in ast.parse(stub.read_text()).body for name in targets(node))
        if "*" in known:
            known |= all_names()
    if rest[0] not in known and "__getattr__" not in known:
        return False
    return len(rest) == 1 or rest[0] not in classes() or rest[1] in classes()[rest[0]]


# -- pages -----------------------------------------------------------------------------------------


def without_fences(page: Path) -> str:
    """The text of a page without its blocks of code."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def spans(page: Path) -> list[str]:
    """What a page has in backticks."""
    return re.findall(r"`([^`\n]+)`", without_fences(page))


PATH = re.compile(r"\.?[\w-]+(?:/[\w.-]+)*/?")
SUFFIXES = (".py", ".pyi", ".md", ".toml")


def is_path(span: str) -> bool:
    """Whether something in backticks is meant as a path in the repository."""
    if not PATH.fullmatch(span) or span in NO_FILES:
        return False
    first = span.split("/")[0]
    return span.endswith(SUFFIXES) or ("/" in span and (ROOT / first).is_dir()) or is_part(span)


def is_part(span: str) -> bool:
    """Whether a path begins with a folder of ``actorsession``."""
    first, slash, _ = span.partition("/")
    return bool(slash) and (ROOT / "actorsession" / first).is_dir()


def exists(span: str, page: Path) -> bool:
    """Whether a path is there, seen from the repository, the package or the page."""
    tops = (ROOT, ROOT / "actorsession", page.parent)
    return any((top / end).exists() for top in tops for end in (span, f"{span}.py"))


Find = Callable[[Path], Iterable[object]]


def on_pages(find: Find) -> dict[str, list[object]]:
    """What is found on each page that has any of it."""
    found = {page.relative_to(ROOT).as_posix(): list(find(page)) for page in PAGES}
    return {page: there for page, there in found.items() if there}


def test_the_files_that_pages_name_exist() -> None:
    def absent(page: Path) -> list[str]:
        return [s for s in spans(page) if is_path(s) and not exists(s, page)]

    assert on_pages(absent) == {}


def test_the_links_of_pages_lead_somewhere() -> None:
    def broken(page: Path) -> list[str]:
        found = re.findall(r"\]\(((?!https?:)[^)#\s]+)[^)]*\)", without_fences(page))
        return [target for target in found if not (page.parent / target).exists()]

    assert on_pages(broken) == {}


def heading_anchor(title: str) -> str:
    """What links call a heading: in lower case, with hyphens for spaces and without signs."""
    return re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-")


@cache
def anchors(page: Path) -> frozenset[str]:
    """What links call the headings of a page."""
    return frozenset(map(heading_anchor, re.findall(r"^#+ (.+)", without_fences(page), re.M)))


def missing_headings(page: Path) -> list[str]:
    """The links of a page to headings that do not exist."""
    found = re.findall(r"\]\(((?!https?:)[^)#\s]*)#([^)\s]+)\)", without_fences(page))
    targets = [(page.parent / file if file else page, anchor) for file, anchor in found]
    return [f"{file}#{anchor}" for file, anchor in targets if anchor not in anchors(file)]


def test_the_headings_to_which_pages_link_exist() -> None:
    assert on_pages(missing_headings) == {}


def test_a_link_to_a_heading_that_does_not_exist_would_be_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    links = "[one](#a-page) [two](#another) [three](page.md#two-words-more)"
    page.write_text(f"# A page\n\n{links}\n\n## Two `words`, more\n")
    assert missing_headings(page) == [f"{page}#another"]


def test_the_full_names_in_pages_resolve() -> None:
    def unresolved(page: Path) -> list[str]:
        named = [s for s in spans(page) if re.fullmatch(r"(actorsession|transports)(\.\w+)+", s)]
        return [s for s in named if not resolves(s) and not is_text(s)]

    assert on_pages(unresolved) == {}


def test_the_members_of_our_classes_that_pages_name_exist() -> None:
    def unknown(page: Path) -> list[tuple[str, str]]:
        found = (re.match(r"([A-Z]\w+)\.(\w+)\b", span) for span in spans(page))
        named = [(m[1], m[2]) for m in found if m and m[1] in classes()]
        return [pair for pair in named if pair[1] not in classes()[pair[0]]]

    assert on_pages(unknown) == {}


# -- the page of the architecture ------------------------------------------------------------------

MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """The text below a heading, up to the next of its depth."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", MAP, re.M | re.S)
    assert found is not None, title
    return found[1]


def trace_lines() -> list[tuple[str, str]]:
    """The lines of the traces: a file, and the calls in it."""
    text = section("Four traces of a step")
    lines = [line for block in re.findall(r"^```\n(.*?)^```", text, re.M | re.S) for line in block.splitlines()]
    found = [re.match(r"(\S+\.py) +(\S+(?: -> \S+)*)", line) for line in lines if line]
    return [(m[1], m[2]) if m else ("no file", line) for m, line in zip(found, filter(None, lines), strict=True)]


def has_call(file: str, call: str) -> bool:
    """Whether a file defines a function, a class, or a method of a class of its own."""
    source = file if file.startswith("transports/") else f"actorsession/{file}"
    if source not in sources():
        return False
    owner, dot, name = call.partition(".")
    if not dot:
        return call in top_names(source)
    own = [n for n in tree(source).body if isinstance(n, ast.ClassDef) and n.name == owner]
    inherited = bool(own and own[0].bases) and name in classes()[owner]
    return inherited or any(name in targets(inner) for n in own for inner in n.body)


def test_the_calls_of_the_traces_exist() -> None:
    lines = trace_lines()
    assert len(lines) > 50
    assert [(f, c) for f, calls in lines for c in calls.split(" -> ") if not has_call(f, c)] == []


def test_the_map_shows_every_package_and_layers_in_the_order_of_the_contract() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (c["layers"] for c in project["tool"]["importlinter"]["contracts"] if "layers" in c)
    names = [layer.strip("() ").removeprefix("actorsession.") for layer in layers]
    there = [n for n in names if n != "__main__" and (ROOT / "actorsession" / n).exists()]
    there += [n for n in names if (ROOT / "actorsession" / f"{n}.py").exists() and n != "__main__"]
    text = section("Packages")
    drawn = re.findall(r"^  (?:actorsession\.)?(\w+(?:  >  \w+)*)", text.split("```")[1], re.M)
    shown = [name for row in drawn for name in row.split("  >  ")]
    assert shown == [n for n in names if n in there or n == "transports"]
    folders = set(re.findall(r"(\w+)/", text.split("```")[1]))
    deeper = {
        f.name
        for name in shown
        if name not in {"ops", "opsets", "compat", "demo", "cli", "interop"}
        for f in (ROOT / "actorsession" / name if name != "transports" else ROOT / name).glob("*/")
        if (f / "__init__.py").exists()
    }
    assert folders == deeper


def test_the_files_to_read_are_about_as_long_as_the_page_says() -> None:
    rows = re.findall(r"^\| (\d+) \| `([^`]+)` \| (\d+) \|", section("Ten files to read, in order"), re.M)
    assert [int(number) for number, _, _ in rows] == list(range(1, 11))
    lengths = {f: (int(n), len((ROOT / f).read_text().splitlines())) for _, f, n in rows}
    assert {f: (told, is_) for f, (told, is_) in lengths.items() if abs(told - is_) > is_ / 5} == {}


def test_the_classes_of_the_glossary_are_where_it_says() -> None:
    found = re.findall(r"`(\w+)` in `([^`]+)`", section("Glossary"))
    assert len(found) > 25
    assert [(name, file) for name, file in found if name not in top_names(file)] == []


# -- decisions -------------------------------------------------------------------------------------


def test_the_index_of_decisions_has_each_of_them_once_with_its_title() -> None:
    folder = ROOT / "docs" / "decisions"
    index = re.findall(r"^- \[(\d{4})\]\((\S+\.md)\): (.*)$", (folder / "README.md").read_text(), re.M)
    files = sorted(path.name for path in folder.glob("0*.md"))
    assert sorted(name for _, name, _ in index) == files
    assert [name[:4] for name in files] == [f"{n:04}" for n in range(1, len(files) + 1)]
    heads = {name: (folder / name).read_text().splitlines()[0] for name in files}
    assert {name: f"# {number}. {title}" for number, name, title in index} == heads


# -- docstrings of modules -------------------------------------------------------------------------


def words(source: str) -> list[str]:
    """What the docstring of a module has in backticks."""
    return re.findall(r"`+([^`\n]+)`+", ast.get_docstring(tree(source)) or "")


def looks_like_class(word: str) -> bool:
    """``CamelCase``, perhaps private, and not ``CONSTANT``."""
    return bool(re.fullmatch(r"_?[A-Z]\w*[a-z]\w*", word))


def wrong_word(source: str, word: str) -> str | None:
    """Why a word in a docstring names nothing; ``None`` if it does."""
    word = word.removesuffix("()")
    first, dot, rest = word.partition(".")
    if not re.fullmatch(r"\w+(\.\w+)*", word) or word.endswith((*SUFFIXES, ".txt")):
        return None
    if first in PACKAGES and dot:
        return None if resolves(word) or is_text(word) else "no such name"
    if looks_like_class(first):
        if first in FOREIGN_CLASSES or hasattr(builtins, first):
            return None
        if first not in all_names() and not (first.startswith("_") and is_text(first)):
            return "no such class"
        member = rest.partition(".")[0]
        known = classes().get(first)
        return None if not dot or known is None or member in known else "no such member"
    if is_retired(source, word) and not is_sibling(source, word):
        return "a module of another time"
    return wrong_module(source, first, rest) if dot else None


def is_retired(source: str, word: str) -> bool:
    """Whether a word in the docstring of a file is the name that a module had once."""
    here = (old for folder, old in RETIRED_IN.items() if source.startswith(folder))
    return word in RETIRED_MODULES.union(*here)


def is_sibling(source: str, name: str) -> bool:
    """Whether a module of that name stands beside or below a source file, or at the top of it."""
    folder = Path(source).parent
    beside = (f"{folder}/{name}.py", f"{folder}/{name}/__init__.py")
    return any(file in sources() for file in beside) or name in top_names(source)


def wrong_module(source: str, first: str, rest: str) -> str | None:
    """Why ``package.module`` names nothing, where the first part is one of our packages."""
    package = Path(source).parent.as_posix().replace("/", ".")
    tops = (package, "actorsession", package.rpartition(".")[0])
    prefixes = [f"{top}.{first}" for top in tops if module_file(f"{top}.{first}")]
    if not prefixes or first in sys.stdlib_module_names:
        return None
    return None if any(resolves(f"{p}.{rest}") for p in prefixes) else "no such module or name"


def test_the_docstrings_of_modules_name_what_exists() -> None:
    found = [
        f"{source}: ``{word}``: {wrong}"
        for source in sources()
        for word in dict.fromkeys(words(source))
        if (wrong := wrong_word(source, word))
    ]
    assert found == [], "\n".join(found)
