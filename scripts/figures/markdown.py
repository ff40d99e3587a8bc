# SPDX-License-Identifier: Apache-2.0
"""Parts of Markdown pages. Masking replaces a part by spaces and keeps its line breaks, so that
offsets and line numbers stay those of the page."""

import re

FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t>]*\1[`~]*[ \t]*$|\Z)", re.S | re.M)
BLOCK = re.compile(r"^<!-- ([\w-]+): begin -->\n(.*?)^<!-- \1: end -->$", re.S | re.M)
CODE = re.compile(r"(?<!`)(`+)(?!`)((?:(?!\n[ \t]*\n).)+?)(?<!`)\1(?!`)", re.S)
COMMENT = re.compile(r"<!--.*?-->", re.S)


def pages(root):
    """README.md and all pages below docs/."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def mask(pattern, text):
    return pattern.sub(lambda match: blank(match[0]), text)


def prose(text):
    """The page without fenced code, generated blocks and code spans; comments stay."""
    for pattern in (FENCE, BLOCK, CODE):
        text = mask(pattern, text)
    return text


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1
