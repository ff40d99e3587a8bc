# SPDX-License-Identifier: Apache-2.0
"""Makes a link of each `name` in code that is a type, or a member of one, of the reference; and of
the names of pages in it. Long names in tables may break."""
import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

TYPES = {"class", "struct", "union", "enum", "type", "concept", "alias", "exception"}
# A name, perhaps with arguments: Client, Client<A, B>, Client::call(request, 1ms), carillon.Ring.
NAME = re.compile(r"^(?:carillon(?:::|\.))?((?:\w+(?:<[\w\s,:*<>]*>)?(?:::|\.))*~?\w+)"
                  r"(<[^()]*>)?(\([^()]*\))?$")
LONG = 24  # characters
END_OF_WORD = re.compile(r"(?<=[.:/_,(])(?=\w)|(?<=[a-z0-9])(?=[A-Z])")
PAGE = re.compile(r"(\bdocs/[\w/-]+\.md\b)")


def without_arguments(name):
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    return name


class Names:
    """The page and the anchor of each name of the reference."""

    def __init__(self, env):
        self.cpp, self.c, self.python = {}, {}, {}
        for name, _, kind, doc, anchor, _ in env.domains["cpp"].get_objects():
            plain = re.sub(r"^carillon::", "", without_arguments(name))
            if kind not in ("templateParam", "functionParam"):
                self.cpp.setdefault(plain, (kind, doc, anchor))
                self.cpp.setdefault(plain.replace("detail::", ""), (kind, doc, anchor))
        for name, _, kind, doc, anchor, _ in env.domains["c"].get_objects():
            if kind != "functionParam" and "." not in name:
                self.c.setdefault(name, (kind, doc, anchor))
        for name, _, kind, doc, anchor, _ in env.domains["py"].get_objects():
            plain = re.sub(r"^carillon\.(errors\.|vkgdr\.)?", "", name)
            if kind != "module":
                self.python.setdefault(plain, (kind, doc, anchor))

    def find(self, text, in_python, in_c):
        """The page and anchor of what the text names; None if it names nothing for certain."""
        match = NAME.match(text.strip())
        if not match:
            return None
        name, called = without_arguments(match[1]), bool(match[3])
        # Options of CMake and variables of the environment begin as values do.
        if name in self.c and (in_c or re.match(r"(carillon|gdr|vkgdr)_\w", name)):
            return self.c[name][1:]
        dotted = "." in name or text.startswith("carillon.")
        for names in [self.python] * (in_python or dotted) + [self.cpp] * (not dotted):
            plain = name.replace("::", ".") if names is self.python else name
            kind, doc, anchor = names.get(plain, (None, None, None))
            # A word in lower case may be anything: a parameter, a member, a program.
            is_member = "::" in plain or "." in plain
            if called or is_member or (plain[0].isupper() and kind in TYPES):
                if kind is not None:
                    return doc, anchor
        return None


class PageLinks(SphinxPostTransform):
    """Links from the reference to the pages that comments of headers name."""

    default_priority = 21

    def run(self, **_):
        if not self.env.docname.startswith("reference/"):
            return
        for text in list(self.document.findall(nodes.Text)):
            parts = PAGE.split(text)
            if len(parts) == 1 or within_title(text.parent):
                continue
            made = []
            for part in parts:
                doc = part.removesuffix(".md")
                node = nodes.Text(part)
                if PAGE.fullmatch(part) and doc in self.env.found_docs:
                    uri = self.app.builder.get_relative_uri(self.env.docname, doc)
                    node = nodes.reference(part, part, internal=True, refuri=uri)
                made.append(node)
            text.parent.replace(text, made)


class TypeLinks(SphinxPostTransform):
    default_priority = 20

    def run(self, **_):
        if not hasattr(self.env, "carillon_names"):
            self.env.carillon_names = Names(self.env)
        names, page = self.env.carillon_names, self.env.docname
        in_python = "python" in page or page.startswith("reference/carillon") and \
            "/" not in page.removeprefix("reference/") and not page.endswith("-h")
        in_c = page == "docs/c" or "migrate/" in page or page.endswith("-h")
        for literal in list(self.document.findall(nodes.literal)):
            if isinstance(literal.parent, nodes.reference) or within_title(literal):
                continue
            found = names.find(literal.astext(), in_python, in_c)
            if found is None or not found[1]:
                continue
            uri = self.app.builder.get_relative_uri(page, found[0]) + "#" + found[1]
            link = nodes.reference("", "", internal=True, refuri=uri)
            literal.replace_self(link)
            link += literal


class Breaks(SphinxPostTransform):
    """Lets long names in tables break where a word of theirs ends."""

    default_priority = 22
    formats = ("html",)

    def run(self, **_):
        for literal in [each for table in self.document.findall(nodes.table)
                        for each in table.findall(nodes.literal)]:
            text = literal.astext()
            if max(map(len, text.split() or [""])) <= LONG:
                continue
            literal.clear()
            for piece in END_OF_WORD.split(text):
                literal += [nodes.raw("", "<wbr>", format="html")] * bool(len(literal))
                literal += nodes.Text(piece)


def within_title(node):
    while node is not None:
        if isinstance(node, (nodes.title, nodes.reference)):
            return True
        node = node.parent
    return False


def setup(app):
    app.add_post_transform(TypeLinks)
    app.add_post_transform(PageLinks)
    app.add_post_transform(Breaks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
