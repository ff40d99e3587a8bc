#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks README.md, the pages below docs/ and the site that was made of them, and prints the problems;
exit status 1 if there are any.
Usage: check.py pages       the pages: links, names of files and of tests, blocks of code, errors' texts
       check.py site        the site: every link, that every comment of a header is in it, the search"""
import functools
import json
import os
import pathlib
import re
import sys
import textwrap
import urllib.parse

import comments
import pages
import reference
from figures import markdown  # which pages finds

ROOT = pages.ROOT
SITE = ROOT / "build/site"
# Text in backticks that begins with one of these names a file or folder of the repository.
FOLDERS = ("docs/", "src/", "include/", "tests/", "scripts/", "tools/", "bench/", "examples/",
           "kernels/", "cmake/", "python/", "compat/")
PROGRAM = re.compile(r"^<!-- from (\S+) -->$")
# The line above a block of code, by its language.
IN_A_FILE = r"<!-- from \S+ -->"
# tests/docs/commands_test.py says what each means.
RUN = r"<!-- run(?: beside \S+| (?:on a fresh machine|with a GPU)(?:, \S+ in place of \S+)*)? -->"
ABOVE_BLOCKS = {"sh": rf"{IN_A_FILE}|{RUN}|<!-- not run: .+ -->"}
ABOVE_BLOCKS |= dict.fromkeys(("cpp", "c", "python", "cmake"), IN_A_FILE)
OTHER_NAMES = {"c++": "cpp", "cc": "cpp", "cuda": "cpp", "py": "python", "bash": "sh",
               "shell": "sh", "console": "sh", "zsh": "sh"}
# `SomeError`, "text", "more text"; also `SomeError` with `reason`, "text", and "text" (`SomeError`).
ERROR = r"`(?:carillon(?:::|\.))?(?:\w*Error|bad_alloc)(?:\([^`]*\))?`"
STRING = r'"[^"`]+"'
BESIDE_ERROR = re.compile(
    rf"{ERROR}(?:\s+with\s+`[^`]+`)?[,:]?\s+\(?{STRING}(?:,?\s+(?:(?:or|and)\s+)?{STRING})*"
    rf"|{STRING}\s+\({ERROR}")
# A comment's declaration begins so many lines after it at most: behind `template` and a macro.
LINES_TO_NAME = 5
# The search has to find a page for each of these.
WORDS = ("heartbeat", "lease", "numa", "docker", "install")


def wrong_links(page):
    for path, name in pages.links(page):
        shown = f"{pages.from_root(path)}{'#' + name if name else ''}"
        if not path.is_file():
            yield f"there is no file {shown}"
        elif path.suffix == ".md" and path.resolve() not in pages.all_pages():
            yield f"{shown} is not in {pages.from_root(pages.NAVIGATION)}"
        elif name and (path.suffix != ".md" or name not in pages.headings(path)):
            yield f"there is no heading {shown}"


def wrong_headings(page):
    names = pages.headings(page)
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"two headings have the name #{name}"


def unfenced(page):
    return markdown.mask(page.read_text(), markdown.FENCE)


def wrong_names(page):
    """Paths in backticks, which may have * in them or name one of several {a,b}."""
    text = unfenced(page)
    for name in re.findall(r"`([^`\s]+)`", text):
        if name.startswith(FOLDERS) and not re.search(r"[{}<>|$]", name):
            if not list(ROOT.glob(name.rstrip("/"))):
                yield f"there is no {name}"
    for name in pages.PAGE.findall(text):
        if not pages.named_page(page, name):
            yield f"there is no page {name}"


def wrong_blocks(page):
    for above, language, text in markdown.fenced(page.read_text()):
        begin = (text.splitlines() or [""])[0]
        if language in OTHER_NAMES:
            yield f'a block is of "{language}": write "{OTHER_NAMES[language]}"'
        elif language in ABOVE_BLOCKS and not re.fullmatch(ABOVE_BLOCKS[language], above):
            yield f'a block of {language} has no line "<!-- from FILE -->" or its like above ' \
                  f"it: {begin}"


@functools.cache
def tests():
    """The tests of each suite of GoogleTest."""
    suites = {}
    for folder in ("tests", "bench", "python"):
        for path in [*(ROOT / folder).rglob("*.cpp"), *(ROOT / folder).rglob("*.hpp")]:
            for suite, name in re.findall(r"\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)",
                                          path.read_text()):
                suites.setdefault(suite, set()).add(name)
    return suites


@functools.cache
def text_of_tests(folder):
    return "\n".join(path.read_text(errors="replace") for path in folder.rglob("*")
                     if path.suffix in (".py", ".txt", ".cmake", ".sh", ".cpp"))


def wrong_tests(page):
    """Names of tests: Suite.test, .test behind one of the same suite, test_in_python,
    folder.test."""
    for line in unfenced(page).splitlines():
        suite = None
        for span in re.findall(r"`([^`]+)`", line):
            match = re.fullmatch(r"(\w+Test)?\.(\*|[a-z]\w+)", span)
            in_python = re.fullmatch(r"test_\w+", span)
            in_folder = re.fullmatch(r"(\w+)\.(\w+)", span)
            if match and (match[1] or suite):
                suite = match[1] or suite
                right = suite in tests() and match[2] in {"*", *tests()[suite]}
                span = span if match[1] else suite + span
            elif re.fullmatch(r"\w+Test", span):
                right = any(each.endswith(span) for each in tests())
            elif in_python:
                right = any(f"def {span}(" in text_of_tests(ROOT / each)
                            for each in ("tests", "python/tests"))
            elif in_folder and in_folder[1] in ("compile", "install", "tool", "example", "pins"):
                folder = "examples" if in_folder[1] == "example" else in_folder[1]
                where = [ROOT / "tests" / folder, ROOT / "examples", ROOT / "python"]
                right = any(re.search(rf"\b{in_folder[2]}\b", text_of_tests(each))
                            for each in where)
            elif re.fullmatch(r"(?!cu[A-Z]|k[A-Z]|cuda|vk|nv)[a-z]+([A-Z]\w*?){4,}", span):
                right = any(span in names for names in tests().values())
            else:
                continue
            if not right:
                yield f"there is no test {span}"


def wrong_programs(page):
    for above, _, part in markdown.fenced(page.read_text()):
        source = PROGRAM.match(above)
        if not source:
            continue
        program = source[1]
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


def quoted_messages(page):
    """Texts that a page quotes beside the type of an error, or in the first column of a table of what
    users see."""
    text = unfenced(page)
    seen = re.findall(r"^\| what you see \|.*(?:\n\|.*)+", text, re.M)
    parts = [row for table in seen for row in re.findall(r"^\|([^|\n]*)", table, re.M)]
    parts += [match[0] for match in BESIDE_ERROR.finditer(text)]
    return [" ".join(each.split()) for part in parts for each in re.findall(r'"([^"`]+)"', part)]


def wrong_messages(page):
    """Texts of errors that no source has. Numbers and names of types stand for the values that a
    message has there."""
    for quoted in quoted_messages(page):
        wanted = re.escape(quoted).replace(r"\.\.\.", ".*")
        wanted = re.sub(r"\d+(\\\.\d+)?|\b(Order|HostService|N)\b", r"(\\{\\}|%s|\\d+)", wanted)
        if not re.search(wanted, said_by_the_library()):
            yield f'no source says "{quoted}"'


def tracked_pages():
    """The pages in Markdown of the repository, without folders of builds and packages."""
    folders = ("docs", "examples", "python", "bench", "tests", "scripts", "tools")
    return [*ROOT.glob("*.md"), *(path for each in folders for path in (ROOT / each).rglob("*.md"))]


def check_navigation():
    for path in sorted(set(tracked_pages()) - set(pages.all_pages())):
        yield f"{pages.from_root(path)} is not in {pages.from_root(pages.NAVIGATION)}"
    for entry in pages.listed():
        if not entry.is_there():
            yield f"{pages.from_root(pages.NAVIGATION)}: there is no {entry.name}"


def check_pages():
    yield from check_navigation()
    for page in pages.all_pages():
        for check in (wrong_links, wrong_headings, wrong_names, wrong_programs, wrong_blocks,
                      wrong_tests, wrong_messages):
            for problem in check(page):
                yield f"{pages.from_root(page)}: {problem}"


def targets(html):
    return [(file, urllib.parse.unquote(name)) for file, _, name in (
        target.partition("#") for target in re.findall(r'\s(?:href|src)="([^"]+)"', html)
        if pages.is_local(target) and not target.startswith("//"))]


def wrong_html(texts, names):
    """Problems of the site's pages; `texts` and `names` hold their HTML and their anchors."""
    for path, text in texts.items():
        shown = path.relative_to(SITE)
        for file, name in targets(text):
            target = pathlib.Path(os.path.normpath(path.parent / file.partition("?")[0])) \
                if file else path
            if not target.exists():
                yield f"{shown}: links to {file}, which is not there"
            elif name and target in names and name not in names[target]:
                yield f"{shown}: links to {file}#{name}, which is not there"
        for host in re.findall(r'<(?:script|link|img|iframe)\b[^>]*?"((?:https?:)?//[^"]+)"', text):
            yield f"{shown}: loads {host}"
        if "carillon-version" not in text:
            yield f"{shown}: does not say of which version and commit it is"


