#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks README.md, the pages below docs/ and the site that was made of them, and prints what is
wrong; exit status 1 if anything is.
Usage: check.py pages   links, names of files, programs that pages show parts of, texts of errors
       check.py files   nothing: prints the files that pages link to, for the site to have
       check.py site    the site: every link, and that every comment of a header is in it"""
import functools
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import urllib.parse
import xml.etree.ElementTree

import pages

ROOT = pages.ROOT
SITE = ROOT / "build/site"
XML = ROOT / "build/site-xml"
# What stands in backticks and begins with one of these names a file or folder here.
FOLDERS = ("docs/", "src/", "include/", "tests/", "scripts/", "tools/", "bench/", "examples/",
           "kernels/", "cmake/", "python/", "compat/")
PROGRAM = re.compile(r"^<!-- from (\S+) -->$")
# A comment's declaration begins so many lines after it at most: behind `template` and a macro.
LINES_TO_NAME = 5


def all_pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def wrong_links(page):
    for path, name in pages.links(page):
        shown = f"{pages.from_root(path)}{'#' + name if name else ''}"
        if not path.is_file():
            yield f"there is no file {shown}"
        elif name and (path.suffix != ".md" or name not in pages.headings(path)):
            yield f"there is no heading {shown}"


def wrong_headings(page):
    names = pages.headings(page)
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"two headings have the name #{name}"


def wrong_names(page):
    """Paths in backticks, which may have * in them or name one of several {a,b}."""
    for line, code in pages.parts(page.read_text()):
        for name in [] if code else re.findall(r"`([^`\s]+)`", line):
            if name.startswith(FOLDERS) and not re.search(r"[{}<>|$]", name):
                if not list(ROOT.glob(name.rstrip("/"))):
                    yield f"there is no {name}"
        for name in [] if code else pages.PAGE.findall(line):
            if not pages.named_page(page, name):
                yield f"there is no page {name}"


def shown_programs(page):
    """Programs that a page shows parts of, and the parts."""
    program, block = None, None
    for line, _ in pages.parts(page.read_text()):
        source = PROGRAM.match(line)
        if source:
            program = source[1]
        elif line.startswith("```") and block is None:
            block = []
        elif line.startswith("```"):
            if program:
                yield program, "\n".join(block)
            program, block = None, None
        elif block is not None:
            block.append(line)


def wrong_programs(page):
    for program, part in shown_programs(page):
        path = ROOT / program
        if not path.is_file():
            yield f"there is no program {program}"
            continue
        rows = path.read_text().splitlines()
        count = len(part.splitlines())
        dedented = (textwrap.dedent("\n".join(rows[i:i + count])) for i in range(len(rows)))
        if part not in dedented:
            yield f"{program} has no such lines (any more): {part.splitlines()[0]} ..."


@functools.cache
def said_by_the_library():
    """All text of the sources, strings that go on in the next line in one piece."""
    sources = [path for folder in ("src", "include") for path in (ROOT / folder).rglob("*")
               if path.suffix in (".cpp", ".hpp", ".def")]
    text = re.sub(r"//.*", "", "\n".join(path.read_text() for path in sources))
    return re.sub(r'"\s+"', "", text)


def wrong_messages(page):
    """Texts of errors, quoted in the first column of a table, that no source has. Numbers and
    names of types stand for what is put in there."""
    rows = [line.split("|")[1] for line, code in pages.parts(page.read_text())
            if line.startswith("|") and not code]
    for quoted in [text for row in rows for text in re.findall(r'"([^"]+)"', row)]:
        wanted = re.escape(quoted).replace(r"\.\.\.", ".*")
        wanted = re.sub(r"\d+(\\\.\d+)?|\bOrder\b|\bHostService\b", r"(\\{\\}|%s|\\d+)", wanted)
        if not re.search(wanted, said_by_the_library()):
            yield f'no source says "{quoted}"'


def check_pages():
    for page in all_pages():
        for check in (wrong_links, wrong_headings, wrong_names, wrong_programs):
            for problem in check(page):
                yield f"{pages.from_root(page)}: {problem}"
    page = ROOT / "docs/guide/troubleshooting.md"
    for problem in wrong_messages(page):
        yield f"{pages.from_root(page)}: {problem}"


def linked_files():
    files = {path.resolve() for page in all_pages() for path, _ in pages.links(page)}
    return sorted(str(pages.from_root(path)) for path in files if path.suffix != ".md")


def targets(html):
    return [(file, urllib.parse.unquote(name)) for file, _, name in (
        target.partition("#") for target in re.findall(r'(?:href|src)="([^"]+)"', html)
        if pages.is_local(target) and not target.startswith("//"))]


def check_site():
    texts = {path.name: path.read_text() for path in SITE.glob("*.html")}
    names = {file: set(re.findall(r'(?:id|name)="([^"]+)"', text)) for file, text in texts.items()}
    for file, text in texts.items():
        for target, name in targets(text):
            target = target or file
            if not (SITE / target).exists():
                yield f"{file}: links to {target}, which is not there"
            elif name == "nested-classes":
                pass  # Doxygen links to the list of a class's private classes, which it leaves out
            elif name and target in names and name not in names[target]:
                yield f"{file}: links to {target}#{name}, which is not there"
    yield from check_comments()


def described(element):
    return any("".join(part.itertext()).strip() for kind in
               ("briefdescription", "detaileddescription") for part in element.findall(kind))


def comments_that_came_out():
    lines = {}
    for path in XML.glob("*.xml"):
        for element in xml.etree.ElementTree.parse(path).iter():
            at = element.find("location") if described(element) else None
            if at is not None and at.get("line"):
                lines.setdefault(at.get("file"), set()).add(int(at.get("line")))
            elif element.tag == "enumvalue" and described(element):
                lines.setdefault(element.findtext("name"), set())
    return lines


def check_comments():
    """That the comment of each public declaration is in the reference."""
    there = comments_that_came_out()
    for header in sorted((ROOT / "include/carillon").rglob("*.hpp")):
        name = str(pages.from_root(header))
        listed = subprocess.run([ROOT / "docs/site/comments.py", "--list", header], check=True,
                                capture_output=True, text=True).stdout.split()
        for line in map(int, listed):
            if not there.get(name, set()) & set(range(line, line + LINES_TO_NAME)):
                yield f"{name}:{line}: the comment of this declaration is not in the reference"


def main():
    os.chdir(ROOT)
    if sys.argv[1:] == ["files"]:
        print("\n".join(linked_files()))
        return
    checks = {"pages": check_pages, "site": check_site}
    if len(sys.argv) != 2 or sys.argv[1] not in checks:
        sys.exit(__doc__)
    problems = list(dict.fromkeys(checks[sys.argv[1]]()))
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
