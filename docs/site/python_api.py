# SPDX-License-Identifier: Apache-2.0
"""The Python package's interface, read from its sources: the site is made where the extension is
not built. Classes of the extension are read from the calls that bind them."""
import ast
import inspect
import re
import textwrap

import comments
import pages
from figures import cpp  # which pages finds

PACKAGE = pages.ROOT / "python/carillon"
VKGDR = pages.ROOT / "compat/python/vkgdr"
BINDING = re.compile(r"nb::class_<[^;{}]*?>\s*(?:\w+)?\s*\(|(?:(\w+)\s*)?\.def(?:_\w+)?\s*\("
                     r"|\bdef_function(_as)?\s*\(|\bclose_with\s*\(")
# The constructors' names of classes that the extension binds stand in these calls.
MADE_BY = {"def_init": 1, "def_new": 1, "def_static": 1, "def_as": 1}


class Item:
    """A class, a function or a property: its name, what stands in brackets, its text."""

    def __init__(self, kind, name, signature="", text="", members=()):
        self.kind, self.name, self.signature = kind, name, signature
        self.text, self.members = inspect.cleandoc(text), list(members)


def is_public(name):
    return not name.startswith("_") or name in ("__len__", "__getitem__", "__iter__")


def arguments(text, start):
    return [each.strip() for _, each in cpp.arguments(text, start)]


def string(argument):
    """The text of a literal of C++, or of several side by side; None if it is something else."""
    if not cpp.STRINGS.fullmatch(argument):
        return None
    return "".join(ast.literal_eval(each) for each in re.findall(cpp.STRING, argument))


def strings(given):
    """The texts of those arguments that are literals."""
    return [each for each in map(string, given) if each is not None]


def signature_of(arguments_given, is_static):
    """The Python signature that a binding has."""
    parts = [] if is_static else ["self"]
    for each in arguments_given:
        if each.startswith("nb::sig("):
            shown = string(each[len("nb::sig("):-1].strip())
            return shown[shown.index("("):]
        argument = re.match(r'nb::arg\("(\w+)"\)(?:\.none\(\))?(?:\s*=\s*(.*))?$', each, re.S)
        if argument:
            default = (argument[2] or "").replace("nb::none()", "None").replace("true", "True")
            default = default.replace("false", "False")
            parts.append(argument[1] + (f"={default}" if default else ""))
        elif each == "nb::kw_only()":
            parts.append("*")
    return f"({', '.join(parts)})"


def bound(source):
    """The classes and functions that a file of the extension binds."""
    current = None
    for match in BINDING.finditer(source):
        given = arguments(source, match.end())
        texts = strings(given[1:])
        call = match[0].rstrip("( \n")
        if call.startswith("nb::class_"):
            current = Item("class", string(given[1]), text=texts[-1] if len(texts) > 1 else "")
            yield current
        elif match[1] == "module" or call.startswith("def_function"):
            names = strings(given)
            shown = names[1] if match[2] else names[0]
            text = names[-1] if len(names) > 1 + bool(match[2]) else ""
            yield Item("function", shown, signature_of(given, True), text)
        elif call.startswith("close_with"):
            current.members.append(Item("method", "close", "()", "Closes it."))
        elif current is not None:
            add_member(current, call.rpartition(".")[2], given)


def add_member(current, call, given):
    names = strings(given)
    name = names[MADE_BY.get(call, 0)] if len(names) > MADE_BY.get(call, 0) else ""
    text = names[-1] if len(names) > MADE_BY.get(call, 0) + 1 else ""
    if call in ("def_init", "def_new"):
        text = names[-1] if len(names) > 1 else ""
        current.signature = signature_of(given, True)
        current.text += "\n\n" * bool(text) + inspect.cleandoc(text)
    elif call in ("def_ro", "def_prop_ro"):
        current.members.append(Item("property", names[0], "", names[1] if names[1:] else ""))
    elif name and is_public(name):
        kind = "staticmethod" if call == "def_static" else "method"
        known = next((each for each in current.members if each.name == name), None)
        if call == "def_static" and "." not in names[0]:
            return
        item = Item(kind, name, signature_of(given, call == "def_static"), text)
        if known is None:
            current.members.append(item)
        else:
            known.text = known.text or item.text


def python_signature(node, drop_self, source):
    for defaults in (node.args.defaults, node.args.kw_defaults):  # as they are written: 0o600
        defaults[:] = [each and ast.Name(ast.get_source_segment(source, each))
                       for each in defaults]
    shown = ast.unparse(node.args)
    if drop_self:
        shown = re.sub(r"^(self|cls)(, )?", "", shown)
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"({shown}){returned}"


