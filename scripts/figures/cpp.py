# SPDX-License-Identifier: Apache-2.0
"""Literals, comments and calls in sources in C++."""

import re

STRING = r'"(?:\\.|[^"\\])*"'
LITERAL = rf"{STRING}|'(?:\\.|[^'\\])*'"
STRINGS = re.compile(rf"{STRING}(?:\s*{STRING})*")  # those side by side are one
TOKEN = re.compile(rf"{LITERAL}|//[^\n]*|[()\[\]{{}},]")


def arguments(text, start):
    """Offset and text of each argument of the call whose bracket opens before `start`."""
    depth, begin = 0, start
    for token in TOKEN.finditer(text, start):
        if token[0] in "([{":
            depth += 1
        elif token[0] in ")]}" or (token[0] == "," and depth == 0):
            if token[0] == "," or depth == 0:
                yield begin, text[begin : token.start()]
                begin = token.end()
            if token[0] != ",":
                depth -= 1
            if depth < 0:
                return


def strings(text):
    """Offset of each string, and its text as the source has it."""
    for match in STRINGS.finditer(text):
        yield match.start(), "".join(part[1:-1] for part in re.findall(STRING, match[0]))
