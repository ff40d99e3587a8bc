#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The command's man pages: one for each subcommand, with each of its options, and without a word
# that a formatter stumbles over. Usage: man_test.py CARILLON
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
MAN = ROOT / "tools/man.py"
COMMAND = sys.argv.pop(1)


def said(*arguments):
    return subprocess.run([COMMAND, *arguments, "--help"], check=True, capture_output=True,
                          text=True).stdout


class ManTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([sys.executable, MAN, COMMAND, cls.folder.name], check=True)
        cls.pages = {path.stem: path.read_text().replace(r"\-", "-")
                     for path in pathlib.Path(cls.folder.name).glob("*.1")}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def subcommands(self):
        listed = said().split("Check:")[1].split("Examples:")[0]
        return re.findall(r"^  (\w+) ", listed, re.M)

    def test_every_subcommand_has_a_page(self):
        self.assertGreater(len(self.subcommands()), 5)
        self.assertEqual(set(self.pages),
                         {"carillon"} | {f"carillon-{name}" for name in self.subcommands()})

    def test_every_option_is_on_its_page(self):
        for name in self.subcommands():
            for option in re.findall(r"^  (?:-\w,)?(--[\w-]+)", said(name), re.M):
                self.assertIn(rf"\fB{option}\fR", self.pages[f"carillon-{name}"])

    def test_every_page_has_the_sections_that_readers_look_for(self):
        for name, text in self.pages.items():
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS",
                            "SEE ALSO"):
                self.assertIn(f"\n.SH {section}\n", text, name)
        for section in ("SUBCOMMANDS", "DEVICES", "ENVIRONMENT"):
            self.assertIn(f"\n.SH {section}\n", self.pages["carillon"])

    def test_every_device_is_described(self):
        listed = re.search(r"--device DEVICE +open this device: (.*?) \(default",
                           " ".join(said("rtt").split()))[1]
        for selector in listed.split(", "):
            self.assertIn(rf"\fB{selector}\fR", self.pages["carillon"])

    def test_every_variable_that_the_library_reads_is_described(self):
        sources = [path.read_text() for folder in ("src", "tools", "compat")
                   for path in (ROOT / folder).rglob("*.cpp")]
        names = {name for text in sources
                 for name in re.findall(r'"(CARILLON_[A-Z_]+)"|getenv\("([A-Z_]+)"', text)
                 for name in name if name}
        self.assertGreater(len(names), 8)
        self.assertIn("CARILLON_STACK_BYTES", names)
        environment = self.pages["carillon"].split(".SH ENVIRONMENT")[1]
        for name in names - {"HOME"}:
            self.assertIn(name, environment)

    @unittest.skipUnless(shutil.which("groff"), "there is no groff")
    def test_groff_warns_of_nothing(self):
        for path in pathlib.Path(self.folder.name).glob("*.1"):
            formatted = subprocess.run(["groff", "-ww", "-man", "-T", "utf8", path], check=True,
                                       capture_output=True, text=True)
            self.assertEqual(formatted.stderr, "")
            self.assertIn("CARILLON", formatted.stdout)


unittest.main()
