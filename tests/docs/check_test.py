#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/site/check.py: problems of a page and of the site that it refuses, and pages that it lets pass.
Usage: check_test.py"""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs/site"))
import check  # noqa: E402
import pages  # noqa: E402
import reference  # noqa: E402

# What Doxygen makes of a header with a function and an enum.
NAMESPACE = """<compounddef kind="namespace"><compoundname>a</compoundname><sectiondef kind="func">
<memberdef id="call" kind="function"><name>call</name><qualifiedname>a::call</qualifiedname>
<briefdescription>Calls.</briefdescription><location file="a.hpp" line="2"/></memberdef></sectiondef>
<sectiondef kind="enum"><memberdef id="kind" kind="enum"><name>Kind</name>
<qualifiedname>a::Kind</qualifiedname><briefdescription>The kind.</briefdescription>
<enumvalue id="value"><name>first</name><briefdescription>The first.</briefdescription></enumvalue>
<location file="a.hpp" line="1"/></memberdef></sectiondef></compounddef>"""
HEADER = """<compounddef kind="file"><compoundname>a.hpp</compoundname><briefdescription/>
<location file="a.hpp"/></compounddef>"""


class CheckTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.page = self.folder / "page.md"
        listed = mock.patch.object(pages, "all_pages", return_value=[self.page])
        listed.start()
        self.addCleanup(listed.stop)

    def refused(self, wrong, text, *problems):
        """Each problem is a part of one that the check names, in this order; there are no others."""
        self.page.write_text(text)
        found = list(wrong(self.page))
        self.assertEqual(len(found), len(problems), found)
        for each, problem in zip(found, problems):
            self.assertIn(problem, each)

    def test_links_to_no_file_no_heading_and_no_listed_page(self):
        (self.folder / "other.md").write_text("# Other\n")
        self.refused(check.wrong_links, "# One `two`\n[a](#one-two) [b](https://c) ![d](page.md)\n")
        self.refused(check.wrong_links, "# One\n[a](#two)\n[b](none.md)\n[c](other.md)\n",
                     "there is no heading", "there is no file", "is not in docs/site/navigation")
        self.refused(check.wrong_links, "`[a](#b)` <!-- [a](#b) -->\n```\n# c\n[a](#b)\n```\n")
        self.refused(check.wrong_links, "[a](#c)\n```\n# c\n```\n", "there is no heading")
        self.refused(check.wrong_headings, "# One\n## Two\n## One\n", "two headings")

    def test_names_of_files_that_are_not_there(self):
        self.refused(check.wrong_names, "`scripts/docs` and `tests/docs/*.py` and `page.md`\n")
        self.refused(check.wrong_names, "`scripts/none` and `none.md`\n",
                     "there is no scripts/none", "there is no page none.md")

    def test_tests_that_are_not_there(self):
        suite, names = next(iter(sorted(check.tests().items())))
        name = sorted(names)[0]
        self.refused(check.wrong_tests, f"`{suite}.{name}` and `.{name}`, `{suite}.*`, `{suite}`\n")
        for unknown in (f"{suite}.noSuchTest", "NoSuchTest.*", "NoSuchTest", "test_that_is_not_there",
                        "tool.no_such_test", "noTestHasSuchAName"):
            with self.subTest(unknown):
                self.refused(check.wrong_tests, f"`{unknown}`\n", f"there is no test {unknown}")

    def test_blocks_without_a_line_above_that_says_where_they_are_from(self):
        for block in ("```cpp\na\n```\n", "```sh\na\n```\n", "<!-- not run: -->\n```sh\na\n```\n",
                      "<!-- run -->\n```python\na\n```\n",
                      "<!-- run -->\n```sh\na\n```\n```sh\nb\n```\n",
                      "<!-- run beside -->\n```sh\na\n```\n", "<!-- run somewhere -->\n```sh\na\n```\n"):
            with self.subTest(block):
                self.refused(check.wrong_blocks, block, "has no line")
        self.refused(check.wrong_blocks, "```bash\na\n```\n", 'write "sh"')
        self.refused(check.wrong_blocks, "```\na\n```\n<!-- run -->\n```sh\na\n```\n"
                     "<!-- not run: it needs a GPU -->\n```sh\na\n```\n<!-- from a -->\n```c\na\n```\n"
                     "<!-- run beside a -->\n```sh\na\n```\n<!-- run with a GPU -->\n```sh\na\n```\n"
                     "<!-- run on a fresh machine, a in place of b -->\n```sh\na\n```\n")

    def test_programs_whose_lines_are_shown(self):
        text = "<!-- from {} -->\n  ```python\n  {}\n  ```\n"
        here = "tests/docs/check_test.py"
        self.refused(check.wrong_programs, text.format(here, "def setUp(self):"))
        self.refused(check.wrong_programs, text.format(here, "def " + "setUp()"), "has no such lines")
        self.refused(check.wrong_programs, text.format("none.py", "a"), "there is no program none.py")

    def test_messages_that_no_source_has(self):
        self.refused(check.wrong_messages, '| what you see | a |\n| --- | --- |\n| "no source says this" | "nor this" |\n',
                     'no source says "no source says this"')
        # Wherever they stand beside the type of an error.
        for beside in ('| a | `StoppedError`, "no source says\nthis" |', 'it is a `CudaError`,\n"no source says this".',
                       '`RefusedError` with `RefusalReason::full`, "no source says this"',
                       '`StoppedError`, "its lifetime is over", "no source says this"',
                       '"no source says this" (`carillon::UsageError`)'):
            with self.subTest(beside):
                self.refused(check.wrong_messages, beside + "\n", 'no source says "no source says this"')
        self.refused(check.wrong_messages, '`StoppedError`, "its lifetime\nis over". An "item" is no error.\n')

    def test_problems_are_printed_with_their_page_and_are_the_exit_status(self):
        self.page.write_text("# One\n[a](#two)\n")
        said = io.StringIO()
        with mock.patch.object(sys, "argv", ["check.py", "pages"]), \
                contextlib.redirect_stdout(said), self.assertRaises(SystemExit) as end:
            check.main()
        self.assertEqual(end.exception.code, 1)
        self.assertRegex(said.getvalue(), r"page\.md: there is no heading .*page\.md#two\n")

    def test_members_of_namespaces_without_an_anchor(self):
        found = [xml.etree.ElementTree.fromstring(each) for each in (NAMESPACE, HEADER)]
        with mock.patch.object(reference, "compounds", return_value=[("", each, None) for each in found]):
            wanted = ["the reference does not have a::call", "the reference does not have a::Kind"]
            self.assertEqual(list(check.check_reference({"value"})), wanted)
            self.assertEqual(list(check.check_reference({"call", "kind", "value"})), [])
            wanted.append("the reference does not have first")
            self.assertEqual(list(check.check_reference(set())), wanted)
            # They come out in the page of their header.
            reference.move_free_members(found)
            self.assertEqual(found[0].findall("sectiondef/memberdef"), [])
            self.assertEqual([each.findtext("name") for each in found[1].findall("sectiondef/memberdef")],
                             ["a::Kind", "a::call"])

    def test_dead_links_of_the_site(self):
        one, two = self.folder / "one.html", self.folder / "two.html"
        texts = {one: 'carillon-version <a href="two.html#a"> <a href="two.html#b"> <a href="x.html">',
                 two: '<p id="a"> <script src="https://elsewhere/a.js">'}
        for path, text in texts.items():
            path.write_text(text)
        with mock.patch.object(check, "SITE", self.folder):
            found = list(check.wrong_html(texts, {one: set(), two: {"a"}}))
        self.assertEqual(found, ["one.html: links to two.html#b, which is not there",
                                 "one.html: links to x.html, which is not there",
                                 "two.html: loads https://elsewhere/a.js",
                                 "two.html: does not say of which version and commit it is"])


if __name__ == "__main__":
    unittest.main()
