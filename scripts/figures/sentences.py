# SPDX-License-Identifier: Apache-2.0
"""Sentences of Markdown pages, of comments of headers and of help texts: each a line number and a text.
A piece of text is a list of such lines that belong together: a paragraph, an item of a list, a cell of
a table, a comment. It begins a sentence, whatever its first letter."""

import re

from figures import cpp, markdown

BEGINNINGS = re.compile(r"(of|as|what|those|the same|where|who)\b", re.I)
# The end of a sentence, where the next one begins with a capital, a number or code.
END = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bcf)(?<!\bvol)(?<!\betc)[.!?][\"')\]*_]*\s+(?=[\"'(\[*_]*[A-Z0-9])"
)
WORD = re.compile(r"[^\W\d_]")
LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
SEPARATOR = re.compile(r"^\s*\|?[\s:|-]+\|[\s:|-]*$")
COMMAND = re.compile(r"^[@\\](?:t?param(?:\[[\w,]+\])?\s+\S+|throws?\s+\S+|[a-z]+)\s*")
HELP = re.compile(r"\b(?:add_(?:option|number|time|flag|subcommand)|description|footer)\w*(?:<[^()]*?>)?\s*\(")


def plain(text):
    """Markdown or a line of a comment, as it is read: code, which may go on in the next line, is a word."""
    text = markdown.CODE.sub(lambda match: "Code" + "\n" * match[0].count("\n"), text)
    text = re.sub(r"<!--.*?-->", "", text)
    text = LINK.sub(r"\1", text)
    return re.sub(r"<[a-z/][^>]*>|\*+|(?<!\w)_+|_+(?!\w)", "", text)


def sentences(piece):
    """Line number and text of each sentence of a piece."""
    text, begins = "", []
    for number, line in piece:
        line = line.strip()
        if line:
            begins.append((len(text), number))
            text += line + " "
    start = 0
    for end in [match.end() for match in END.finditer(text)] + [len(text)]:
        sentence = text[start:end].strip()
        if len([word for word in sentence.split() if WORD.search(word)]) >= 2:
            yield max(pair for pair in begins if pair[0] <= start)[1], sentence
        start = end


def is_bad(sentence):
    """Whether a sentence begins with a word that hides its subject; questions may."""
    return bool(BEGINNINGS.match(re.sub(r"^\W+", "", sentence))) and not sentence.rstrip("\"')").endswith("?")


def cells(line):
    return re.split(r"(?<!\\)\|", line.strip().strip("|"))


def markdown_pieces(text):
    """Headings and heads of tables are no sentences; generated blocks are not what somebody wrote."""
    lines = plain(markdown.mask(text, markdown.FENCE, markdown.BLOCK)).split("\n")
    piece = []
    for number, line in enumerate(lines, 1):
        following = lines[number] if number < len(lines) else ""
        is_row = line.lstrip().startswith("|")
        if not line.strip() or line.lstrip().startswith("#") or is_row or ITEM.match(line):
            yield piece
            piece = []
        if is_row and not SEPARATOR.match(line) and not SEPARATOR.match(following):
            yield from ([(number, cell)] for cell in cells(line))
        elif line.strip() and not is_row and not line.lstrip().startswith("#"):
            piece.append((number, ITEM.sub("", line).lstrip("> ")))
    yield piece


def comments(text):
    """Line number, column and text of each line of comment; None between comments."""
    in_block = False
    for number, line in enumerate(text.split("\n"), 1):
        bare = re.sub(cpp.STRING, lambda match: "_" * len(match[0]), line)
        if in_block:
            body, closed, _ = line.partition("*/")
            yield number, 0, re.sub(r"^\s*\*( |$)", "", body), False
            in_block = not closed
            continue
        match = re.search(r"//[/!]?<?|/\*+", bare)
        if not match:
            yield None
            continue
        alone = not line[: match.start()].strip()
        body = line[match.end() :]
        if match[0].startswith("/*"):
            if not alone:
                yield None  # beside code: a comment of its own
            body, closed, _ = body.partition("*/")
            yield number, match.start(), body, not alone
            in_block = not closed
            if closed:
                yield None
        else:
            yield number, match.start(), body, not alone


def header_pieces(text):
    piece, column, in_code = [], None, False
    for each in comments(text):
        if each is None:
            yield piece
            piece, column = [], None
            continue
        number, at, body, beside_code = each
        stripped = body.strip()
        # A comment beside code goes on in the next line, below itself.
        if beside_code or (column is not None and at not in (column, 0)):
            yield piece
            piece = []
        column = at
        if re.match(r"(@code|@endcode|```)", stripped):
            in_code = stripped != "@endcode" and not (in_code and stripped.startswith("```"))
            yield piece
            piece = []
            continue
        begins = not stripped or ITEM.match(stripped) or COMMAND.match(stripped)
        if begins:
            yield piece
            piece = []
        if in_code or re.match(r"\s{4}", body) or re.match(r"(SPDX|NOLINT|clang-format|namespace \w)", stripped):
            continue
        piece.append((number, plain(COMMAND.sub("", ITEM.sub("", stripped)))))
    yield piece


def help_pieces(text, is_list_of_commands=False):
    """The texts of options and commands in a source file. `is_list_of_commands`: all its strings."""
    text = markdown.mask(text, re.compile(r"^\s*//.*$" + r"|^#.*$" * is_list_of_commands, re.M))
    if is_list_of_commands:
        found = cpp.strings(text)
    else:
        calls = (each for match in HELP.finditer(text) for each in cpp.arguments(text, match.end()))
        found = ((begin + offset, said) for begin, each in calls for offset, said in cpp.strings(each))
    for offset, said in found:
        if not said.startswith("-"):
            yield [(markdown.line_of(text, offset), said)]
