#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A lambda in a header has the same captures in the same order by g++ and by nvcc. The linker keeps
one body for both where a program has the same call in a source of each. nvcc's front end writes
this-> before calls of member functions: without it g++ captures this later, behind their arguments.
Usage: closures_test.py SOURCE COMPILER NVCC OPTION..."""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

CUDA = ("-gencode=arch=compute_75,code=compute_75", "--diag-suppress=20012,20013,20014")
ENTRY = re.compile(r" <(\w+)><\w+>: Abbrev Number: \d+(?: \((\w+)\))?")
TEXT = re.compile(r"DW_AT_(name|linkage_name)\s*: (?:\(.*?\): )?(.*)")


def closures(object_file):
    """The names of the captures of each lambda, by the linker's name of its body."""
    lines = subprocess.run(["readelf", "--wide", "--debug-dump=info", object_file],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    found = {}
    scopes = []  # the tag, name and captures of each entry around the current one
    for line in lines:
        entry = ENTRY.match(line)
        if entry:
            depth, tag = int(entry[1], 16), entry[2]
            del scopes[depth:]
            if tag is None:
                continue
            scopes.append({"tag": tag, "name": "", "captures": []})
            if tag == "DW_TAG_member" and depth > 0 and len(scopes) > depth:
                scopes[depth - 1]["captures"].append(scopes[depth])
            continue
        text = TEXT.search(line)
        if text is None or not scopes:
            continue
        scopes[-1].setdefault(text[1], "")
        scopes[-1][text[1]] = text[2].strip()
        if text[1] == "linkage_name" and len(scopes) > 1 and "Ul" in text[2] and "cl" in text[2]:
            found[text[2].strip()] = scopes[-2]
    return {name: [each["name"] for each in closure["captures"]]
            for name, closure in found.items() if closure["captures"]}


def compiled(command, source, directory, suffix):
    target = str(pathlib.Path(directory) / f"closures{suffix}.o")
    subprocess.run([*command, "-O0", "-g", "-c", source, "-o", target], check=True)
    return closures(target)


def differing(one, other):
    return {name: (one[name], other[name]) for name in one.keys() & other.keys()
            if one[name] != other[name]}


def main():
    source, compiler, nvcc, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        def both(text_file, suffix):
            return (compiled([compiler, "-x", "c++", *options], text_file, directory, suffix),
                    compiled([nvcc, "-x", "cu", *CUDA, *options], text_file, directory,
                             suffix + "_cu"))
        sample = pathlib.Path(directory) / "sample.cpp"
        sample.write_text("""struct Sample {
            int sum(int a, int b) const { return a + b; }
            template <class T> auto wrong(T a, T b) const { return [&] { return sum(a, b); }; }
            template <class T> auto right(T a, T b) const { return [&] { return this->sum(a, b); }; }
        };
        int use() { return Sample().wrong(1, 2)() + Sample().right(1, 2)(); }
        """)
        found = differing(*both(str(sample), "_sample"))
        if len(found) != 1 or "wrong" not in next(iter(found)):
            print(f"this check does not find what it is for: {found}")
            return 1
        of_host, of_nvcc = both(source, "")
    found = differing(of_host, of_nvcc)
    for name, (host, device) in sorted(found.items()):
        print(f"{name}: g++ captures {host}, nvcc {device}")
    shared = of_host.keys() & of_nvcc.keys()
    print(f"{len(found)} of {len(shared)} lambdas differ, of {len(of_host)} by g++")
    return 1 if found or len(shared) < 50 else 0


sys.exit(main())
