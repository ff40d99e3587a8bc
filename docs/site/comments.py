#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the headers that users include for Doxygen: the // and /* comments of their declarations
become /// and /**, those beside members ///< and /**<. Lines keep their numbers. Of a header below
detail/ only what docs/site/ends names is written: the types there that programs hold.
Usage: comments.py FOLDER"""
import functools
import pathlib
import re
import sys

from pages import ROOT
from figures.cpp import LITERAL, STRING  # which pages finds

ERRORS = ROOT / "include/carillon/errors.def"
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum)\b")
ACCESS = re.compile(r"^(public|private|protected)\s*:$")
NO_DECLARATION = re.compile(r"^(namespace|friend|static_assert|\}|#)")
TOOL_NOTE = re.compile(r"^(NOLINT|IWYU|clang-format)")


def escaped(text):
    """Text as Doxygen shows it unchanged; what is between backticks it leaves alone anyway."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([\\@<>&#%*_~|\[\]])", r"\\\1", parts[i])
        parts[i] = parts[i].replace(r"\*", "&lowast;").replace(r"\_", "_").replace(r"\~", "~")
        parts[i] = re.sub(r"\\([\[\]|])", r"\1", parts[i])
    return "`".join(parts)


def without_templates(head):
    """`head` without what is in <> and () brackets: the words that say what a brace opens."""
    while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)", " ", head)) != head:
        head = shorter
    return head


class Scopes:
    """Which braces are open, and what the text since the last declaration is."""

    def __init__(self):
        self.kinds = []
        self.access = []
        self.head = ""
        self.parens = 0

    def at_declarations(self):
        return not self.parens and "code" not in self.kinds

    def public(self):
        return "private" not in self.access and not any(
            kind == "namespace detail" for kind in self.kinds)

    def feed(self, code):
        for token in re.findall(rf"{LITERAL}|/\*.*?\*/|.", code + "\n"):
            if token == "{":
                self.open()
            elif token == "}":
                self.kinds and self.kinds.pop()
                self.access and self.access.pop()
                self.end()
            elif token in "()":
                self.parens += 1 if token == "(" else -1
                self.head += token
            elif token == ";" or (token == "," and self.kinds[-1:] == ["enum"]):
                self.end()
            elif token == ":" and ACCESS.match((self.head + ":").strip()):
                self.access[-1] = self.head.strip()
                self.head = ""
            elif not token.startswith("/*"):
                self.head += token

    def open(self):
        words = SCOPE.findall(without_templates(self.head))
        kind = words[0] if words and not self.parens else "code"
        if kind == "namespace":
            kind = " ".join(self.head.split()[-2:]) if "detail" in self.head else "namespace"
            kind = "namespace detail" if "detail" in kind else kind
        self.kinds.append(kind)
        self.access.append("private" if kind == "class" else "public")
        self.end()

    def end(self):
        if not self.parens:
            self.head = ""


def split_comment(line):
    """Code, its comment or None, and the column of the comment."""
    for token in re.finditer(rf"{LITERAL}|/\*.*?\*/|//.*", line):
        if token[0].startswith("//"):
            return line[:token.start()], token[0][2:].removeprefix(" "), token.start()
    return line, None, None


def with_pictures(texts):
    """Comment lines as Doxygen wants them: rows that are indented stay as they are."""
    shown, picture = [], False
    for i, text in enumerate(texts):
        indented = text.startswith("  ") or (picture and not text)
        following = next((t for t in texts[i + 1:] if t), "")
        if picture and not following.startswith("  ") and not text:
            indented = False
        if indented and not picture and shown:
            shown[-1] += " @verbatim"
        elif picture and not indented:
            shown[-1] += " @endverbatim"
        picture = indented
        shown.append(text if indented else escaped(text))
    if picture:
        shown[-1] += " @endverbatim"
    return shown


