# SPDX-License-Identifier: Apache-2.0
"""The pages in Markdown: their links, the names of their headings, the navigation, and the copies that
Sphinx reads. The copies have no comments, and files that pages link to have pages of their own."""
import functools
import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from figures import markdown  # noqa: E402

NAVIGATION = ROOT / "docs/site/navigation"
FILES = "files"  # the folder with the pages of files
PICTURES = (".svg", ".png")
LINK = re.compile(r"(!?)\[([^\[\]]*)\]\(([^()\s]+)\)")
IMAGE = re.compile(r'(<img [^>]*?src=")([^"]+)"')
PAGE = re.compile(r"(?<!\[)`((?:[\w-]+/)*[\w-]+\.md)`")
HEADING = re.compile(r"^#+ (.*)$", re.M)
# Text outside of code that Sphinx must not read.
REMOVED = re.compile(f"(?P<kept>{markdown.CODE.pattern})|{markdown.COMMENT.pattern}"
                     "|</?picture>|<source [^>]*>", re.S)
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".h": "c", ".c": "c", ".py": "python", ".txt": "cmake",
             ".cmake": "cmake", ".sh": "sh", ".json": "json", ".toml": "toml", ".yml": "yaml",
             ".service": "ini"}


def is_local(target):
    return not re.match(r"[a-z]+:", target)


def slug(heading):
    """The name that a heading has as a link's target, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def headings(path):
    """The names of a page's headings."""
    text = markdown.mask(path.read_text(), markdown.FENCE)
    return [slug(match[1]) for match in HEADING.finditer(text)]


def links(path):
    """The targets of a page's links: file and name of the heading, which may be empty."""
    text = markdown.mask(path.read_text(), markdown.FENCE, markdown.CODE_OR_COMMENT)
    for target in [match[3] for match in LINK.finditer(text)] + [
            match[2] for match in IMAGE.finditer(text)]:
        if is_local(target):
            file, _, name = target.partition("#")
            yield (path.parent / file if file else path), name


def from_root(path):
    return pathlib.Path(os.path.relpath(path, ROOT))


def named_page(page, name):
    """The page that is named without a link, beside this one or from the root; None if it is not
    there."""
    return next((path for path in (page.parent / name, ROOT / name) if path.is_file()), None)


class Entry:
    """A line of the navigation and what is below it."""

    def __init__(self, text):
        text, _, related = text.partition(" see ")
        self.related = related.split()
        self.name = text
        self.below = []

    def is_page(self):
        return self.name.endswith(".md")

    def is_made(self):
        """Whether the reference makes the page."""
        return not self.is_page() and not self.below

    def is_there(self):
        return not self.is_page() or (ROOT / self.name).is_file()

    def doc(self):
        """The name of its page in the site."""
        if self.is_page():
            return document(ROOT / self.name)
        if self.is_made():
            return "reference/" + self.name.replace(".", "-")
        return "reference/" + slug(self.name.replace("+", "p")) if self.all_made() else "sections/" + slug(self.name)

    def all_made(self):
        return self.is_made() or (not self.is_page() and all(e.all_made() for e in self.below))

    def walk(self):
        yield self
        for entry in self.below:
            yield from entry.walk()


@functools.cache
def navigation():
    """The parts, whose entries are pages and sections."""
    stack = [(-1, Entry(""))]
    for line in NAVIGATION.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        depth = len(line) - len(line.lstrip())
        while stack[-1][0] >= depth:
            stack.pop()
        entry = Entry(line.strip())
        stack[-1][1].below.append(entry)
        stack.append((depth, entry))
    return stack[0][1].below


@functools.cache
def listed():
    """The entries of all parts, which are no parts."""
    return [entry for part in navigation() for each in part.below for entry in each.walk()]


def all_pages():
    """README.md and all others. check.py says which one is missing."""
    return [ROOT / "README.md"] + [
        ROOT / entry.name for entry in listed() if entry.is_page() and entry.is_there()]


def document(path):
    path = from_root(path)
    return "index" if str(path) == "README.md" else str(path.with_suffix(""))


def linked_files():
    """Files that pages link to and that are no pages."""
    files = {path.resolve() for page in all_pages() for path, _ in links(page)}
    return sorted(str(from_root(path)) for path in files if path.suffix != ".md")


def relative(page, target, suffix=".md"):
    return os.path.relpath(target + suffix, os.path.dirname(document(page)) or ".")


def converted_link(page, match):
    picture, text, target = match[1], match[2], match[3]
    if picture or not is_local(target):
        return match[0]
    file, hash_sign, name = target.partition("#")
    if not file:
        return match[0]
    path = (page.parent / file).resolve()
    doc = document(path) if path.suffix == ".md" else f"{FILES}/{from_root(path)}"
    return f"[{text}]({relative(page, doc)}{hash_sign}{name})"


def converted_name(page, match):
    path = named_page(page, match[1])
    return f"[`{match[1]}`]({relative(page, document(path))})" if path else match[0]


def converted(page):
    """The page as Sphinx is to read it: without comments, and a line of nothing else is empty."""
    def change(text):
        text = REMOVED.sub(lambda match: match["kept"] or "", text)
        text = LINK.sub(lambda match: converted_link(page, match), text)
        text = PAGE.sub(lambda match: converted_name(page, match), text)
        return re.sub(r"^> \[!(\w+)\]\s*$", lambda match: f"> **{match[1].title()}.**", text,
                      flags=re.M)

    return markdown.outside_fences(page.read_text(), change)


def tree(entries, options=""):
    """A directive that lists pages."""
    names = "".join(f"/{entry.doc()}\n" for entry in entries)
    return f"\n```{{toctree}}\n{options}\n{names}```\n"


def write(folder):
    """Writes the copies of the pages, and those of sections and of files that pages link to."""
    for page in all_pages():
        text = converted(page)
        if page.name == "README.md" and page.parent == ROOT:
            text += "".join(tree(part.below, f":hidden:\n:caption: {part.name}\n")
                            for part in navigation())
        put(folder / f"{document(page)}.md", text)
    for entry in listed():
        if entry.below and not entry.all_made():
            put(folder / f"{entry.doc()}.md", f"# {entry.name}\n" + tree(entry.below))
    for name in linked_files():
        path = ROOT / name
        if path.suffix in PICTURES:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / name)
            shown = f"![{name}]({os.path.relpath(name, os.path.dirname(f'{FILES}/{name}'))})"
        else:
            shown = f"````{LANGUAGES.get(path.suffix, 'none')}\n{path.read_text()}````"
        put(folder / FILES / f"{name}.md",
            f"---\norphan: true\nnosearch: true\n---\n# {name}\n\n{shown}\n")


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