def of_class(node, source):
    members, signature = [], ""
    for each in node.body:
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            decorators = [ast.unparse(decorator) for decorator in each.decorator_list]
            if each.name == "__init__":
                signature = python_signature(each, True, source).removesuffix(" -> None")
                if re.match(r"\((raw|code)\b", signature):  # the package alone makes it
                    signature = ""
            elif is_public(each.name) and "overload" not in decorators:
                kind = "property" if "property" in decorators else "method"
                kind = "classmethod" if "classmethod" in decorators else kind
                shown = python_signature(each, True, source)
                members.append(Item(kind, each.name, shown, ast.get_docstring(each) or ""))
        elif isinstance(each, ast.AnnAssign) and is_public(each.target.id):
            members.append(Item("attribute", each.target.id, ast.unparse(each.annotation)))
        elif isinstance(each, ast.Assign) and is_public(ast.unparse(each.targets[0])):
            members.append(Item("attribute", ast.unparse(each.targets[0])))
    return Item("class", node.name, signature, ast.get_docstring(node) or "", members)


def of_file(path):
    source = path.read_text()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            yield of_class(node, source)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Item("function", node.name, python_signature(node, False, source),
                       ast.get_docstring(node) or "")


def exported(path):
    """The names in `__all__` of a module."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [each.value for each in node.value.elts if isinstance(each, ast.Constant)]
    raise ValueError(f"{path}: it has no __all__")


def errors():
    """The classes of errors, from the library's table."""
    table = re.sub(r'"\s+"', "", comments.ERRORS.read_text())
    head = re.compile(r"^CARILLON_ERROR(?:_WITH|_OF_PYTHON)?\(\s*(\w+), ([\w:]+),", re.M)
    for match in head.finditer(table):
        given = arguments(table, table.index("(", match.start()) + 1)
        members = [Item("attribute", name, kind, text) for kind, name, text in re.findall(
            r'CARILLON_MEMBER\(([\w:]+), (\w+),\s*"(.*?)"\)', " ".join(given[2:]))]
        base = "" if match[2].startswith("std") else f" An error of the class {match[2]}, too."
        yield Item("exception", match[1], text=string(given[-1]) + base, members=members)


def checked(wanted, items, where):
    found = {item.name: item for item in items if item.name}
    for name in wanted:
        if name in found:
            yield found[name]
        elif not name.startswith("__"):
            raise ValueError(f"{where}: {name} is exported, and no definition of it was found")


def module(name):
    """The text of a module and its public items."""
    if name == "carillon.errors":
        wanted = exported(PACKAGE / "errors.py")
        return (PACKAGE / "errors.py", checked(wanted, errors(), name))
    if name == "carillon.vkgdr":
        wanted = exported(VKGDR / "__init__.py")
        return (VKGDR / "__init__.py", checked(wanted, of_file(VKGDR / "__init__.py"), name))
    sources = sorted((pages.ROOT / "python/src").glob("*.cpp"))
    items = [item for path in sources for item in bound(path.read_text())]
    items += [item for path in sorted(PACKAGE.glob("_*.py")) for item in of_file(path)]
    items.append(Item("function", "connect_store", *store_connect(sources)))
    return PACKAGE / "__init__.py", checked(exported(PACKAGE / "__init__.py"), items, name)


def store_connect(sources):
    """`connect_store` is a static method that the package gives its name."""
    text = next(path for path in sources if path.name == "py_store.cpp").read_text()
    begin = re.search(r'\.def_static\(\s*"connect_store"', text).start()
    given = arguments(text, text.index("(", begin) + 1)
    return signature_of(given, True), strings(given)[-1]


def rows(item, module_name, indent=""):
    """The directives of Sphinx's that describe an item."""
    of_type = item.kind in ("property", "attribute")
    signature = "" if of_type else item.signature
    yield f"{indent}.. py:{item.kind}:: {item.name}{signature.replace('self, ', '').replace('(self)', '()')}"
    if not indent:
        yield f"   :module: {module_name}"
    shown = item.signature.removeprefix("() -> ") if of_type else ""
    if shown and shown != "()":
        yield f"{indent}   :type: {shown}"
    yield ""
    yield textwrap.indent(as_rst(item.text), indent + "   ")
    yield ""
    for member in item.members:
        yield from rows(member, module_name, indent + "   ")


def as_rst(text):
    text = re.sub(r"(?<!`)`([^`\n]+)`(?!`)", r"``\1``", text)
    text = re.sub(r"\|(?=[^`]*(?:``[^`]*``[^`]*)*$)", r"\\|", text)
    text = re.sub(r"(?<![`\w])\*(?=\w)", r"\\*", text)
    return re.sub(r"(?<![`\w])(\w+)_(?=\W)(?!`)", r"\1\\_", text)


def page(name):
    path, items = module(name)
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    title = f"``{name}``"
    yield from (title, "=" * len(title), "", as_rst(text), "", f".. py:module:: {name}", "")
    for item in sorted(items, key=lambda each: (each.kind == "function", each.name)):
        yield from rows(item, name)


def brief(name):
    """The first sentence about a module."""
    path, _ = module(name)
    return re.split(r"(?<=\.)\s", ast.get_docstring(ast.parse(path.read_text())) or "")[0]