def check_site():
    texts = {path.resolve(): path.read_text() for path in SITE.rglob("*.html")}
    names = {path: set(re.findall(r'\s(?:id|name)="([^"]+)"', text))
             for path, text in texts.items()}
    yield from wrong_html(texts, names)
    yield from check_comments()
    yield from check_reference(set().union(*names.values()))
    found = searchable()
    for word in WORDS:
        if not any(word in terms for terms in found.values()):
            yield f"the search finds no page for {word}"
    for page in pages.all_pages():
        if not found.get(pages.document(page)):
            yield f"{pages.from_root(page)}: the search does not find the page"


def searchable():
    """The pages of the search's index, and the words by which each is found."""
    text = (SITE / "searchindex.js").read_text()
    index = json.loads(text[text.index("(") + 1:text.rindex(")")])
    found = {name: set() for name in index["docnames"]}
    for word, at in (*index["terms"].items(), *index["titleterms"].items()):
        for number in [at] if isinstance(at, int) else at:
            found[index["docnames"][number]].add(word)
    # The index has the stems of words.
    for terms in found.values():
        terms |= {word for word in WORDS if {word, word[:-1]} & terms}
    return found


def check_reference(names):
    """Declarations with a description in XML that the site does not describe."""
    for header in reference.missing_headers():
        yield f"{pages.from_root(pages.NAVIGATION)}: {header} defines something, and is not there"
    for _, compound, _ in reference.compounds():
        kind = compound.get("kind")
        if compound.get("prot") == "private":
            continue
        wanted = [compound] if kind in ("class", "struct", "union", "concept") else []
        wanted += compound.findall("sectiondef/memberdef")
        wanted += compound.findall("sectiondef/memberdef/enumvalue")
        for element in wanted:
            if reference.is_documented(element) and element.get("id") not in names:
                name = element.findtext("compoundname") or element.findtext("qualifiedname") \
                    or element.findtext("name")
                yield f"the reference does not have {name}"


def comments_that_came_out():
    lines = {}
    for _, compound, _ in reference.compounds():
        for element in compound.iter():
            at = element.find("location") if reference.is_documented(element) else None
            if at is not None and at.get("line"):
                lines.setdefault(at.get("file"), set()).add(int(at.get("line")))
    return lines


def check_comments():
    """Comments of public declarations that are not in the reference."""
    there = comments_that_came_out()
    for header in comments.headers():
        name = str(pages.from_root(header))
        for line in comments.convert(header)[1]:
            if not there.get(name, set()) & set(range(line, line + LINES_TO_NAME)):
                yield f"{name}:{line}: the comment of this declaration is not in the reference"


def main():
    os.chdir(ROOT)
    checks = {"pages": check_pages, "site": check_site}
    if len(sys.argv) != 2 or sys.argv[1] not in checks:
        sys.exit(__doc__)
    problems = list(dict.fromkeys(checks[sys.argv[1]]()))
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
