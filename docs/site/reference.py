# SPDX-License-Identifier: Apache-2.0
"""The reference: takes what is nobody's business out of Doxygen's XML, and writes a page for each
header and each module of Python."""
import pathlib
import re
import xml.etree.ElementTree

import pages
import python_api

XML = pages.ROOT / "build/site-xml"
HIDDEN = ("private", "friend", "package")


def is_documented(element):
    return any("".join(part.itertext()).strip() for kind in
               ("briefdescription", "detaileddescription") for part in element.findall(kind))


def compounds():
    """The files with XML, the compound that each has, and the tree."""
    for path in sorted(XML.glob("*.xml")):
        tree = xml.etree.ElementTree.parse(path)
        compound = tree.getroot().find("compounddef")
        if compound is not None:
            yield path, compound, tree


def strip():
    """Leaves what users may name, in the page of the header that defines it."""
    known = {compound.get("id"): compound for _, compound, _ in compounds()}
    header_of = {name: each.find("location").get("file") for name, each in known.items()
                 if each.find("location") is not None}
    for path, compound, tree in compounds():
        for section in compound.findall("sectiondef"):
            if section.get("kind").startswith(HIDDEN):
                compound.remove(section)
            for member in section.findall("memberdef"):
                member.set("inline", "no")
                if member.get("kind") == "friend" or is_internal(member):
                    section.remove(member)
        for inner in compound.findall("innerclass"):
            is_file = compound.get("kind") == "file"
            nested = is_file and inner.text.rpartition("::")[0] in {
                each.text for each in compound.findall("innerclass")}
            elsewhere = is_file and header_of.get(inner.get("refid")) != header_of[
                compound.get("id")]
            if inner.get("prot") == "private" or nested or elsewhere:
                compound.remove(inner)
        for kind in ("innernamespace", "derivedcompoundref"):
            for inner in compound.findall(kind):
                if kind == "innernamespace" or "detail::" in inner.text:
                    compound.remove(inner)
        tree.write(path, encoding="utf-8", xml_declaration=True)


def is_internal(member):
    """Macros that guard a header or stand for nothing."""
    return member.get("kind") == "define" and not is_documented(member)


def by_header():
    """What each header's file has in XML: the compound, and its public types in order."""
    found = {}
    for _, compound, _ in compounds():
        if compound.get("kind") == "file":
            types = [inner.text for kind in ("innerclass", "innerconcept")
                     for inner in compound.findall(kind)]
            header = re.sub(r"^.*?include/", "", compound.find("location").get("file"))
            found[header] = compound, types
    return found


def words(element):
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def title(text, line="="):
    return f"{text}\n{line * len(text)}\n"


def header_page(name):
    return f"{title(f'``{name}``')}\n.. doxygenfile:: {pathlib.PurePath(name).name}\n"


def section_page(entry, headers):
    """A page that lists the headers of a section, and what each defines."""
    text = title(entry.name)
    names = "".join(f"   /{each.doc()}\n" for each in entry.below)
    text += f"\n.. toctree::\n   :hidden:\n\n{names}\n"
    for each in entry.below:
        text += f":doc:`{each.name} </{each.doc()}>`\n"
        if each.name in headers:
            compound, types = headers[each.name]
            brief = words(compound.find("briefdescription")).replace("*", "\\*")
            shown = [re.sub(r"^carillon::|<.*", "", each) for each in types]
            text += f"   {brief}\n\n" if brief else ""
            text += ("   " + ", ".join(f"``{each}``" for each in dict.fromkeys(shown)) + "\n\n"
                     if types else "   |nothing|\n\n" if not brief else "")
        else:
            inner = ", ".join(f":doc:`{below.name} </{below.doc()}>`" for below in each.below)
            text += f"   {inner or python_api.brief(each.name)}\n\n"
    return text


def write(folder):
    headers = by_header()
    for entry in pages.listed():
        path = folder / f"{entry.doc()}.rst"
        if entry.is_made() and entry.name.endswith((".h", ".hpp")):
            if entry.name not in headers:
                raise ValueError(f"{pages.NAVIGATION}: there is no header {entry.name}")
            pages.put(path, header_page(entry.name))
        elif entry.is_made():
            pages.put(path, "\n".join(python_api.page(entry.name)) + "\n")
        elif entry.below and entry.all_made():
            pages.put(path, section_page(entry, headers))


def missing_headers():
    """Headers of which something is documented and that the navigation does not list."""
    listed = {entry.name for entry in pages.listed()}
    for name, (compound, types) in by_header().items():
        members = [each for section in compound.findall("sectiondef")
                   for each in section.findall("memberdef") if is_documented(each)]
        if name not in listed and (types or members):
            yield name
