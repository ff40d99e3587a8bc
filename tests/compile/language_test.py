#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A public header that is compiled as C++17 says that Carillon needs C++20, and nothing else. The
header for C is a header of C++17 too.
Usage: language_test.py INCLUDE_FOLDER CXX"""
import concurrent.futures
import pathlib
import subprocess
import sys
import unittest

INCLUDE, CXX = pathlib.Path(sys.argv[1]), sys.argv[2]


def errors_of(header):
    """The lines with errors, but that the compiler ends there."""
    result = subprocess.run([CXX, "-std=c++17", "-fsyntax-only", f"-I{INCLUDE}", "-x", "c++",
                             header], stderr=subprocess.PIPE, text=True, check=False)
    return [line for line in result.stderr.splitlines()
            if "error:" in line and "carillon needs C++20" not in line]


class LanguageTest(unittest.TestCase):
    def test_each_header_says_so(self):
        headers = sorted((INCLUDE / "carillon").glob("*.hpp"))
        self.assertTrue(headers)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for header, errors in zip(headers, pool.map(errors_of, headers)):
                with self.subTest(header=header.name):
                    self.assertEqual(len(errors), 1, errors)
                    self.assertIn("Carillon needs C++20: compile with -std=c++20", errors[0])

    def test_the_header_for_c_needs_none(self):
        self.assertEqual(errors_of(INCLUDE / "carillon.h"), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
