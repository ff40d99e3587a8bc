#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/prose: where sentences begin and end in pages, headers and help texts. Usage: prose_test.py"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SCRIPTS = pathlib.Path(__file__).parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
from figures import sentences  # noqa: E402


def found(pieces):
    return [sentence for piece in pieces for sentence in sentences.sentences(piece)]


class ProseTest(unittest.TestCase):
    def test_pages_with_2_percent_of_bad_beginnings_are_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            shutil.copytree(SCRIPTS, root / "scripts")
            (root / "docs").mkdir()
            for good, status in ((48, 1), (50, 0)):
                (root / "README.md").write_text("Of these one is. " + "It is so. " * good)
                ran = subprocess.run([sys.executable, root / "scripts/prose"], capture_output=True, text=True)
                self.assertEqual(ran.returncode, status, ran.stdout + ran.stderr)
                self.assertEqual("README.md: 1 of 49 sentences, 2.0 %" in ran.stdout, bool(status))

    def test_a_sentence_goes_on_in_the_next_line_and_has_the_line_of_its_beginning(self):
        self.assertEqual(
            found(sentences.markdown_pieces("A call is\nfast. What is\nslow is told.\n")),
            [(1, "A call is fast."), (2, "What is slow is told.")],
        )

    def test_code_is_a_word_and_its_dots_end_nothing(self):
        self.assertEqual(
            found(sentences.markdown_pieces("It uses `a. B` there. `call` waits, e.g. This one.")),
            [(1, "It uses Code there."), (1, "Code waits, e.g. This one.")],
        )

    def test_items_and_cells_begin_sentences_and_headings_and_heads_are_none(self):
        page = "# What it is\n- as it is\n  and was\n- two words\n\n| What a | b c |\n| --- | --- |\n| of it | 17 |\n"
        self.assertEqual(
            found(sentences.markdown_pieces(page)), [(2, "as it is and was"), (4, "two words"), (8, "of it")]
        )

    def test_fenced_code_and_generated_blocks_have_no_sentences(self):
        page = "```\nWhat is it.\n```\n<!-- a: begin -->\nWhat is it.\n<!-- a: end -->\n"
        self.assertEqual(found(sentences.markdown_pieces(page)), [])

    def test_bad_beginnings_and_questions(self):
        for text in (
            "Of two pages one is near.",
            "as given",
            "**What** it does.",
            "Those of it.",
            "The same for C.",
            "(Where it is.)",
            "Who asks is told.",
        ):
            self.assertTrue(sentences.is_bad(text), text)
        for text in ("What is a ring?", "Often it waits.", "Assume that.", "The sameness counts.", "Whoever asks."):
            self.assertFalse(sentences.is_bad(text), text)

    def test_comments_of_a_header(self):
        header = (
            "// SPDX-License-Identifier: Apache-2.0\n// Takes the next one. What is\n// left stays.\n"
            'int a;  // of each\n        // block, two\nchar const* b = "// no comment";\n/* One\n * two. */\n'
            "// @param a the first one\n//     code here\n"
        )
        self.assertEqual(
            found(sentences.header_pieces(header)),
            [
                (2, "Takes the next one."),
                (2, "What is left stays."),
                (4, "of each block, two"),
                (7, "One two."),
                (9, "the first one"),
            ],
        )

    def test_help_texts_are_the_strings_of_options(self):
        source = (
            'command.add_option("--rounds", rounds_, "of each "\n    "measure")->check(f("not this one"));\n'
            'print("nor this");\ncommand.add_flag("--json", json_, "as (JSON) text");\n'
        )
        self.assertEqual(found(sentences.help_pieces(source)), [(1, "of each measure"), (4, "as (JSON) text")])
        commands = '#include "a b.hpp"\n{"rtt", "measures round trips", make},'
        self.assertEqual(found(sentences.help_pieces(commands, True)), [(2, "measures round trips")])


if __name__ == "__main__":
    unittest.main()
