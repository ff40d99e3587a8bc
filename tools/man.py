#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the man pages of the carillon command, carillon.1 and one for each subcommand, from its
--help. Dated by SOURCE_DATE_EPOCH, or today.
Usage: man.py CARILLON FOLDER"""
import datetime
import os
import pathlib
import re
import subprocess
import sys

# A line of --help that names an option, a subcommand or an example, with its text, if that does not
# stand below.
ENTRY = re.compile(r"^  (\S.*?)(?:\s{2,}(\S.*))?$")
# Sections of --help that do not list subcommands.
OTHER_SECTIONS = ("Arguments", "Options", "Examples")
STATUS = (("0", "success"),
          ("1", "failure; the error is one line on standard error"),
          ("2", "a usage error: an unknown subcommand or option, or a value that is not accepted"),
          ("130", "Ctrl-C ended a measurement; the report has what was measured until then"))
SELECTORS = (
    ("best", "the first GPU, or the emulated device on a machine without one; the default"),
    ("cuda:N", "the GPU with CUDA's ordinal N"),
    ("N", "the same as cuda:N"),
    ("cuda:N:host", "the same GPU, with the rings in pinned host memory"),
    ("GPU-<uuid>", "the GPU with that UUID, as nvidia-smi prints it"),
    ("current", "the GPU of the calling thread's CUDA context, in that context; for programs that "
     "use the library"),
    ("emulated", "the emulated device: threads of this CPU"),
    ("emulated:vulkan", "the emulated device with memory from Vulkan's CPU driver"))
ENVIRONMENT = (
    ("CARILLON_STACK_BYTES", "bytes of stack for each thread of a GPU; the default is what the "
     "largest kernel of the program uses"),
    ("CARILLON_GUARD", "report or abort: name a CUDA call, with its stack, that would wait for a "
     "running kernel"),
    ("CARILLON_PROFILES", "the folder of placement profiles; the default is carillon/placement in "
     "$XDG_CONFIG_HOME or ~/.config"),
    ("CARILLON_HEADERS", "the folder that has carillon/, for handlers that are compiled at run time"),
    ("CARILLON_NVRTC, CARILLON_NVJITLINK", "the files of NVRTC and nvJitLink; the default is those "
     "of the loader, of $CUDA_HOME, of $CUDA_PATH, or of /usr/local/cuda"),
    ("CARILLON_DEVICE", "the device of programs that use the library for gdrcopy; the "
     "default is the GPU of the current CUDA context"),
    ("GDRCOPY_ENABLE_LOGGING", "if set, the library for gdrcopy writes its errors to standard error"),
    ("XDG_CACHE_HOME", "compiled handlers are kept in carillon/ there; the default is ~/.cache"),
    ("TMPDIR", "the folder of temporary sockets; the default is /tmp"),
    ("COLUMNS", "the width of the table of top, where standard output is not a terminal"),
    ("TERM", "dumb, or none: no line is drawn twice"),
    ("NO_COLOR", "has no effect: the command writes no colors"),
    ("CUDA_VISIBLE_DEVICES, VK_DRIVER_FILES", "are read by CUDA and by Vulkan's loader"))


def ask(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def roff(text):
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    return r"\&" + text if text.startswith((".", r"\(aq")) else text


def sections(text):
    """The entries of each section of --help: a name, and its text."""
    found, name = {}, None
    for line in text.splitlines():
        entry = ENTRY.match(line)
        if line.endswith(":") and not line.startswith(" "):
            name = line[:-1]
            found[name] = []
        elif name and entry and len(line) - len(line.lstrip()) == 2:
            found[name].append([entry[1], entry[2] or ""])
        elif name and line.startswith("   "):
            found[name][-1][1] += " " * bool(found[name][-1][1]) + line.strip()
    return found


def option(text):
    """`--rounds N` in the way of man pages."""
    names, _, value = text.replace("[=FILE]", " [=FILE]").partition(" ")
    shown = ", ".join(rf"\fB{roff(name)}\fR" for name in names.split(","))
    space = "" if value.startswith("[") else " "
    return shown + (rf"{space}\fI{roff(value)}\fR" if value else "")


def bold(text):
    return rf"\fB{roff(text)}\fR"


def listed(entries, show=bold):
    return [line for name, text in entries for line in (".TP", show(name), roff(text))]


def description(text):
    """The paragraphs between the first line and the usage; the first line where there are none."""
    before = text.split("\nUsage: ")[0].splitlines()
    return [roff(line) if line.strip() else ".PP" for line in before[2:]] or [roff(before[0])]


def page(name, version, day, text, extra):
    found = sections(text)
    usage = re.search(r"^Usage: (.*)$", text, re.M)[1]
    lines = [f'.TH {name.upper()} 1 {day} "Carillon {version}" "Carillon"',
             ".SH NAME", f"{roff(name)} \\- {roff(text.splitlines()[0].rstrip('.'))}",
             ".SH SYNOPSIS", bold(usage),
             ".SH DESCRIPTION", *description(text)]
    for heading in ("Arguments", "Options"):
        if heading in found:
            lines += [f".SH {heading.upper()}", *listed(found[heading], option)]
    subcommands = {key: value for key, value in found.items() if key not in OTHER_SECTIONS}
    if subcommands:
        lines += [".SH SUBCOMMANDS"]
    for heading, entries in subcommands.items():
        lines += [f".SS {roff(heading)}", *listed(entries)]
    lines += extra
    if "Examples" in found:
        lines += [".SH EXAMPLES", *listed(found["Examples"])]
    return lines + [".SH EXIT STATUS", *listed(STATUS)]


def see_also(names):
    return [".SH SEE ALSO", ", ".join(rf"\fB{roff(name)}\fR(1)" for name in names)]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    day = (datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc) if seconds
           else datetime.datetime.now(datetime.timezone.utc)).strftime("%Y-%m-%d")
    version = ask(command, "--version").strip()
    text = ask(command, "--help")
    names = [name for heading, entries in sections(text).items() if heading not in OTHER_SECTIONS
             for name, _ in entries]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("carillon*.1"):
        old.unlink()
    devices = [".SH DEVICES", r"\fB\-\-device\fR takes one of these:", *listed(SELECTORS)]
    values = [".SH VALUES", r"A \fITIME\fR is a number with a unit: ns, us, ms, s, min or h.",
              "A number without a unit is in seconds."]
    environment = [".SH ENVIRONMENT", *listed(ENVIRONMENT)]
    pages = {"carillon": page("carillon", version, day, text, values + devices + environment)
             + see_also(f"carillon-{name}" for name in names)}
    for name in names:
        told = ask(command, name, "--help")
        extra = values * ("TIME" in told) + devices * ("--device" in told)
        pages[f"carillon-{name}"] = page(f"carillon-{name}", version, day, told,
                                         extra) + see_also(["carillon"])
    for name, lines in pages.items():
        (folder / f"{name}.1").write_text("\n".join(lines) + "\n")


main()