class Header:
    def __init__(self, lines):
        self.lines = [line.rstrip("\n") for line in lines]
        self.out = list(self.lines)
        self.neighbour = None  # name, comment and scope of the function right above
        self.documented = []  # numbers of the lines that public declarations with a comment begin in
        self.scopes = Scopes()
        # Declarations of namespace scope: first line, last line, whether it is public, text.
        self.declarations = []

    def convert(self):
        block, beside, began, directive = [], None, None, False
        for number, line in enumerate(self.lines):
            directive = line.lstrip().startswith("#") or (
                directive and self.lines[number - 1].endswith("\\"))
            code, comment, column = split_comment(line)
            if not code.strip():
                if comment is not None and beside == column and not block:
                    self.put(number, column, "///< " + escaped(comment))
                elif comment is not None:
                    block.append(number)
                    beside = None
                else:
                    self.end_block(block, None)
                    block, beside = [], None
                continue
            declares = self.scopes.at_declarations()
            fresh = declares and not self.scopes.head.strip()
            if not directive:
                if fresh:
                    self.end_block(block, number)
                    self.see_neighbour(number, code, block)
                    if began is None and not NO_DECLARATION.match(code.strip()):
                        began = block[0] if block else number
                beside = self.beside(number, code, comment, column, declares, bool(block))
                block = []
                self.scopes.feed(code)
                began = self.note_end(began, number)
            else:
                self.end_block(block, number)
                block, beside = [], None
        return self

    def put(self, number, column, text):
        self.out[number] = self.lines[number][:column] + text

    def end_block(self, block, declaration):
        """The comment lines of `block` belong to what begins in line `declaration`, if anything."""
        if not block:
            return
        texts = [split_comment(self.lines[number])[1] for number in block]
        if block[0] == 0:  # the file's own, behind its licence
            shown = ["@file"] + with_pictures(texts[1:])
        elif declaration is None or TOOL_NOTE.match(texts[0]):
            return
        else:
            code = self.lines[declaration].strip()
            if NO_DECLARATION.match(code) or not self.scopes.at_declarations():
                return
            shown = with_pictures(texts)
            if self.scopes.public():
                self.documented.append(declaration + 1)
        if any("@verbatim" in text for text in shown):
            self.put_block(block, shown)
            return
        for number, text in zip(block, shown):
            self.put(number, split_comment(self.lines[number])[2], "/// " + text)

    def put_block(self, block, shown):
        """Writes one comment of several lines: in /// lines a picture would show the slashes."""
        for number, text in zip(block, shown):
            self.out[number] = text
        self.out[block[0]] = "/** " + self.out[block[0]]
        self.out[block[-1]] += " */"

    def see_neighbour(self, number, code, block):
        """A function that stands right below another, without a comment, is told of in that one's.
        """
        function = re.match(r"[^=]*?(~?\w+)\(", re.sub(r"\[\[.*?\]\]", "", code))
        if not function or not self.scopes.at_declarations() or NO_DECLARATION.match(code.strip()):
            self.neighbour = None
        elif block:
            texts = [split_comment(self.lines[line])[1] for line in block]
            self.neighbour = (function[1], " ".join(texts), len(self.scopes.kinds))
        elif self.neighbour and self.neighbour[2] == len(self.scopes.kinds) and self.lines[number - 1]:
            name, text, _ = self.neighbour
            beside = split_comment(self.lines[number])[1]
            if not beside and not re.search(r"= (delete|default);", code):
                told = escaped(text) if function[1] == name else f"@see {name}()"
                self.out[number] = f"/** {told} */ {self.out[number]}"
        else:
            self.neighbour = None

    def beside(self, number, code, comment, column, declares, has_comment):
        """Converts a comment behind a declaration; returns its column if it may go on below."""
        if comment is None or not declares:
            return None
        if TOOL_NOTE.match(comment):
            self.out[number] = code.rstrip()
            return None
        stripped = code.strip()
        if NO_DECLARATION.match(stripped) or ACCESS.match(stripped):
            return None
        if stripped.endswith("{"):
            if not has_comment and SCOPE.search(stripped):
                self.out[number] = f"/** {escaped(comment)} */ {code.rstrip()}"
            return None
        self.put(number, column, "///< " + escaped(comment))
        return column

    def note_end(self, began, number):
        """Whether a declaration of namespace scope ended in this line."""
        inside = [kind for kind in self.scopes.kinds if not kind.startswith("namespace")]
        if began is None or inside or self.scopes.head.strip() or self.scopes.parens:
            return began
        text = " ".join(split_comment(line)[0] for line in self.lines[began:number + 1])
        self.declarations.append((began, number, self.scopes.public(), text))
        return None

    def without_inline_namespaces(self):
        """Blanks their lines: their content has its name in the namespace around."""
        names = re.findall(r"^inline namespace (\w+) \{$", "\n".join(self.out), re.M)
        edges = {f"inline namespace {name} {{" for name in names}
        edges |= {f"}}  // namespace {name}" for name in names}
        self.out = ["" if line in edges else line for line in self.out]

    def keep_only(self, names, everywhere):
        """Blanks the declarations of other names in namespace detail, or `everywhere`."""
        for first, last, public, text in self.declarations:
            if (public and not everywhere) or declared_name(text) in names:
                continue
            self.out[first:last + 1] = [""] * (last + 1 - first)
            self.documented = [n for n in self.documented if not first < n <= last + 1]


