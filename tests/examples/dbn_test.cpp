// SPDX-License-Identifier: Apache-2.0
// Good files and bad ones.
#include "examples/dbn/dbn.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "carillon/error.hpp"
#include "dbn_bytes.hpp"

namespace carillon::example {
namespace {

class DbnFileTest : public ::testing::Test {
   protected:
    [[nodiscard]] dbn::MboFile read(DbnBytes const& bytes) const {
        return dbn::MboFile::read(bytes.write_to(directory_));
    }

    // Expects that reading `bytes` throws FormatError with exactly this cause.
    void expect_refused(DbnBytes const& bytes, std::string const& cause) const {
        auto const path = bytes.write_to(directory_);
        std::string const call = "read " + path.string();
        try {
            (void)dbn::MboFile::read(path);
            FAIL() << "not refused: " << cause;
        } catch (FormatError const& error) {
            EXPECT_EQ(error.call(), call);
            EXPECT_EQ(error.what(), call + ": " + cause);
        }
    }

    // Expects FormatError with a cause that begins so; zstd's own words follow.
    void expect_refused_for(DbnBytes const& bytes, std::string const& cause) const {
        auto const path = bytes.write_to(directory_);
        try {
            (void)dbn::MboFile::read(path);
            FAIL() << "not refused: " << cause;
        } catch (FormatError const& error) {
            EXPECT_TRUE(
                std::string(error.what()).starts_with("read " + path.string() + ": " + cause))
                << error.what();
        }
    }

