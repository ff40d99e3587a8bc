#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pins, in the machine code, that the loads of a poll do not wait for each other and are whole, and
how many stores an answer takes.  Usage: sass_test.py NVDISASM FILE.cubin ..."""
import re
import subprocess
import sys
import unittest

SKIPPED = 77  # skipped, for ctest


def quads(size):
    """How many quads a message of so many bytes is: as many loads and stores it takes."""
    return max(1, -(-size // 12))


def loads(request, reply):
    """How many loads to one address in registers there are: those of a message, or of each of its
    two lines; those of requests in a row; or one alone, of the control line or doorbells."""
    row = 16 if max(quads(request), quads(reply or 1)) <= 2 else 8
    return {1, quads(request), min(quads(request), 4), max(quads(request) - 4, 1),
            row * quads(request)}


# The bytes of a request and of a reply of each kernel of bodies.cu, if it has them. A pool's
# request also has 8 bytes for the place of the reply.
KERNELS = {
    "echo_1": (1, 1),
    "echo_8": (8, 8),
    "echo_12": (12, 12),
    "echo_16": (16, 16),
    "echo_24": (24, 24),
    "echo_40": (40, 40),
    "echo_48": (48, 48),
    "echo_56": (56, 56),
    "one_field": (48, 4),
    "mixed": (48, 48),
    "reprice": (16, 8),
    "together": (8, 8),
    "pool": (16 + 8, 8),
    "pool_together": (8 + 8, 8),
    "shared_pool": (16, 8),
    "shared_pool_48": (48, 4),
    "watch": (16, 8),
    "reader": (24, None),  # its lanes share the stores
    "own_ring": (24, None),
    "own_channel": (40, 8),
    "own_wait": (8, None),
}
CONTROL = "control"

WORD = re.compile(r"/\* 0x([0-9a-f]{16}) \*/$")
ENDS_BLOCK = re.compile(r"(@!?U?P\w+ )?(BRA|BRX|JMP|JMX|CALL|RET|EXIT|BREAK|BSYNC|WARPSYNC|BPT)\b")
ACCESS = re.compile(r"(?P<kind>LDG|STG)\.E(?P<width>\.\d+)?\.STRONG\.SYS (?P<operands>.*)")
ADDRESS = re.compile(r"(?<!desc)\[(?P<base>U?R\d+[^\]]*?)(\+(?P<offset>-?0x[0-9a-f]+))?\]")


class Instruction:
    """What it says, and what the control bits of its 128 say about scoreboards: the one that it sets
    when its result is there (7: none), and those that it waits for, as a mask."""

    def __init__(self, text, bits):
        self.text = text
        self.sets = bits >> 110 & 7
        self.waits = bits >> 116 & 0x3f
        self.access = ACCESS.search(text)

    def is_a(self, kind, width):
        return bool(self.access) and self.access["kind"] == kind and self.access["width"] in width

    def address(self):
        """Of an access: registers, and what is added to them."""
        address = ADDRESS.search(self.access["operands"])
        return address["base"], int(address["offset"] or "0", 16)

    def loaded(self):
        """The numbers of the registers that a load writes."""
        first = int(re.match(r"R(\d+)", self.access["operands"])[1])
        return set(range(first, first + int((self.access["width"] or ".32")[1:]) // 32))


def kernels_of(nvdisasm, cubin):
    """{kernel: its basic blocks, each a list of instructions}."""
    printed = subprocess.run([nvdisasm, "-c", "-hex", cubin], check=True, capture_output=True,
                             text=True).stdout
    kernels, blocks, text, low = {}, None, None, 0
    for line in printed.splitlines():
        line = line.strip()
        section, word = re.match(r"\.text\.(\w+):$", line), WORD.search(line)
        if section:
            blocks = kernels[section[1]] = [[]]
        elif re.match(r"\.L\w+:$", line):
            blocks.append([])
        elif word and text is None:
            text = re.match(r"/\*\w+\*/\s+(.*?)\s*;", line)[1]
            low = int(word[1], 16)
        elif word:
            blocks[-1].append(Instruction(text, int(word[1], 16) << 64 | low))
            if ENDS_BLOCK.match(text):
                blocks.append([])
            text = None
    return kernels


def accesses(block, kind):
    """The accesses to messages in a block, those to one line together: each is further on."""
    lines, last = [], {}
    for access in (each for each in block if each.is_a(kind, (".128", None))):
        base, offset = access.address()
        if base in last and offset > last[base][-1].address()[1]:
            last[base].append(access)
        else:
            last[base] = [access]
            lines.append(last[base])
    return lines


def faults_of_loads(block, line):
    """What is wrong with the loads of a line, which are in the block."""
    first, last = block.index(line[0]), block.index(line[-1])
    pending, registers = 0, set()
    for instruction in block[first:last + 1]:
        if instruction.waits & pending:
            yield f"waits for a load of the poll: {instruction.text}"
        if instruction not in line:
            continue
        if instruction.access["width"] is None:
            yield f"narrowed: {instruction.text}"
        if registers & instruction.loaded():
            yield f"into a register of another load: {instruction.text}"
        pending |= 1 << instruction.sets
        registers |= instruction.loaded()
    for instruction in block[first:]:
        from_register = re.search(r"R2UR.*\bR(\d+)", instruction.text)
        if from_register and int(from_register[1]) in registers:
            yield f"into a uniform register: {instruction.text}"


class Code:
    """The machine code of one kernel."""

    def __init__(self, blocks):
        self.text = [instruction.text for block in blocks for instruction in block]
        self.loads = {len(line) for block in blocks for line in accesses(block, "LDG")}
        stores = [sum(len(line) for line in accesses(block, "STG")) for block in blocks]
        self.stores = [count for count in stores if count != 0]
        # The instructions before the first store of a block.
        self.before_stores = [[each.is_a("STG", (".128",)) for each in block].index(True)
                              for block, count in zip(blocks, stores) if count != 0]
        # Blocks that answer four requests at least: their length, and the quads that they store.
        staged = [sum("STS.128" in each.text for each in block) for block in blocks]
        self.rows = [(len(block), near + far)
                     for block, near, far in zip(blocks, staged, stores) if near + far >= 4]
        self.bulk_copies = sum("UBLKCP" in text for text in self.text)
        self.faults = [fault for block in blocks for line in accesses(block, "LDG")
                       for fault in faults_of_loads(block, line)]


class Pins(unittest.TestCase):
    nvdisasm = None
    files = []

    @classmethod
    def setUpClass(cls):
        cls.code = {path: {name: Code(blocks) for name, blocks in
                           kernels_of(cls.nvdisasm, path).items()} for path in cls.files}

    def for_each_kernel(self, check):
        for path, kernels in self.code.items():
            for name, (request, reply) in KERNELS.items():
                with self.subTest(cubin=path, kernel=name):
                    check(kernels[name], request, reply)

    def test_no_load_of_a_poll_waits_for_another_or_is_narrowed(self):
        self.for_each_kernel(lambda code, *_: self.assertEqual(code.faults, []))

    def test_a_poll_is_a_load_for_each_quad_of_the_message(self):
        def check(code, request, reply):
            self.assertLessEqual(code.loads, loads(request, reply))
            self.assertGreaterEqual(max(code.loads), min(quads(request), 4))
        self.for_each_kernel(check)

    def test_an_answer_is_a_store_for_each_quad_of_the_message_or_a_bulk_copy(self):
        def check(code, _, reply):
            if reply is None:
                return
            # Answers to requests in a row are several, where they do not leave as one bulk copy.
            self.assertEqual([count % quads(reply) for count in code.stores],
                             [0] * len(code.stores))
            self.assertTrue(code.stores or code.bulk_copies)
        self.for_each_kernel(check)

    def test_little_is_between_a_request_and_its_answer(self):
        for path, kernels in self.code.items():
            for name in "echo_12", "reprice":
                with self.subTest(cubin=path, kernel=name):
                    self.assertLessEqual(max(kernels[name].before_stores), 25)

    def test_requests_in_a_row_are_loaded_from_one_address(self):
        for path, kernels in self.code.items():
            for name, row in {"reprice": 16 * 2, "echo_48": 8 * 4}.items():
                with self.subTest(cubin=path, kernel=name):
                    self.assertIn(row, kernels[name].loads)

    def test_requests_in_a_row_are_few_instructions_each(self):
        for path, kernels in self.code.items():
            with self.subTest(cubin=path):
                rows = kernels["reprice"].rows
                self.assertTrue(rows)  # four in one block: nothing but their handling
                self.assertLessEqual(max(size / quads for size, quads in rows), 15)

    def test_no_load_is_of_the_uniform_kind(self):
        self.for_each_kernel(lambda code, *_: self.assertNotRegex(
            "\n".join(code.text), r"\bULD\S*STRONG"))

    def test_a_poll_that_is_not_kept_whole_is_found(self):
        for path, kernels in self.code.items():
            with self.subTest(cubin=path):
                self.assertNotEqual(kernels[CONTROL].faults, [])


if __name__ == "__main__":
    Pins.nvdisasm, *Pins.files = sys.argv[1:] or [None]
    if not Pins.files:
        print("skipped: this build has no nvcc, or no nvdisasm was found (scripts/setup --cuda "
              "provides both), so there is no machine code to look at")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
