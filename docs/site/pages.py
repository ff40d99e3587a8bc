#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Doxygen's input filter for pages in Markdown: headings get the names by which others link to
them, links to pages become references, and links to other files those to copies beside the site.
Usage: pages.py PAGE"""
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parents[2]
FILES = "files/"  # where the site has copies of what pages link to
LINK = re.compile(r"(!?)\[([^\[\]]*)\]\(([^()\s]+)\)")
IMAGE = re.compile(r'(<img [^>]*?src=")([^"]+)"')
BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")  # Doxygen's own stops at code
PAGE = re.compile(r"`((?:[\w-]+/)*[\w-]+\.md)`")
HEADING = re.compile(r"^(#+) (.*)$")


def is_local(target):
    return not re.match(r"[a-z]+:", target)


def slug(heading):
    """The name that a heading has as a link's target, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def parts(text):
    """The text, line by line, and whether each line is in a fenced block of code."""
    fenced = False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        yield line, fenced or fence
        fenced ^= fence


def headings(path):
    """The names of a page's headings."""
    found = (HEADING.match(line) for line, code in parts(path.read_text()) if not code)
    return [slug(match[2]) for match in found if match]


def links(path):
    """What a page links to: file and name of the heading, which may be empty."""
    for line, code in parts(path.read_text()):
        if code:
            continue
        plain = re.sub(r"`[^`]*`", "", line)
        for target in [match[3] for match in LINK.finditer(plain)] + [
                match[2] for match in IMAGE.finditer(plain)]:
            if is_local(target):
                file, _, name = target.partition("#")
                yield (path.parent / file if file else path), name


def from_root(path):
    return pathlib.Path(os.path.relpath(path, ROOT))


def label(path):
    """The name of a page, and so of its file in the site."""
    path = from_root(path)
    if path.name == "README.md" and path.parent == pathlib.Path("."):
        return "index"
    return "_".join(path.with_suffix("").parts)


def heading_label(path, name):
    """The first heading of a page stands for the page."""
    return label(path) if name == headings(path)[0] else f"{label(path)}_{name}"


def converted_link(page, match):
    picture, text, target = match[1], match[2], match[3]
    if not is_local(target):
        return match[0]
    file, _, name = target.partition("#")
    path = page.parent / file if file else page
    if path.suffix == ".md":
        return f"[{text}](@ref {heading_label(path, name) if name else label(path)})"
    copy = FILES + str(from_root(path))
    return f'<img src="{copy}" alt="{text}">' if picture else f'<a href="{copy}">{text}</a>'


def named_page(page, name):
    """The page that is named without a link, beside this one or from the root; None if it is not
    there."""
    return next((path for path in (page.parent / name, ROOT / name) if path.is_file()), None)


def converted_name(page, match):
    path = named_page(page, match[1])
    return f"[{match[1]}](@ref {label(path)})" if path else match[0]


def converted(page):
    for line, code in parts(page.read_text()):
        if code:
            yield line
            continue
        heading = HEADING.match(line)
        if heading:
            name = heading_label(page, slug(heading[2]))
            yield f"{line} {{#{name}}}" if name != "index" else line
            continue
        line = IMAGE.sub(lambda match: f'{match[1]}{FILES}{from_root(page.parent / match[2])}"',
                         line)
        line = LINK.sub(lambda match: converted_link(page, match), line)
        line = PAGE.sub(lambda match: converted_name(page, match), line)
        yield BOLD.sub(r"<b>\1</b>", line)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("\n".join(converted(pathlib.Path(sys.argv[1]).resolve())))


if __name__ == "__main__":
    main()