    test::TemporaryDirectory directory_;
};

void expect_equal(MboRecord const& a, MboRecord const& b) {
    EXPECT_EQ(a.length, b.length);
    EXPECT_EQ(a.type, b.type);
    EXPECT_EQ(a.ts_event, b.ts_event);
    EXPECT_EQ(a.order_id, b.order_id);
    EXPECT_EQ(a.price, b.price);
    EXPECT_EQ(a.ts_recv, b.ts_recv);
    EXPECT_EQ(a.instrument, b.instrument);
    EXPECT_EQ(a.size, b.size);
    EXPECT_EQ(a.ts_in_delta, b.ts_in_delta);
    EXPECT_EQ(a.sequence, b.sequence);
    EXPECT_EQ(a.publisher, b.publisher);
    EXPECT_EQ(a.flags, b.flags);
    EXPECT_EQ(a.channel, b.channel);
    EXPECT_EQ(a.action, b.action);
    EXPECT_EQ(a.side, b.side);
}

TEST_F(DbnFileTest, everyFieldIsReadFromItsPlace) {
    dbn::MboFile const file =
        read(DbnBytes().header().record(sample_record(0)).record(sample_record(9)));
    ASSERT_EQ(file.records().size(), 2U);
    expect_equal(file.records()[0], sample_record(0));
    expect_equal(file.records()[1], sample_record(9));
}

TEST_F(DbnFileTest, theHeaderMayHaveAnyLength) {
    for (std::uint32_t const length : {0U, 1U, 4088U, 4096U, 10'000U}) {
        dbn::MboFile const file = read(DbnBytes().header(1, length).record(sample_record(4)));
        ASSERT_EQ(file.records().size(), 1U) << length;
        expect_equal(file.records()[0], sample_record(4));
    }
}

// The reader takes 1024 records at a time: none is lost or doubled where one batch meets the next.
TEST_F(DbnFileTest, filesOfMoreThanOneBatchAreReadWhole) {
    for (std::uint32_t const count : {1023U, 1024U, 1025U, 2048U, 2500U}) {
        DbnBytes bytes;
        bytes.header();
        for (std::uint32_t i = 0; i < count; ++i) bytes.record(sample_record(i));
        dbn::MboFile const file = read(bytes);
        ASSERT_EQ(file.records().size(), count);
        for (std::uint32_t i = 0; i < count; ++i) {
            ASSERT_EQ(file.records()[i].order_id, sample_record(i).order_id);
        }
    }
}

TEST_F(DbnFileTest, anEmptyFileIsNotADbnFile) {
    expect_refused(DbnBytes(), "not a DBN file: no \"DBN\" at byte 0");
}

TEST_F(DbnFileTest, aForeignFileIsNotADbnFile) {
    auto const cause = "not a DBN file: no \"DBN\" at byte 0";
    expect_refused(DbnBytes().raw("DB"), cause);
}

TEST_F(DbnFileTest, versionsOneToThreeAreRead) {
    for (unsigned const version : {1U, 2U, 3U}) {
        auto const file = read(DbnBytes().header(version).record(sample_record(7)));
        ASSERT_EQ(file.records().size(), 1U) << version;
        expect_equal(file.records()[0], sample_record(7));
    }
}

TEST_F(DbnFileTest, anotherVersionIsRefused) {
    expect_refused(DbnBytes().header(0).record(sample_record(0)),
                   "DBN version 0, not 1 to 3, at byte 3");
    expect_refused(DbnBytes().header(4).record(sample_record(0)),
                   "DBN version 4, not 1 to 3, at byte 3");
}

// The records equal those of a file without it, so that tallies and checksums agree.
TEST_F(DbnFileTest, theTimeOfSendingBehindARecordIsLeftOut) {
    DbnBytes bytes;
    bytes.header(3);
    for (std::uint32_t i = 0; i < 3000; ++i) bytes.record(sample_record(i), 0xa0, 64).number(7, 8);
    auto const file = read(bytes);
    ASSERT_EQ(file.records().size(), 3000U);
    for (std::uint32_t i = 0; i < 3000; ++i) expect_equal(file.records()[i], sample_record(i));
}

// Records of any length. Some cross the end of the reader's buffer.
TEST_F(DbnFileTest, recordsOfOtherTypesAreSkippedAndCounted) {
    DbnBytes bytes;
    bytes.header();
    for (std::uint32_t i = 0; i < 3000; ++i) {
        bytes.record(sample_record(i));
        if (i % 3 == 0) bytes.other(0x17, 80);
        if (i % 100 == 0) bytes.other(0x13, 255 * 4);
        if (i % 1000 == 0) bytes.other(0x01, 16);
    }
    auto const file = read(bytes);
    ASSERT_EQ(file.records().size(), 3000U);
    EXPECT_EQ(file.records()[2999].order_id, sample_record(2999).order_id);
    EXPECT_EQ(file.skipped(), (dbn::Skipped{{0x01, 3}, {0x13, 30}, {0x17, 1000}}));
}

TEST_F(DbnFileTest, aFileOfOtherRecordsAloneIsRefused) {
    expect_refused(DbnBytes().header().other(0x17, 80).other(0x17, 80),
                   "no market-by-order record, 2 of other types: the file ends at byte 268");
}

TEST_F(DbnFileTest, aTruncatedHeaderIsRefused) {
    for (std::size_t const size : {3U, 4U, 7U}) {
        expect_refused(DbnBytes().header().cut_to(size),
                       "the header is truncated at byte " + std::to_string(size));
    }
    for (std::size_t const size : {8U, 107U}) {
        expect_refused(DbnBytes().header().cut_to(size),
                       "the header is truncated: 108 bytes long by its own account, it ends at "
                       "byte " +
                           std::to_string(size));
    }
}

// Nothing is allocated for a length that the file does not have.
TEST_F(DbnFileTest, aHeaderLongerThanTheFileIsRefused) {
    expect_refused(DbnBytes().raw("DBN\x01\xff\xff\xff\xff").record(sample_record(0)),
                   "the header is truncated: 4294967303 bytes long by its own account, it ends at "
                   "byte 64");
}

TEST_F(DbnFileTest, aFileWithoutRecordsIsRefused) {
    expect_refused(DbnBytes().header(), "no records: the file ends at byte 108");
}

TEST_F(DbnFileTest, aTruncatedRecordIsRefused) {
    DbnBytes const whole = DbnBytes().header().record(sample_record(0)).record(sample_record(1));
    for (std::size_t const left : {1U, 55U}) {
        expect_refused(DbnBytes(whole).cut_to(header_size + record_size + left),
                       "truncated record (" + std::to_string(left) +
                           " of 56 bytes; head -c 164 gives the records before it) at byte 164");
    }
}

// A batch ends just where the record is cut off.
TEST_F(DbnFileTest, aTruncatedRecordAfterAWholeBatchIsRefused) {
    DbnBytes bytes;
    bytes.header();
    for (std::uint32_t i = 0; i < 1024; ++i) bytes.record(sample_record(i));
    expect_refused(bytes.raw("\x0e"),
                   "truncated record (1 of 56 bytes; head -c 57452 gives the records before it) "
                   "at byte 57452");
}

TEST_F(DbnFileTest, aMarketByOrderRecordOfAnotherLengthIsRefused) {
    expect_refused(DbnBytes().header().record(sample_record(0)).other(0xa0, 60),
                   "a market-by-order record of 60 bytes, not 56 or, with ts_out, 64, at byte 164");
}

// Catches one that takes the second file's beginning for a record to be skipped, and a record of it
// too.
TEST_F(DbnFileTest, twoFilesBehindOneAnotherAreRefused) {
    DbnBytes const first = DbnBytes().header().record(sample_record(0));
    for (unsigned const version : {1U, 2U, 3U}) {
        expect_refused(DbnBytes(first).header(version).record(sample_record(1)),
                       "another DBN file begins at byte 164");
    }
    expect_refused(DbnBytes(first).header(1, 0), "another DBN file begins at byte 164");
    for (std::string const begin : {"\x28\xb5\x2f\xfd", "\x50\x2a\x4d\x18"}) {
        expect_refused(DbnBytes(first).raw(begin).raw(std::string(400, '\0')),
                       "a zstd-compressed file begins at byte 164");
    }
}

TEST_F(DbnFileTest, aRecordShorterThanItsHeaderIsRefused) {
    for (unsigned const size : {0U, 4U, 12U}) {
        expect_refused(
            DbnBytes()
                .header()
                .record(sample_record(0))
                .other(0x17, size)
                .raw(std::string(64, '\0')),
            "a record of " + std::to_string(size) + " bytes, shorter than its header, at byte 164");
    }
}

TEST_F(DbnFileTest, anUnknownActionIsRefused) {
    MboRecord record = sample_record(0);
    record.action = static_cast<Action>('\n');
    expect_refused(DbnBytes().header().record(record),
                   "unknown action 0x0a in the record at byte 108");
}

// The schema has these actions.
TEST_F(DbnFileTest, everyKnownActionIsRead) {
    for (char const action : {'A', 'C', 'M', 'R', 'T', 'F', 'N'}) {
        MboRecord record = sample_record(0);
        record.action = static_cast<Action>(action);
        auto const file = read(DbnBytes().header(3).record(record));
        ASSERT_EQ(file.records().size(), 1U) << action;
        expect_equal(file.records()[0], record);
    }
}

#if defined(DBN_ZSTD)

// The file has two frames, as `cat` joins them; the boundary lies within a record.
TEST_F(DbnFileTest, compressedFilesAreRead) {
    DbnBytes bytes;
    bytes.header(2);
    for (std::uint32_t i = 0; i < 3000; ++i) bytes.record(sample_record(i));
    auto const file = read(bytes.compressed(100'001));
    ASSERT_EQ(file.records().size(), 3000U);
    for (std::uint32_t i = 0; i < 3000; ++i) expect_equal(file.records()[i], sample_record(i));
}

// pzstd writes such files: a frame that readers skip before each frame of data.
TEST_F(DbnFileTest, compressedFilesMayBeginWithFramesThatAreSkipped) {
    DbnBytes const compressed = DbnBytes().header().record(sample_record(0)).compressed(20);
    for (std::uint32_t const magic : {0x184d2a50U, 0x184d2a5fU}) {
        DbnBytes bytes;
        bytes.number(magic, 4).number(3, 4).raw("any");
        auto const file = read(bytes.number(magic, 4).number(0, 4).raw(compressed.bytes()));
        ASSERT_EQ(file.records().size(), 1U);
        expect_equal(file.records()[0], sample_record(0));
    }
    expect_refused(DbnBytes().number(0x184d2a60, 4).number(0, 4).raw(compressed.bytes()),
                   "not a DBN file: no \"DBN\" at byte 0");
}

// A frame without its size, whose window has 2 GiB.
TEST_F(DbnFileTest, aLargeWindowIsToldFromDamage) {
    expect_refused(DbnBytes().raw("\x28\xb5\x2f\xfd").number(0, 1).number((31 - 10) << 3, 1),
                   "the zstd data need a larger window: decompress them with `zstd -d --long=31`");
}

TEST_F(DbnFileTest, aTruncatedRecordOfACompressedFileIsRefused) {
    DbnBytes whole = DbnBytes().header().record(sample_record(0)).record(sample_record(1));
    whole.cut_to(header_size + record_size + 1);
    expect_refused(whole.compressed(20),
                   "truncated record (1 of 56 bytes; zstd -dc FILE | head -c 164 gives the "
                   "records before it) at byte 164");
}

TEST_F(DbnFileTest, twoCompressedFilesBehindOneAnotherAreRefused) {
    DbnBytes const one = DbnBytes().header().record(sample_record(0)).compressed(20);
    expect_refused(DbnBytes(one).raw(one.bytes()), "another DBN file begins at byte 164");
}

TEST_F(DbnFileTest, aDamagedOrTruncatedCompressedFileIsRefused) {
    DbnBytes const whole = DbnBytes().header().record(sample_record(0)).compressed(20);
    expect_refused_for(DbnBytes(whole).cut_to(whole.size() - 3), "the zstd data are truncated: ");
    expect_refused_for(DbnBytes().raw("\x28\xb5\x2f\xfd compressed"), "damaged zstd data: ");
}

#endif

// The field's own library has written these files: tests/examples/data/make_dbn.py.
TEST_F(DbnFileTest, filesOfTheFieldsOwnLibraryAreRead) {
    std::filesystem::path const data = CARILLON_TEST_DATA;
    for (char const* name : {"v1.dbn", "v2.dbn", "v3.dbn", "v3-ts-out.dbn", "v3.dbn.zst"}) {
#if !defined(DBN_ZSTD)
        if (std::string_view(name).ends_with(".zst")) continue;
#endif
        SCOPED_TRACE(name);
        auto const file = dbn::MboFile::read(data / name);
        ASSERT_EQ(file.records().size(), 3U);
        for (std::uint32_t i = 0; i < 3; ++i) {
            MboRecord const& record = file.records()[i];
            EXPECT_EQ(record.instrument, 1000 + i);
            EXPECT_EQ(record.order_id, 2000 + i);
            EXPECT_EQ(record.price, 4810'000000000 + 250'000'000 * std::int64_t{i});
            EXPECT_EQ(record.size, 1 + i);
            EXPECT_EQ(record.action, i == 2 ? Action::trade : Action::add);
            EXPECT_EQ(record.sequence, 3000 + i);
        }
        EXPECT_EQ(file.skipped(), (dbn::Skipped{{0x17, 1}}));
    }
}

TEST_F(DbnFileTest, aFileThatIsNotThereIsASystemError) {
    auto const path = directory_.path() / "none.dbn";
    try {
        (void)dbn::MboFile::read(path);
        FAIL() << "read";
    } catch (SystemError const& error) {
        EXPECT_EQ(error.call(), "read " + path.string());
        EXPECT_EQ(error.code(), ENOENT);
    }
}

TEST_F(DbnFileTest, aDirectoryIsASystemError) {
    try {
        (void)dbn::MboFile::read(directory_.path());
        FAIL() << "read";
    } catch (SystemError const& error) {
        EXPECT_EQ(error.code(), EISDIR);
    }
}

}  // namespace
}  // namespace carillon::example
