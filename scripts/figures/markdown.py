# SPDX-License-Identifier: Apache-2.0
"""Parts of Markdown pages. Masking replaces a part by spaces and keeps its line breaks, so that
offsets and line numbers stay those of the page."""

import re
import textwrap

FENCE = re.compile(
    r"^[ \t>]*(?P<fence>`{3,}|~{3,})(?P<language>[^\n]*)\n(?P<code>.*?)(?:^[ \t>]*(?P=fence)[`~]*[ \t]*$|\Z)",
    re.S | re.M,
)
BLOCK = re.compile(r"^<!-- ([\w-]+): begin -->\n(.*?)^<!-- \1: end -->$", re.S | re.M)
CODE = re.compile(r"(?<!`)(?P<ticks>`+)(?!`)((?:(?!\n[ \t]*\n).)+?)(?<!`)(?P=ticks)(?!`)", re.S)
COMMENT = re.compile(r"<!--.*?-->", re.S)
CODE_OR_COMMENT = re.compile(f"{CODE.pattern}|{COMMENT.pattern}", re.S)


def pages(root):
    """README.md and all pages below docs/."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def mask(text, *patterns):
    for pattern in patterns:
        text = pattern.sub(blank, text)
    return text


def prose(text):
    """The page without fenced code, generated blocks and code spans; comments stay."""
    return mask(text, FENCE, BLOCK, CODE)


def outside_fences(text, change):
    """The text, with `change` made to what stands before, between and behind its fenced code."""
    made, end = "", 0
    for match in FENCE.finditer(text):
        made += change(text[end : match.start()]) + match[0]
        end = match.end()
    return made + change(text[end:])


def fenced(text):
    """Each fenced block: the line above it, its language and its code."""
    end = 0
    for match in FENCE.finditer(text):
        above = text[end : match.start()].strip().rpartition("\n")[2].strip()
        yield above, match["language"].strip(), textwrap.dedent(match["code"]).removesuffix("\n")
        end = match.end()


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1
