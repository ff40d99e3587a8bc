#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/replay as its users run it.  Usage: replay_program_test.py PATH_OF_THE_PROGRAM"""
import json
import pathlib
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import ProgramTest, run  # noqa: E402


def feed(records):
    """A DBN file of `records` add orders."""
    header = b"DBN\x01" + struct.pack("<I", 16) + bytes(16)
    record = struct.pack("<BBHIQQqIBBccQiI", 14, 0xA0, 1, 17, 1, 2, 3, 4, 0, 0, b"A", b"B", 5, 6, 7)
    return header + record * records


class ReplayTest(ProgramTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "feed.dbn"

    def replay(self, *arguments, **options):
        return run(*arguments, "--device", "emulated", **options)

    def assert_feed_fails(self, content, words):
        self.path.write_bytes(content)
        self.assert_fails(self.replay(self.path), 1, words)

    def test_the_tally_of_the_device_agrees_with_the_hosts(self):
        self.path.write_bytes(feed(40))
        result = self.replay(self.path, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertTrue(report["agree"])
        self.assertEqual(report["record_bytes"], 56)
        self.assertEqual(report["device_tally"]["add"], 40)
        self.assertEqual(report["device_tally"], report["host_tally"])

    def test_standard_input_is_read_and_what_is_skipped_is_counted(self):
        other = struct.pack("<BBHIQ", 20, 0x17, 0, 0, 1) + bytes(64)
        self.path.write_bytes(feed(3) + other)
        with self.path.open() as data:
            result = self.replay("-", "--json", stdin=data)
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["records"], 3)
        self.assertEqual(report["skipped"], {"0x17": 1})
        self.assertIn("skipped: 1 records of type 0x17", result.stderr)

    def test_a_foreign_file_fails(self):
        self.assert_fails(self.replay(__file__), 1, "not a DBN file")

    def test_a_truncated_feed_fails(self):
        self.assert_feed_fails(feed(3)[:-5], "truncated")

    def test_two_feeds_in_one_file_fail(self):
        self.assert_feed_fails(feed(3) + feed(3),
                               f"another DBN file begins at byte {len(feed(3))}")

    def test_a_missing_file_fails(self):
        self.assert_fails(self.replay("/nowhere/feed.dbn"), 1, "No such file")

    def test_bad_usage_exits_2(self):
        self.assert_fails(self.replay(), 2, "FILE is required")
        self.assert_fails(self.replay("feed.dbn", "--json="), 2, "the path is empty")
        self.assert_fails(self.replay("feed.dbn", "another"), 2, "another")


if __name__ == "__main__":
    unittest.main()
