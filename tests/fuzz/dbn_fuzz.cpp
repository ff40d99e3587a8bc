// SPDX-License-Identifier: Apache-2.0
// A market data file gives records, or an error that names the fault and the byte.
#include "examples/dbn/dbn.hpp"

#include "fuzz/fuzz.hpp"
#include "fuzz/memory_file.hpp"

CARILLON_FUZZ_TARGET(dbn, input) {
    MemoryFile const file(input.rest());
    try {
        auto const records = dbn::MboFile::read(file.path());
        require(!records.records().empty(), "a file that is read has a record");
    } catch (FormatError const&) {  // as it should be
    }
}
