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

MAN = pathlib.Path(__file__).parents[2] / "tools/man.py"
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
        return re.findall(r"^  (\w+) ", said().split("Subcommands:")[1], re.M)

    def test_every_subcommand_has_a_page(self):
        self.assertGreater(len(self.subcommands()), 5)
        self.assertEqual(set(self.pages),
                         {"carillon"} | {f"carillon-{name}" for name in self.subcommands()})

    def test_every_option_is_on_its_page(self):
        for name in self.subcommands():
            for option in re.findall(r"^  (?:-\w,)?(--[\w-]+)", said(name), re.M):
                self.assertIn(rf"\fB{option}\fR", self.pages[f"carillon-{name}"])

    @unittest.skipUnless(shutil.which("groff"), "there is no groff")
    def test_groff_warns_of_nothing(self):
        for path in pathlib.Path(self.folder.name).glob("*.1"):
            formatted = subprocess.run(["groff", "-ww", "-man", "-T", "utf8", path], check=True,
                                       capture_output=True, text=True)
            self.assertEqual(formatted.stderr, "")
            self.assertIn("CARILLON", formatted.stdout)


unittest.main()
