#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the man pages of the carillon command, carillon.1 and one for each subcommand, from what
it says when it is asked for --help. Dated by SOURCE_DATE_EPOCH, or today.
Usage: man.py CARILLON FOLDER"""
import datetime
import os
import pathlib
import re
import subprocess
import sys

# A line of --help that names an option or a subcommand, with its text, if that does not stand
# below.
ENTRY = re.compile(r"^  (\S.*?)(?:\s{2,}(\S.*))?$")
STATUS = (("0", "success"), ("1", "failure; the error is one line on standard error"),
          ("2", "usage"))
SELECTORS = (
    ("best", "the first GPU, or the emulated device on a machine that has none; the default"),
    ("cuda:N", "the GPU with CUDA's ordinal N"),
    ("cuda:N:host", "the same, its rings in page-locked host memory"),
    ("GPU-<uuid>", "the GPU with that UUID, as nvidia-smi prints it"),
    ("emulated", "the emulated device: threads of this CPU"),
    ("emulated:vulkan", "the same, its memory from Vulkan's CPU driver"))
ENVIRONMENT = (
    ("CARILLON_GUARD", "report or abort: CUDA calls that would wait for a running kernel are named "
     "with their stack before they hang"),
    ("CARILLON_PROFILES", "the folder of placement profiles, instead of carillon/placement in "
     "$XDG_CONFIG_HOME or ~/.config"))


def ask(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def roff(text):
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    return r"\&" + text if text.startswith((".", r"\(aq")) else text


def sections(text):
    """The entries of each section of --help: what is named, and what it is."""
    found, name = {}, None
    for line in text.splitlines():
        entry = ENTRY.match(line)
        if line.endswith(":") and not line.startswith(" "):
            name = line[:-1]
            found[name] = []
        elif name and entry and len(line) - len(line.lstrip()) == 2:
            found[name].append([entry[1], entry[2] or ""])
        elif name and line.strip():
            found[name][-1][1] += " " * bool(found[name][-1][1]) + line.strip()
    return found


def option(text):
    """`--rounds UINT:UINT in [1 - 1000]` in the way of man pages."""
    names, _, value = text.partition(" ")
    shown = ", ".join(rf"\fB{roff(name)}\fR" for name in names.split(","))
    value = re.sub(r"^(\w+):\1 in \[(.*) - (.*)\]", r"\1 (\2 to \3)", value)
    value = value.replace("Excludes:", "(not with").strip() + ")" * ("Excludes:" in value)
    word, _, rest = value.partition(" ")
    return shown + (rf" \fI{word}\fR {roff(rest)}".rstrip() if word else "")


def listed(entries, show=lambda text: rf"\fB{roff(text)}\fR"):
    return [line for name, text in entries for line in (".TP", show(name), roff(text))]


def page(name, version, day, text, extra):
    summary, usage = text.splitlines()[:2]
    found = sections(text)
    lines = [f'.TH {name.upper()} 1 {day} "Carillon {version}" "Carillon"',
             ".SH NAME", f"{roff(name)} \\- {roff(summary.rstrip('.'))}",
             ".SH SYNOPSIS", rf"\fB{roff(usage.removeprefix('Usage: '))}\fR"]
    for heading, entries in found.items():
        lines += [f".SH {heading.upper()}"]
        lines += listed(entries, option if heading == "Options" else listed_name)
    lines += extra + [".SH EXIT STATUS"] + listed(STATUS)
    return lines


def listed_name(text):
    return rf"\fB{roff(text.split()[0])}\fR {roff(' '.join(text.split()[1:]))}".rstrip()


def see_also(names):
    return [".SH SEE ALSO"] + [", ".join(rf"\fB{roff(name)}\fR(1)" for name in names)]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    day = (datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc) if seconds
           else datetime.datetime.now(datetime.timezone.utc)).strftime("%Y-%m-%d")
    version = ask(command, "--version").strip()
    text = ask(command, "--help")
    names = [name for name, _ in sections(text)["Subcommands"]]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("carillon*.1"):
        old.unlink()
    about = [".SH DEVICES", "What", r"\fB\-\-device\fR", "names:"] + listed(SELECTORS) + [
        ".SH ENVIRONMENT"] + listed(ENVIRONMENT)
    pages = {"carillon": page("carillon", version, day, text, about)
             + see_also(f"carillon-{name}" for name in names)}
    for name in names:
        pages[f"carillon-{name}"] = page(f"carillon-{name}", version, day,
                                         ask(command, name, "--help"), []) + see_also(["carillon"])
    for name, lines in pages.items():
        (folder / f"{name}.1").write_text("\n".join(lines) + "\n")


main()
