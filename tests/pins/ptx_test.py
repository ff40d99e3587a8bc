#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pins the exact loads, stores and fences of the device's side, so that neither a compiler nor an
edit changes their order, width, semantics or scope unnoticed.  Usage: ptx_test.py FILE.ptx ..."""
import re
import sys
import unittest

SKIPPED = 77  # skipped, for ctest

RELAXED_QUAD = "ld.relaxed.sys.global.b128"
ACQUIRE_QUAD = "ld.acquire.sys.global.b128"
ACQUIRE_WORD = "ld.acquire.sys.global.u64"
STORE_QUAD = "st.relaxed.sys.global.b128"
STORE_WORD = "st.relaxed.sys.global.u64"
FENCE = "fence.acq_rel.sys"
CLAIM_STRIPE = "atom.relaxed.gpu.global.add.u64"
CLAIM = "atom.relaxed.gpu.global.cas.b64"
# The compiler's own accesses to a test kernel's parameters and results.
WEAK = re.compile(r"(ld|st)\.(global|local|param)(\.v[24])?\.[bus]\d+$")

SETTLED = "cp.async.bulk.wait_group"
ROW = 8

LINE = 3 * [RELAXED_QUAD] + [ACQUIRE_QUAD]
LOOK_AT_CREDIT = [ACQUIRE_WORD]

PINS = {
    "poll_line": LINE,
    "poll_word": [ACQUIRE_WORD],
    # A batch of credits goes back before the look, the held ones after an empty look. The choice of
    # pages, once, and its report come first in the code.
    "poll_loop": [CLAIM, STORE_WORD] + [STORE_WORD] + LINE + [STORE_WORD],
    # The rare case, a full ring, comes first in the code: a look at the credit.
    "publish": LOOK_AT_CREDIT + 4 * [STORE_QUAD] + LOOK_AT_CREDIT,
    "publish_data": LOOK_AT_CREDIT + [FENCE] + 4 * [STORE_QUAD] + LOOK_AT_CREDIT,
    # A claim; four lines; once in a while a look whether the line was given up and at it again; the
    # credit of a stripe.
    "poll_mpmc": [CLAIM_STRIPE] + 4 * LINE + [ACQUIRE_WORD] + LINE + [STORE_WORD],
    # The looks at the claims and at the credit, and the claim, come last in the code.
    "publish_mpmc": 4 * [STORE_QUAD] + 2 * [ACQUIRE_WORD] + [CLAIM],
    # The accesses of one thread; each lane has a quad.
    "poll_lanes": [STORE_WORD] + LINE + [STORE_WORD],
    "publish_quads": LOOK_AT_CREDIT + [STORE_QUAD] + LOOK_AT_CREDIT,
    "publish_lanes_data": LOOK_AT_CREDIT + [FENCE] + 4 * [STORE_QUAD] + LOOK_AT_CREDIT,
    "set_flag": [STORE_WORD],
    "set_flag_data": [FENCE, STORE_WORD],
}


def memory_instructions(ptx):
    """{kernel: [its loads, stores, atomics and fences in order]}, weak accesses left out."""
    kernels = {}
    for name, body in re.findall(r"\.entry (\w+)\((.*?)\n}", ptx, re.S):
        found = re.findall(r"^\s*(?:@!?%p\d+\s+)?((?:ld|st|atom|red|fence|membar|cp|discard)\b[\w.:]*)",
                           body, re.M)
        kernels[name] = [each for each in found if not WEAK.match(each)]
    return kernels


class Pins(unittest.TestCase):
    files = []

    def each_kernel(self, name):
        for path in self.files:
            with open(path, encoding="ascii") as file, self.subTest(ptx=path, kernel=name):
                yield memory_instructions(file.read())[name]

    def test_uses_of_the_protocol_are_these_accesses_in_this_order(self):
        for name, expected in PINS.items():
            for found in self.each_kernel(name):
                self.assertEqual(found, expected)

    def test_serving_loop_chooses_pages_and_fences_only_when_it_starts(self):
        for found in self.each_kernel("serve_loop"):
            self.assertEqual(found.count(CLAIM), 1)
            self.assertEqual(found[:3], [STORE_WORD, FENCE, STORE_WORD])
            self.assertEqual(found.count(FENCE), 1)
            # The reply to one request, those to a row of them, and to the three at most that are
            # left of one.
            self.assertEqual(found.count(STORE_QUAD), (1 + ROW + 3) * 4)
            # Of a line, and of a row, which has one acquire too: a row that its page has room for,
            # and a row that ends with its page. The compiler may unroll the loop of polls. The stop
            # word and the host's heartbeat are one word, which two places look at.
            polls = found.count(ACQUIRE_QUAD) - 2
            self.assertGreaterEqual(polls, 1)
            self.assertEqual(found.count(RELAXED_QUAD), 3 * polls + 2 * (4 * ROW - 1) + 2)
            self.assertIn(" ".join((4 * ROW - 1) * [RELAXED_QUAD] + [ACQUIRE_QUAD]),
                          " ".join(found))
            self.assertLessEqual(set(found), {RELAXED_QUAD, ACQUIRE_QUAD, ACQUIRE_WORD,
                                              STORE_QUAD, STORE_WORD, FENCE, CLAIM,
                                              SETTLED})
            # From sm_90 on, before the word that says that it has ended.
            if SETTLED in found:
                self.assertEqual(found[found.index(SETTLED) + 1], STORE_WORD)

    def test_lanes_meet_between_their_loads_and_the_credit(self):
        for path in self.files:
            with open(path, encoding="ascii") as file:
                body = re.search(r"\.entry poll_mpmc\((.*?)\n}", file.read(), re.S)[1]
            sync, store = body.rindex("bar.warp.sync"), body.index(STORE_WORD)
            self.assertLess(body.rindex(ACQUIRE_QUAD), sync)
            self.assertLess(sync, store)
            with open(path, encoding="ascii") as file:
                body = re.search(r"\.entry poll_lanes\((.*?)\n}", file.read(), re.S)[1]
            # Its two credits are at the ends of a loop: one meeting for each, and one vote.
            self.assertEqual(body.count("bar.warp.sync"), body.count(STORE_WORD))
            self.assertEqual(body.count("vote.sync.all"), 1)

    def test_pull_has_eight_loads_of_host_memory_under_way_and_stores_behind_them(self):
        for path in self.files:
            with open(path, encoding="ascii") as file:
                body = re.search(r"\.entry pull\((.*?)\n}", file.read(), re.S)[1]
            kinds = re.findall(r"\b(?:ld\.relaxed\.sys\.global\.b128|st\.[\w.]+)", body)
            runs = re.findall("L+", "".join("L" if kind[0] == "l" else "S" for kind in kinds))
            # The rounds of all threads, and the rest, for stores of 16 bytes, of 4, of 1.
            self.assertEqual(sorted(len(run) for run in runs), [3, 4, 7, 7, 8, 8])
            self.assertEqual(body.count("ld.relaxed.sys.global.u8"), 2)
            self.assertNotRegex(body, r"\bld\.(global|volatile|weak)")

    def test_weak_access_is_not_taken_for_a_strong_one(self):
        ptx = (".visible .entry k(\n)\n{\n\tld.global.v2.u64 {%a, %b}, [%c];\n"
               "\t@%p1 ld.volatile.global.u64 %a, [%c];\n\tst.global.b128 [%c], %q;\n"
               "\tst.release.sys.global.u64 [%c], %a;\n}\n")
        self.assertEqual(memory_instructions(ptx)["k"],
                         ["ld.volatile.global.u64", "st.release.sys.global.u64"])


if __name__ == "__main__":
    Pins.files = sys.argv[1:]
    if not Pins.files:
        print("skipped: this build has no nvcc, so there is no PTX to look at")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
