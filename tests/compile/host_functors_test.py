#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nvcc refuses each functor that the GPU would call and that lacks CARILLON_HD, also where the
library's headers are system headers, of which it shows no warnings.
Usage: host_functors_test.py SOURCE NVCC [OPTION ...]"""
import re
import subprocess
import sys
import unittest

SOURCE, *NVCC = sys.argv[1:]
FUNCTORS = ("Handler< ::carillon::Channels>", "Handler< ::carillon::WatchedChannels>",
            "Handler< ::carillon::Pool>", "Handler< ::carillon::SharedChannels>",
            "Handler< ::carillon::SharedPool>", "Together", "OfLongMessages", "Overloaded",
            "OfCommands", "OfABlocksState", "Idling", "OfTheTwo", "Constructed", "of_the_host",
            "BodyOfABlock", "Body", "BodyWithPins", "UseOfLines", "Use")


class HostFunctorsTest(unittest.TestCase):
    def test_each_is_refused(self):
        result = subprocess.run([*NVCC, "-x", "cu", "-ptx", "-o", "/dev/null", SOURCE], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertNotEqual(result.returncode, 0)
        refused = re.findall(r'error: calling a __host__ function\("(?:T1 )?(.*?) ?'
                             r'(?:::operator \(\)|::idle|::Constructed\(|\(\)")', result.stdout)
        self.assertEqual(set(refused), set(FUNCTORS), result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
