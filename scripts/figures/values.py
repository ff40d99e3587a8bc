# SPDX-License-Identifier: Apache-2.0
"""Keys that name a value of a results file, and how a value is written.

    rtt:results[name=call].p50_ns | us        1.62 us
    rtt:users[name=call-768/768].p50_ns / rtt:users[name=call-48/48].p50_ns | x    1.65×
    rtt:environment.device | GPU              an H100

FILE is a file of bench/results without .json. PATH goes into it: `.name` is a member, `[a=b,c=d]`
the one row with these members. `A / B` is a ratio, `A - B` a difference and `A * 64` a product; the
part after the operator may leave FILE out. In a table, where `|` ends a cell, write `\\|`."""

import decimal
import functools
import json
import operator
import pathlib
import re

OWN = pathlib.Path(__file__).parents[2] / "bench/results"
OPERATORS = {"/": operator.truediv, "-": operator.sub, "*": operator.mul}
FILE = re.compile(r"([\w.-]+):")
ROW = re.compile(r"\[([^\]]*)\]")
NUMBER = re.compile(r"\d+(\.\d+)?")
# The unit that a member's name ends in, in nanoseconds.
TIMES = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "seconds": 1e9}
# The factor of other units, and how they are written.
SCALES = {"%": (100, " %"), "GB/s": (1, " GB/s"), "W": (1, " W"), "M/s": (1e-6, " M/s"), "x": (1, "×")}


class BadKey(Exception):
    """A key that names no value; says why."""


@functools.cache
def load(folder, name):
    """A results file; that of bench/results where the folder has none of this name."""
    for path in (folder / f"{name}.json", OWN / f"{name}.json"):
        if path.is_file():
            return json.loads(path.read_text())
    raise BadKey(f"there is no results file {name}.json")


def row(rows, selector):
    if not isinstance(rows, list):
        raise BadKey(f"[{selector}] is asked of what is no list")
    wanted = [each.partition("=")[::2] for each in selector.split(",")]
    found = [
        each
        for each in rows
        if all(name in each and value in (each[name], json.dumps(each[name])) for name, value in wanted)
    ]
    if len(found) != 1:
        raise BadKey(f"{len(found) or 'no'} rows match [{selector}]")
    return found[0]


def follow(value, path):
    """The value at `path`, and the name of the last member. Members' names may have dots: the
    longest one that fits counts."""
    last = ""
    while path:
        selected = ROW.match(path)
        if selected:
            value, path = row(value, selected[1]), path[selected.end() :]
            continue
        path = path.removeprefix(".")
        names = (
            [name for name in value if path == name or path.startswith((name + ".", name + "["))]
            if isinstance(value, dict)
            else []
        )
        if not names:
            raise BadKey(f'there is no member "{path}"')
        last = max(names, key=len)
        value, path = value[last], path[len(last) :]
    return value, last


def term(text, folder, default_file):
    """One operand: its value, the name of its member, and its file."""
    if NUMBER.fullmatch(text):
        return float(text), "", default_file
    named = FILE.match(text)
    file = named[1] if named else default_file
    if not file:
        raise BadKey(f'"{text}" names no results file')
    value, member = follow(load(folder, file), text[named.end() :] if named else text)
    return value, member, file


def look_up(expression, folder):
    """The value of an expression, and the name of its member: empty for a ratio."""
    first, *rest = re.split(r" ([/*-]) ", expression.strip())
    value, member, file = term(first, folder, "")
    for sign, text in zip(rest[::2], rest[1::2]):
        right, other, file = term(text.strip(), folder, file)
        if not all(isinstance(each, (int, float)) for each in (value, right)):
            raise BadKey(f'"{expression}" calculates with what is no number')
        if sign in "*/" and right == 0:
            raise BadKey(f'"{expression}" divides by 0, or is 0')
        value = OPERATORS[sign](value, right)
        if sign == "/" and other:
            member = ""
    if not isinstance(value, (int, float)):
        raise BadKey(f'"{expression}" is no number')
    return value, member


def digits(value, count=3):
    """A number with so many significant digits, and at least all of its digits before the point."""
    if value == 0 or isinstance(value, int):
        return str(value)
    exact = decimal.Decimal(repr(float(value)))
    for _ in range(2):  # 9.996 becomes 10.00, and that 10.0
        decimals = max(0, count - 1 - exact.adjusted())
        exact = exact.quantize(decimal.Decimal(1).scaleb(-decimals), decimal.ROUND_HALF_UP)
    return f"{exact:f}"


def unit_of(member):
    return member.rpartition("_")[2] if member.rpartition("_")[2] in TIMES else "ns"


def plain_digits(value):
    """Three digits; `3.00` of what a program was told to do is `3`."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e6 else digits(float(value))


def written(value, member, unit):
    """A value as it stands in a text."""
    if unit in TIMES:
        scaled = value * TIMES[unit_of(member)] / TIMES[unit]
        return f"{plain_digits(scaled)} {unit}"
    if unit in SCALES:
        scale, suffix = SCALES[unit]
        return digits(float(value * scale)) + suffix
    return plain_digits(value)


def gpu(expression, folder):
    """The GPU that figures are of, with its article."""
    name, _, _ = term(expression.strip(), folder, "")
    if not isinstance(name, str):
        raise BadKey(f'"{expression}" is no name')
    model = re.sub(r" \d+ ?GB.*", "", name.removeprefix("NVIDIA "))
    return ("an " if model[0] in "AEFHILMNORSX" else "a ") + model


def text_of(key, folder):
    """The text that a key stands for."""
    expression, _, unit = key.replace("\\|", "|").rpartition(" | ")
    if not expression:
        expression, unit = unit, ""
    if unit.strip() == "GPU":
        return gpu(expression, folder)
    if unit.strip() and unit.strip() not in (*TIMES, *SCALES):
        raise BadKey(f'"{unit.strip()}" is no format; there are {", ".join([*TIMES, *SCALES, "GPU"])}')
    return written(*look_up(expression, folder), unit.strip())
