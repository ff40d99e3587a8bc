# SPDX-License-Identifier: Apache-2.0
"""Finds figures that somebody typed: a number with a unit, outside of code, generated blocks and
markers (markers.py). Compares the constants of the code that pages name with the code."""

import itertools
import re

from figures import markdown, markers

NUMBER = r"(?<![\w.,#/'-])(\d{1,3}(?:[ ',]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
WORDS = (
    r"ns|us|µs|ms|s|secs?|seconds?|min|minutes?|h|hours?|(?:nano|micro|milli)seconds?|GB/s|MB/s|KB/s|"
    r"[GMK]iB/s|[kKMG]B|[KMG]iB|[MkK]/s|[MkK] [a-z]+/s|M|thousand|million|billion|%|percent|per cent|times|W|watts?"
)
FIGURE = re.compile(rf"{NUMBER}(?:[\s\u00a0-]?(?:{WORDS})(?![\w/])|x(?!\w)|\s?×(?!\s?\d))")
# The machine of measured figures.
MACHINE = re.compile(r"\b[Oo]n\s+an?\s+(?:NVIDIA\s+)?(?:[A-Z]{1,2}\d{2,3}|GeForce|RTX)\b")
# Figures in a link's target or an attribute were not measured.
NO_TEXT = (re.compile(r"\]\([^)\s]*\)"), re.compile(r"<[a-z/][^>\n]*>"), re.compile(r"^\[[^\]]+\]: .*$", re.M))
NANOSECONDS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
LONG = {
    "nanosecond": "ns",
    "microsecond": "us",
    "millisecond": "ms",
    "sec": "s",
    "second": "s",
    "minute": "min",
    "hour": "h",
}
SIZES = {
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "%": 1 / 100,
    "percent": 1 / 100,
}
LINES_OF_CONSTANT = 6  # its own and five more
CPP_NUMBER = re.compile(r"(?<![\w.])(\d[\d']*(?:\.\d+)?(?:e\d+)?)([a-zA-Z]*)")
DURATION = re.compile(r".*\b(nano|micro|milli|)(second|minute|hour)s\b[^;\n]{0,40}?[({=]\s*$")


def unit(name):
    """A unit's short name."""
    singular = name[:-1] if name.endswith("s") and len(name) > 2 else name
    return LONG.get(singular, name)


def said(text):
    """The number that a text says and its unit, such as 50 and us; None if it says none."""
    match = re.search(r"(\d[\d',]*(?: \d{3})*(?:\.\d+)?)[\s-]?([^\s\d]+)?", text)
    if not match:
        return None
    return float(re.sub("[', ]", "", match[1])), unit((match[2] or "").rstrip(".,;:)"))


def product(text):
    """`4 * 1024`, `size_t{1} << 20`, with suffixes of C++; None if there is none."""
    match = re.search(r"(\d[\d']*)[uUlLzZ]*\}?\s*(<<|\*)\s*(\d[\d']*)", text)
    if not match:
        return None
    left, right = (int(match[side].replace("'", "")) for side in (1, 3))
    return left << right if match[2] == "<<" else left * right


def numbers(line):
    """The numbers of a line of code, each with its unit where the line says one."""
    for match in CPP_NUMBER.finditer(line):
        value = float(match[1].replace("'", ""))
        duration = DURATION.search(line[: match.start()])
        suffix = match[2] if match[2] in NANOSECONDS else ""
        if not suffix and not match[2]:  # `50 us` in a comment
            after = re.match(r"\s(ns|us|ms|s|seconds?|minutes?|hours?|min|h)\b", line[match.end() :])
            suffix = unit(after[1]) if after else ""
        yield value, unit(duration[1] + duration[2]) if duration else suffix
    if product(line) is not None:
        yield float(product(line)), ""


def equal(wanted, found):
    """Compares two numbers; one without a unit of time may be in any."""
    (value, name), (other, other_name) = wanted, found
    if name in NANOSECONDS:
        units = [other_name] if other_name in NANOSECONDS else NANOSECONDS
        return any(abs(value * NANOSECONDS[name] - other * NANOSECONDS[each]) < 1e-6 for each in units)
    return other in (value, value * SIZES.get(name, 1)) and other_name not in NANOSECONDS


def wrong_constant(names, text, root):
    """The reason why a constant is refused; None if its file has it."""
    file, _, identifier = names.partition(" ")
    path = root / file
    if not identifier or not path.is_file():
        return f"<!--c {names} -->: there is no file {file}" if identifier else f"<!--c {names} -->: FILE IDENTIFIER"
    wanted = said(text)
    if wanted is None:
        return f'<!--c {names} -->: "{text}" has no number'
    rows = path.read_text().splitlines()
    named = [i for i, row in enumerate(rows) if re.search(rf"(?<!\w){re.escape(identifier.strip())}(?!\w)", row)]
    if not named:
        return f"<!--c {names} -->: {file} has no {identifier}"
    near = itertools.chain.from_iterable(rows[i : i + LINES_OF_CONSTANT] for i in named)
    if any(equal(wanted, found) for row in near for found in numbers(row)):
        return None
    return f"<!--c {names} -->: {file} does not say {text} there"


def around(text, offset):
    """The row of a table or the paragraph at an offset."""
    row = text[text.rfind("\n", 0, offset) + 1 :].partition("\n")[0]
    if row.startswith("|"):
        return row
    return text[text.rfind("\n\n", 0, offset) + 1 :].lstrip("\n").partition("\n\n")[0]


def typed_figures(text):
    """Line and text of each figure, and of each GPU that marked figures are of, in a page without a marker."""
    prose = markdown.mask(markdown.prose(text), markers.MARKER, markdown.COMMENT, *NO_TEXT)
    machines = [match for match in MACHINE.finditer(prose) if "<!--=" in around(text, match.start())]
    for match in sorted([*FIGURE.finditer(prose), *machines], key=lambda found: found.start()):
        yield markdown.line_of(prose, match.start()), re.sub(r"\s+", " ", match[0])


def problems(text, root):
    """Line and text of each problem of a page."""
    found = list(markers.malformed(text))
    found += [
        (line, f'"{figure}" is typed: mark where it comes from (scripts/figures/markers.py)')
        for line, figure in typed_figures(text)
    ]
    for match in markers.inside(text):
        line = markdown.line_of(text, match.start())
        if match[1] == "c":
            wrong = wrong_constant(match[2], match[3], root)
            found += [(line, wrong)] if wrong else []
        elif match[1] == "n" and not match[2].strip():
            found.append((line, "<!--n -->: no reason"))
    return sorted(found)


def typed_on_purpose(text):
    """Line, figure and reason of each `<!--n REASON -->`."""
    for match in markers.inside(text):
        if match[1] == "n":
            yield markdown.line_of(text, match.start()), match[3], match[2]