def declared_name(text):
    text = re.sub(r"\[\[.*?\]\]|alignas\([^()]*\)", " ", text)
    alias = re.match(r"\s*(?:template <.*>\s*)?using\s+(\w+)", text)
    if alias:
        return alias[1]
    found = re.search(r"\b(?:class|struct|enum class)\s+(\w+)",
                      without_templates(re.split(r"[{;]", text)[0]))
    return found and found[1]


def with_errors(lines):
    """The lines, with what the preprocessor would make of the table of errors."""
    table = re.sub(r'"\s+"', "", ERRORS.read_text())
    refusals = re.findall(r'^CARILLON_REFUSAL\((\w+),[^,]*,[^,]*,\s*"(.*?)"\);?$', table, re.M)
    errors = re.findall(r'^CARILLON_ERROR\((\w+), (\w+),[^,]*,[^,]*,\s*"(.*?)"\)$', table, re.M)
    made = iter([", ".join(f"/** {escaped(text)} */ {name}" for name, text in refusals),
                 " ".join(f"/** {escaped(text)} */ class {name} : public {base} {{"
                          f" public: using {base}::{base}; }};" for name, base, text in errors)])
    for line in lines:
        yield next(made) if line == f'#include "carillon/{ERRORS.name}"' else line


def title_and_text(section):
    """Title and text of a comment that stands by itself in a header in C: "Rings: one thread at a time"."""
    match = re.match(r"(.{1,75}?)(?:[.:]\s+(.*)|[.:]?$)", section, re.S)
    if not match:
        return ("General", section)
    text = match[2] or ""
    return match[1], text[:1].upper() + text[1:]


def c_header(text):
    """A header in C, in Doxygen's comments. What stands by itself begins a section. The values of a
    type, which are those of an enum without a name, get the type's."""
    text = re.sub(r"typedef int32_t (\w+);\nenum \{", r"\nenum \1 {", text)
    out, end, is_open, is_first = "", 0, False, True
    for match in re.finditer(rf"{STRING}|/\*(.*?)\*/", text, re.S):
        out += text[end:match.start()]
        end = match.end()
        if match.start() == 0:  # the licence
            out += "/** @file"
            continue
        comment = match[1]
        if comment is None or TOOL_NOTE.match(comment.strip()):
            out += match[0]
            continue
        before = out[out.rfind("\n") + 1:].strip()
        plain = escaped(re.sub(r"\n\s*\* ?", r"\n", comment))
        if is_first:
            out += plain + "*/"
            is_first = False
        elif before:
            out += match[0] if before.startswith(("#if", "#e")) else f"/**<{plain}*/"
        elif not text[end:].startswith("\n\n"):
            out += f"/**{plain}*/"
        else:
            words = " ".join(re.sub(r"^ \* ?", "", comment, flags=re.M).split()).strip("- ")
            title, told = title_and_text(words)
            rows = max(match[0].count("\n"), 1)
            out += "/** @} */ " * is_open + f"/** @name {title}" + "\n" * rows
            out += f"{escaped(told)} */ /** @{{ */"
            end += rows - match[0].count("\n")  # the empty line behind makes room
            is_open = True
    rest = text[end:]
    if is_open:
        before, brace, behind = rest.rpartition("#endif")
        rest = f"{before}/** @}} */\n{brace}{behind}"
    return out + rest


@functools.cache
def ends():
    """The types below detail/ that programs hold."""
    return (ROOT / "docs/site/ends").read_text().splitlines()[1:]


def convert(path):
    """The lines of a header for Doxygen, and those in which public declarations with a comment
    begin."""
    if path.suffix == ".h":
        return c_header(path.read_text()).splitlines(), []
    header = Header(path.read_text().splitlines()).convert()
    header.keep_only(ends(), everywhere="detail" in path.parts)
    header.without_inline_namespaces()
    header.out = list(with_errors(header.out))
    return header.out, header.documented


def headers():
    """Headers that users include, in C++ and in C, and headers that define the types that they hold."""
    defines = re.compile(rf"(class|struct|using) ({'|'.join(ends())})\b")
    for path in sorted([*(ROOT / "include").rglob("*.hpp"), *(ROOT / "include").rglob("*.h"),
                        *(ROOT / "compat/include").rglob("*.h")]):
        if "detail" not in path.parts or defines.search(path.read_text()):
            yield path


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for path in headers():
        target = pathlib.Path(sys.argv[1]) / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n".join(convert(path)[0]) + "\n")


if __name__ == "__main__":
    main()
