"""The sources of the documentation site: the pages of the repository, and references of public names and errors.

``scripts/docs`` has Sphinx read the folder that ``write_sources`` fills. The reference is listed here and
not by Sphinx, which cannot import ``actorsession.nn`` and its like: they are attributes that are imported
when they are used. A file is only written when its content has changed, so that a second build reads few.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from scripts.error_catalogue import catalogue_pages

ROOT = Path(__file__).resolve().parent.parent
# Modules of the reference that are not attributes of ``actorsession``.
SEPARATE_MODULES = (
    "actorsession.extend",
    "actorsession.testing",
    "actorsession.testing.faults",
    "actorsession.testing.strategies",
    "transports",
)
# The pages in the order in which they are shown, by the heading above them.
CONTENTS = {
    "Guide": (
        "docs/tutorial docs/layers docs/questions docs/errors docs/sessions docs/graphs docs/checkpoints "
        "docs/distributed docs/observability docs/tour docs/engines docs/ray docs/dask docs/slurm docs/kubernetes "
        "docs/tensorflow1 docs/testing docs/devices docs/extending"
    ),
    "Reference": "reference/index reference/errors/index docs/semantics docs/benchmarks examples",
    "The project": "docs/architecture docs/decisions/README CONTRIBUTING SECURITY CHANGELOG",
}
_LEXERS = {".py": "python", ".toml": "toml", ".yaml": "yaml", ".yml": "yaml", ".service": "ini"}


def pages() -> list[Path]:
    """Return all pages of the repository, relative to it."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/decisions/*.md")]
    return sorted(page.relative_to(ROOT) for page in found)


def public_modules() -> dict[str, ModuleType]:
    """Return the modules whose names are public, by the name under which a program reaches them."""
    import actorsession

    shown = {"actorsession": actorsession}
    for name in actorsession.__all__:
        value = getattr(actorsession, name)
        if isinstance(value, ModuleType):
            shown[f"actorsession.{name}"] = value
    return shown | {name: importlib.import_module(name) for name in SEPARATE_MODULES}


def public_names(module: ModuleType) -> Iterator[tuple[str, object]]:
    """Yield each public name of a module that is not a module itself, and its value."""
    for name in sorted(module.__all__):
        value = getattr(module, name)
        if not isinstance(value, ModuleType):
            yield name, value


def write_sources(folder: Path) -> None:
    """Fill a folder with everything that the site is made from, and remove what no longer belongs there.

    Args:
        folder: the folder, which is made if it does not exist.
    """
    texts = {"index.md": front_page(), "examples.md": examples_page()}
    texts |= {str(page): page_text(page) for page in pages() if str(page) != "README.md"}
    texts |= {f"reference/{name}": text for name, text in reference_pages().items()}
    texts |= {f"reference/errors/{name}": text for name, text in catalogue_pages().items()}
    files = {name: text.encode() for name, text in texts.items()}
    images = [*ROOT.glob("docs/*.png"), *ROOT.glob("docs/*.svg"), *ROOT.glob("docs/pictures/*")]
    files |= {str(image.relative_to(ROOT)): image.read_bytes() for image in images}
    for old in (path for path in folder.rglob("*") if path.is_file()):
        if str(old.relative_to(folder)) not in files:
            old.unlink()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)


def page_text(page: Path) -> str:
    """Return the text of a page, with its links to examples led to the page that shows them.

    Args:
        page: the page, relative to the repository.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    text = re.sub(r"\]\(((?:\.\./)*)examples/([\w/]*?)/?\)", _example_link, text)
    if page == Path("docs/decisions/README.md"):
        listed = sorted(one.stem for one in pages() if one.match("decisions/0*"))
        text += _contents("", listed)
    return text


def _example_link(link: re.Match[str]) -> str:
    return f"]({link[1]}examples.md{'#examples-' + link[2].replace('/', '-') if link[2] else ''})"


def front_page() -> str:
    """Return README.md with the contents of the site."""
    lists = (_contents(title, names.split()) for title, names in CONTENTS.items())
    return page_text(Path("README.md")) + "".join(lists)


def _contents(title: str, names: list[str]) -> str:
    caption = f":caption: {title}\n" if title else ""
    return "\n```{toctree}\n:hidden:\n:maxdepth: 1\n" + caption + "\n" + "\n".join(names) + "\n```\n"


def examples_page() -> str:
    """Return a page with the files of ``examples``, folder by folder."""
    lines = ["# Examples", "", "The tests run these programs.", ""]
    shown = sorted(p for p in (ROOT / "examples").rglob("*") if p.suffix in _LEXERS)
    folder = None
    for path in sorted(shown, key=lambda p: (len(p.parts), p)):
        if path.parent != folder:
            folder = path.parent
            lines += [f"## {folder.relative_to(ROOT).as_posix()}", ""]
        text = path.read_text(encoding="utf-8").rstrip()
        lines += [f"### {path.name}", "", f"```{_LEXERS[path.suffix]}", text, "```", ""]
    return "\n".join(lines)


def reference_pages() -> dict[str, str]:
    """Return a page in reStructuredText for each public module, and their index, by file name.

    An object that is public under several names is described under the first, and the others refer to it.
    """
    described: dict[int, str] = {}
    made = {}
    for module, found in public_modules().items():
        entries = [_entry(module, name, value, described) for name, value in public_names(found)]
        about = (inspect.getdoc(found) or "").split("\n\n")[0]
        title = f"Names of ``{module}``"  # the front page is called as the package is
        lines = [title, "=" * len(title), "", about, "", f".. py:module:: {module}", "", *entries]
        made[f"{module}.rst"] = "\n".join(lines)
    title = "API reference"
    index = [title, "=" * len(title), "", "The public names, by module.", "", ".. toctree::"]
    index += ["   :maxdepth: 1", "", *(f"   {name.removesuffix('.rst')}" for name in made), ""]
    return made | {"index.rst": "\n".join(index)}


def _entry(module: str, name: str, value: object, described: dict[int, str]) -> str:
    """Return the description of one name, or a reference to where the object was described."""
    full = f"{module}.{name}"
    if inspect.isclass(value) or inspect.isroutine(value):
        home = described.setdefault(id(value), full)
        if home != full:
            kind = "class" if inspect.isclass(value) else "func"
            return f"``{name}``\n   The same as :py:{kind}:`{home}`.\n"
        if inspect.isclass(value):
            return f".. autoclass:: {full}\n   :members:\n"
        return f".. autofunction:: {full}\n"
    said = re.sub(r" at 0x\w+", "", repr(value))
    kind = type(value).__name__
    return f".. py:data:: {full}\n   :value: {said}\n\n   A value of type ``{kind}``.\n"


if __name__ == "__main__":
    from scripts.pictures import write_pictures

    write_sources(Path(sys.argv[1]))
    write_pictures(Path(sys.argv[1]) / "docs" / "pictures")
