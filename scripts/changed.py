"""The test files that are closest to a change, by the import graph.

.venv/bin/python -m scripts.changed           prints those for what is not committed, else for the last commit
.venv/bin/python -m scripts.changed COMMIT    prints those for what has changed since a commit

These are the changed tests, tests that import a changed module, tests that import one of its importers in the
same room, and tests that have the name or the folder of a changed module. Most modules reach many more tests
over long chains of imports; how many is said on standard error, and ``scripts/test`` runs them all.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("actorsession", "transports")
# Tests of the project as a whole, which are fast.
ALWAYS = ("tests/test_architecture.py", "tests/test_docs_names.py", "tests/test_public_api.py")
# Tests of files that no test imports, by the beginnings of their paths.
OTHERS = {
    "actorsession/dashboard/": (
        "tests/dashboard/test_pages_cluster.py",
        "tests/dashboard/test_pages_presses.py",
        "tests/dashboard/test_pages_views.py",
    ),
    "actorsession/graph/op_signatures.txt": ("tests/graph/test_registry.py", "tests/ops/test_raw.py"),
    "actorsession/ops/": ("tests/ops/test_table.py", "tests/ops/test_exports.py"),
    "actorsession/opsets/": ("tests/ops/test_table.py", "tests/ops/test_exports.py"),
    "docs/": ("tests/test_docs.py", "tests/test_docs_commands.py", "tests/test_semantics.py"),
    "examples/": ("tests/test_readme.py", "tests/test_docs.py", "tests/examples/test_serve.py"),
    "README.md": ("tests/test_readme.py",),
    "scripts/": ("tests/test_scripts.py",),
}


def changed_files(since: str | None) -> list[str]:
    """The paths of files that have changed and still exist."""
    commands = [["git", "diff", "--name-only", "--diff-filter=d", since or "HEAD"]]
    commands.append(["git", "ls-files", "--others", "--exclude-standard"])
    found = [path for command in commands for path in _output(command)]
    if not found and since is None:
        found = _output(["git", "diff", "--name-only", "--diff-filter=d", "HEAD~1"])
    return found


def _output(command: Sequence[str]) -> list[str]:
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def find_tests(paths: Iterable[str], graph: grimp.ImportGraph) -> tuple[list[str], int]:
    """The test files close to changed files, and the number of other test files that import them somehow."""
    close: dict[str, None] = {}
    reached: set[str] = set()
    for path in paths:
        if path.startswith("tests/") and Path(path).name.startswith("test_"):
            close[path] = None
        for beginning, tests in OTHERS.items():
            if path.startswith(beginning):
                close |= dict.fromkeys(tests)
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        if path.endswith(".py") and module in graph.modules:
            close |= dict.fromkeys(_close_tests(path, module, graph))
            reached |= set(_test_files(graph.find_downstream_modules(module)))
    found = [path for path in (*ALWAYS, *close) if (ROOT / path).exists()]
    return found, len(reached - set(found))


def _close_tests(path: str, module: str, graph: grimp.ImportGraph) -> Iterator[str]:
    importers = graph.find_modules_that_directly_import(module)
    yield from _test_files(importers)
    room = module.rpartition(".")[0]
    for importer in importers:
        if importer.rpartition(".")[0] == room:
            yield from _test_files(graph.find_modules_that_directly_import(importer))
    # Folders of tests follow those of the packages; a folder within a room may have none of its own.
    inner = Path(path).relative_to("actorsession") if path.startswith("actorsession/") else Path(path)
    folder = ROOT / "tests" / inner.parent
    if path.startswith(("actorsession/ops/", "actorsession/opsets/")) and folder.is_dir():
        yield from _below(folder.glob("test_*.py"))
    for parent in (folder, folder.parent):
        yield from _below(parent.glob(f"test_{inner.stem}*.py"))


def _below(paths: Iterable[Path]) -> Iterator[str]:
    for path in sorted(paths):
        yield str(path.relative_to(ROOT))


def _test_files(modules: Iterable[str]) -> Iterator[str]:
    for module in sorted(modules):
        if module.startswith("tests.") and module.rpartition(".")[2].startswith("test_"):
            yield module.replace(".", "/") + ".py"


def main() -> int:
    """Prints the test files."""
    paths = changed_files(sys.argv[1] if len(sys.argv) > 1 else None)
    sys.path.insert(0, str(ROOT))
    found, others = find_tests(paths, grimp.build_graph(*PACKAGES, "tests"))
    print("\n".join(found))
    print(
        f"{len(paths)} changed files, {len(found)} test files close to them; {others} others import what has "
        "changed over other modules, and only the whole run has them",
        file=sys.stderr,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
