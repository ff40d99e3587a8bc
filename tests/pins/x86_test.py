#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pins the instructions of the host's side: a compiler may take an intrinsic apart, and has.
Usage: x86_test.py FILE.s ..."""
import re
import sys
import unittest


def functions(assembly):
    """{symbol: [its instructions, as "mnemonic operands"]}."""
    found = {}
    for name, body in re.findall(r"^(\w+):\n(.*?)^\t\.size\t\1, ", assembly, re.S | re.M):
        lines = re.findall(r"^[ \t]+(?!endbr64)([a-z]\w*[^\n]*)$", body, re.M)
        found[name] = [" ".join(line.split()) for line in lines]
    return found


class Pins(unittest.TestCase):
    code = {}

    def body(self, part):
        names = [name for name in self.code if part in name]
        self.assertEqual(len(names), 1, f"functions with {part} in their name: {names}")
        return self.code[names[0]]

    def matching(self, part, pattern):
        return [line for line in self.body(part) if re.match(pattern, line)]

    def test_poll_is_four_whole_loads(self):
        accesses = [line for line in self.body("poll_line") if "(%rdi)" in line]
        self.assertEqual(len(accesses), 4)
        for offset, line in zip(("", "16", "32", "48"), accesses):
            self.assertRegex(line, rf"^v?movdqa {offset}\(%rdi\), %xmm\d+$")

    def test_store_fence_is_an_sfence(self):
        self.assertEqual(self.body("store_fence"), ["sfence", "ret"])

    def test_release_is_an_sfence_and_then_the_read_back(self):
        body = self.body("release")
        fence = body.index("sfence")
        loads = [i for i, line in enumerate(body) if re.match(r"mov\w* \(%r\w+\), %r\w+$", line)]
        self.assertEqual(len(loads), 1)
        self.assertLess(fence, loads[0])

    def test_every_kind_stores_with_its_instruction(self):
        def count(form, function, pattern):
            name = f"{form}Stores{len(function)}{function}"  # the mangled name
            return len(self.matching(name, pattern))

        self.assertEqual(count("Movdir64b", "store_apart", r"movdir64b "), 1)
        self.assertEqual(count("Movdir64b", "store_joined", r"movdir64b "), 1)
        self.assertEqual(count("Avx512", "store", r"vmovntdq %zmm\d+, "), 1)
        self.assertEqual(count("Avx2", "store", r"vmovntdq %ymm\d+, "), 2)
        self.assertEqual(count("Avx512", "store_payloads", r"vmovntdq %zmm\d+, "), 1)
        self.assertEqual(count("Avx2", "store_payloads", r"vmovntdq %ymm\d+, "), 2)
        self.assertGreaterEqual(len(self.matching("store_quads", r"v?movntdq %xmm\d+, ")), 1)


if __name__ == "__main__":
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            Pins.code.update(functions(file.read()))
    unittest.main(argv=sys.argv[:1])
