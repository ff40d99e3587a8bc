# SPDX-License-Identifier: Apache-2.0
"""The reference: takes internals out of Doxygen's XML, and writes a page for each header and each
module of Python."""
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
    """Leaves the names that users may use, each in the page of the header that defines it."""
    known = {compound.get("id"): compound for _, compound, _ in compounds()}
    header_of = {name: each.find("location").get("file") for name, each in known.items()
                 if each.find("location") is not None}
    for path, compound, tree in compounds():
        for section in compound.findall("sectiondef"):
            if section.get("kind").startswith(HIDDEN):
                compound.remove(section)
            for member in section.findall("memberdef"):
                member.set("inline", "no")
                # A macro without a comment guards a header or stands for nothing.
                if member.get("kind") == "friend" or (
                        member.get("kind") == "define" and not is_documented(member)):
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
        if compound.get("kind") == "file" and header_of[compound.get("id")].endswith(".h"):
            in_order(compound)
        tree.write(path, encoding="utf-8", xml_declaration=True)


def line_of(element):
    return int(element.find("location").get("line"))


def in_order(compound):
    """Orders what a header in C has as the header does: what is in no section of its own comes
    first."""
    sections = compound.findall("sectiondef")
    for enum in compound.findall("sectiondef/memberdef[@kind='enum']"):
        if enum.findtext("name").startswith("carillon_") and "int32_t" not in words(enum):
            text = xml.etree.ElementTree.SubElement(enum.find("detaileddescription"), "para")
            text.text = "Its type is int32_t."
    first = xml.etree.ElementTree.Element("sectiondef", kind="user-defined")
    xml.etree.ElementTree.SubElement(first, "header").text = "General"
    for section in sections:
        compound.remove(section)
        if section.get("kind") != "user-defined":
            first.extend(section.findall("memberdef"))
    own = [each for each in sections if each.get("kind") == "user-defined"]
    for section in [first, *own]:
        members = sorted(section.findall("memberdef"), key=line_of)
        for member in members:
            section.remove(member)
        section.extend(members)
    at = list(compound).index(compound.find("detaileddescription")) + 1
    own.sort(key=lambda each: line_of(each.find("memberdef")))
    for section in reversed([first, *own]):
        if section.find("memberdef") is not None:
            compound.insert(at, section)


def by_header():
    """The XML of each header: the compound, its public types in order, its concepts."""
    found, concepts = {}, {}
    for _, compound, _ in compounds():
        header = compound.find("location")
        header = re.sub(r"^.*?include/", "", header.get("file")) if header is not None else ""
        if compound.get("kind") == "file":
            found[header] = (compound, [inner.text for inner in compound.findall("innerclass")],
                             concepts.setdefault(header, []))
        elif compound.get("kind") == "concept":
            concepts.setdefault(header, []).append(compound.findtext("compoundname"))
    return found


def words(element):
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def title(text):
    return f"{text}\n{'=' * len(text)}\n"


def header_page(entry, concepts):
    text = f"{title(f'``{entry.name}``')}\n"
    if entry.related:
        text += f"See also {', '.join(f'``{each}``' for each in entry.related)}.\n\n"
    text += f".. doxygenfile:: {short(entry.name)}\n"
    return text + "".join(f"\n.. doxygenconcept:: {each}\n" for each in concepts)


def short(name):
    """A header's name without folders."""
    return pathlib.PurePath(name).name


def section_page(entry, headers):
    """A page that lists the headers of a section, and what each defines."""
    text = title(entry.name)
    names = "".join(f"   {short(each.name)} </{each.doc()}>\n" for each in entry.below)
    text += f"\n.. toctree::\n   :hidden:\n\n{names}\n"
    for each in entry.below:
        text += f":doc:`{each.name} </{each.doc()}>`\n"
        if each.name in headers:
            compound, types, concepts = headers[each.name]
            brief = words(compound.find("briefdescription")).replace("*", "\\*")
            shown = [re.sub(r"^carillon::|<.*", "", each) for each in types + concepts]
            text += f"   {brief}\n\n" if brief else ""
            text += ("   " + ", ".join(f"``{each}``" for each in dict.fromkeys(shown)) + "\n\n"
                     if shown else "")
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
            pages.put(path, header_page(entry, headers[entry.name][2]))
        elif entry.is_made():
            pages.put(path, "\n".join(python_api.page(entry.name)) + "\n")
        elif entry.below and entry.all_made():
            pages.put(path, section_page(entry, headers))


def missing_headers():
    """Headers of which something is documented and that the navigation does not list."""
    listed = {entry.name for entry in pages.listed()}
    for name, (compound, types, _) in by_header().items():
        members = [each for section in compound.findall("sectiondef")
                   for each in section.findall("memberdef") if is_documented(each)]
        if name not in listed and (types or members):
            yield name
