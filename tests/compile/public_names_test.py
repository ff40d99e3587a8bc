#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What users read and write names nothing of carillon::detail: no signature, no template argument
by default and no base in a public header, apart from what is private and what an alias stands for.
Needs libclang (Debian: python3-clang).
Usage: public_names_test.py INCLUDE_DIRECTORY [-- OPTION OF THE COMPILER ...]"""
import os
import pathlib
import re
import sys
import tempfile

DEBIAN = "/usr/bin/python3"  # the one that has what Debian packages of Python bring

try:
    import clang.cindex
    from clang.cindex import AccessSpecifier, CursorKind
except ImportError:
    if os.path.exists(DEBIAN) and os.path.realpath(sys.executable) != os.path.realpath(DEBIAN):
        os.execv(DEBIAN, [DEBIAN, *sys.argv])
    print("SKIPPED: this Python has no libclang (Debian: python3-clang)")
    sys.exit(77)

SCOPES = (CursorKind.CLASS_DECL, CursorKind.STRUCT_DECL, CursorKind.CLASS_TEMPLATE,
          CursorKind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION)
CALLABLES = (CursorKind.FUNCTION_DECL, CursorKind.FUNCTION_TEMPLATE, CursorKind.CXX_METHOD,
             CursorKind.CONSTRUCTOR, CursorKind.DESTRUCTOR, CursorKind.CONVERSION_FUNCTION)
NAMED = CALLABLES + (CursorKind.FIELD_DECL, CursorKind.VAR_DECL, CursorKind.TYPE_ALIAS_DECL,
                     CursorKind.TYPE_ALIAS_TEMPLATE_DECL, CursorKind.TYPEDEF_DECL,
                     CursorKind.ENUM_DECL)
# What stands behind their = is theirs: an alias is a name that users have for it.
BEGUN = (CursorKind.FIELD_DECL, CursorKind.VAR_DECL, CursorKind.TYPE_ALIAS_DECL,
         CursorKind.TYPE_ALIAS_TEMPLATE_DECL)
HIDDEN = (AccessSpecifier.PRIVATE, AccessSpecifier.PROTECTED)


def header_end(tokens):
    """The number of tokens of a template's header, with its <>."""
    depth, at = 0, 0
    if tokens[:1] == ["template"]:
        at = 1
        while depth > 0 or at == 1:
            depth += (tokens[at] == "<") - (tokens[at] == ">") - 2 * (tokens[at] == ">>")
            at += 1
    return at


def signature(cursor):
    """The tokens of a declaration up to its body, or up to what a constructor or a field begins
    with."""
    tokens = [token.spelling for token in cursor.get_tokens()]
    begin = header_end(tokens)
    yield from tokens[:begin]
    depth, hidden = 0, False  # in a base that is private
    for text in tokens[begin:]:
        if depth == 0 and (text in ("{", ";") or (text == ":" and cursor.kind in CALLABLES)):
            return
        if depth == 0 and text == "=" and cursor.kind in BEGUN:
            return
        if cursor.kind in SCOPES and text in ("private", "public"):
            hidden = text == "private"
        if hidden:
            continue
        depth += text in ("(", "[")
        depth -= text in (")", "]")
        yield text


def names_detail(cursor):
    return "detail" in signature(cursor)


def declarations(cursor):
    """Every declaration below `cursor` that users see, with those of classes in classes."""
    for child in cursor.get_children():
        if child.access_specifier in HIDDEN or child.kind == CursorKind.FRIEND_DECL:
            continue
        if child.kind == CursorKind.NAMESPACE:
            if child.spelling != "detail":
                yield from declarations(child)
        elif child.kind in SCOPES:
            yield child
            yield from declarations(child)
        elif child.kind in NAMED:
            yield child


def offenders(unit, headers):
    for cursor in declarations(unit.cursor):
        file = cursor.location.file
        if file is None or pathlib.Path(file.name).resolve() not in headers:
            continue
        if names_detail(cursor):
            yield f"{file.name}:{cursor.location.line}: {cursor.spelling}"


def parse(text, options):
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory) / "all.cpp"
        source.write_text(text)
        unit = clang.cindex.Index.create().parse(str(source), ["-std=c++20", *options])
    errors = [each for each in unit.diagnostics if each.severity >= clang.cindex.Diagnostic.Error]
    for error in errors:
        print(error)
    return None if errors else unit


def finds_what_it_is_for(directory):
    """A header with one name of detail in each place where it counts, and in some where not."""
    header = pathlib.Path(directory) / "sample.hpp"
    header.write_text("""namespace carillon { namespace detail { struct A {}; }
        template <class, class> struct Pair {};
        template <class T = int, class U = Pair<T, Pair<T, T>>> struct Good1 {};
        template <class T, class U = Pair<T, detail::A>> struct Bad0 {};
        template <class T> struct Bad1 : Good1<detail::A> {};
        struct Bad2 : private Good1<detail::A>, public detail::A {};
        struct Good4 : private detail::A {}; using Good2 = detail::A;
        struct Good { int x = sizeof(detail::A); Good() : a_() { detail::A b; (void)b; }
          detail::A bad3(); void bad4(detail::A); static detail::A bad5; detail::A bad6;
          private: detail::A a_; detail::A good(); };
        detail::A bad7(); template <class T = detail::A> void bad8(T);
        template <class T> using Good3 = Pair<T, detail::A>;
        inline int good() { detail::A a; (void)a; return 0; } }
        """)
    unit = parse(f'#include "{header}"\n', [])
    found = list(offenders(unit, {header.resolve()})) if unit else []
    return [each.rsplit(" ", 1)[1].lower() for each in found] == [f"bad{i}" for i in range(9)]


def not_in_the_header_of_all(headers):
    """What carillon.hpp lacks, or has beside the public headers. testing.hpp is for unit tests."""
    included = re.findall(r'^#include "carillon/([^"]+)"',
                          next(each for each in headers if each.name == "carillon.hpp").read_text(),
                          re.M)
    public = {each.name for each in headers} - {"carillon.hpp", "testing.hpp"}
    return set(included) ^ public


def main():
    include = pathlib.Path(sys.argv[1]).resolve()
    options = sys.argv[3:] if sys.argv[2:3] == ["--"] else []
    with tempfile.TemporaryDirectory() as directory:
        if not finds_what_it_is_for(directory):
            print("this check does not find what it is for")
            return 1
    headers = set((include / "carillon").glob("*.hpp"))
    for name in sorted(not_in_the_header_of_all(headers)):
        print(f"carillon.hpp includes what is not public, or lacks: {name}")
        return 1
    everything = "".join(f'#include "carillon/{each.name}"\n' for each in sorted(headers))
    unit = parse(everything, [f"-I{include}", *options])
    if unit is None:
        return 1
    found = sorted(set(offenders(unit, headers)))
    print("\n".join(found))
    print(f"{len(found)} names of detail in {len(headers)} public headers")
    return 1 if found else 0


sys.exit(main())
