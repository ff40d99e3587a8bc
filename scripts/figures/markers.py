# SPDX-License-Identifier: Apache-2.0
"""Figures within sentences, between markers on one line:
<!--= KEY -->1.62 us<!--=-->              a measured one, which scripts/summarize fills in (values.py)
<!--c FILE IDENTIFIER -->50 us<!--c-->     a constant of the code: FILE has IDENTIFIER, and there the number
<!--n REASON -->30 minutes<!--n-->         neither of the two, and why it may be typed"""

import re

from figures import markdown, values

MARKER = re.compile(r"<!--([=cn]) +([^\n]*?) *-->([^\n]*?)<!--\1-->")
ANY = re.compile(r"<!--[=cn](?: [^\n]*?)?-->")
# CommonMark takes a line that begins with a comment as HTML: it ends the paragraph.
AT_BEGINNING = re.compile(r"^[ \t]*(?:[-*+] +|\d+[.)] +|> *)*<!--[=cn]", re.M)


def inside(page_text):
    """The markers of a page, outside of code and generated blocks."""
    return list(MARKER.finditer(markdown.prose(page_text)))


def malformed(text):
    """Line and text of each problem with the form of a page's markers."""
    prose = markdown.prose(text)
    rest = markdown.mask(prose, MARKER)
    for match in ANY.finditer(rest):
        yield markdown.line_of(text, match.start()), f"{match[0]} has no partner on its line"
    for match in AT_BEGINNING.finditer(prose):
        yield (
            markdown.line_of(text, match.end()),
            "a line begins with a marker: Markdown takes it as HTML; let a word come first",
        )
    for match in MARKER.finditer(prose):
        start = prose.rfind("\n", 0, match.start()) + 1
        if prose[start : match.start()].lstrip().startswith("|") and re.search(r"(?<!\\)\|", match[2]):
            yield (markdown.line_of(text, match.start()), f"{match[2]}: in a table `|` is written `\\|`")


def filled(text, folder):
    """The page with its measured figures filled in, and line and text of each key without a value."""
    parts, problems, end = [], [], 0
    for match in inside(text):
        if match[1] != "=":
            continue
        try:
            value = values.text_of(match[2], folder)
        except values.BadKey as error:
            problems.append((markdown.line_of(text, match.start()), f"{match[2]}: {error}"))
            continue
        parts += [text[end : match.start(3)], value]
        end = match.end(3)
    return "".join([*parts, text[end:]]), problems
