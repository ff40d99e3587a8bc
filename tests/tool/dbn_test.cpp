// SPDX-License-Identifier: Apache-2.0
// Good files and bad ones.
#include "replay/dbn.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "carillon/error.hpp"
#include "dbn_bytes.hpp"

namespace carillon::tool {
namespace {

class DbnFileTest : public ::testing::Test {
   protected:
    [[nodiscard]] DbnFile read(DbnBytes const& bytes) const {
        return DbnFile::read(bytes.write_to(directory_));
    }

    // That reading `bytes` throws FormatError with exactly this cause.
    void expect_refused(DbnBytes const& bytes, std::string const& cause) const {
        auto const path = bytes.write_to(directory_);
        std::string const call = "read " + path.string();
        try {
            (void)DbnFile::read(path);
            FAIL() << "not refused: " << cause;
        } catch (FormatError const& error) {
            EXPECT_EQ(error.call(), call);
            EXPECT_EQ(error.what(), call + ": " + cause);
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
    DbnFile const file =
        read(DbnBytes().header().record(sample_record(0)).record(sample_record(9)));
    ASSERT_EQ(file.records().size(), 2U);
    expect_equal(file.records()[0], sample_record(0));
    expect_equal(file.records()[1], sample_record(9));
}

TEST_F(DbnFileTest, theHeaderMayHaveAnyLength) {
    for (std::uint32_t const length : {0U, 1U, 4088U, 4096U, 10'000U}) {
        DbnFile const file = read(DbnBytes().header(1, length).record(sample_record(4)));
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
        DbnFile const file = read(bytes);
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
    expect_refused(DbnBytes().raw("\x28\xb5\x2f\xfd compressed"), cause);
    expect_refused(DbnBytes().raw("DB"), cause);
}

TEST_F(DbnFileTest, anotherVersionIsRefused) {
    expect_refused(DbnBytes().header(2).record(sample_record(0)),
                   "DBN version 2, not 1, at byte 3");
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
                       "truncated record (" + std::to_string(left) + " of 56 bytes) at byte 164");
    }
}

// A batch ends just where the record is cut off.
TEST_F(DbnFileTest, aTruncatedRecordAfterAWholeBatchIsRefused) {
    DbnBytes bytes;
    bytes.header();
    for (std::uint32_t i = 0; i < 1024; ++i) bytes.record(sample_record(i));
    expect_refused(bytes.raw("\x0e"), "truncated record (1 of 56 bytes) at byte 57452");
}

TEST_F(DbnFileTest, aRecordOfAnotherTypeIsRefused) {
    DbnBytes bytes;
    bytes.header().record(sample_record(0)).record(sample_record(1), 0x01);
    expect_refused(bytes, "a record of 56 bytes and type 0x01, not 56 and 0xa0, at byte 164");
}

TEST_F(DbnFileTest, aRecordOfAnotherLengthIsRefused) {
    DbnBytes bytes;
    bytes.header().number(0, 1).number(0xa0, 1).raw(std::string(54, '\0'));
    expect_refused(bytes, "a record of 0 bytes and type 0xa0, not 56 and 0xa0, at byte 108");
}

TEST_F(DbnFileTest, anUnknownActionIsRefused) {
    MboRecord record = sample_record(0);
    record.action = static_cast<Action>('\n');
    expect_refused(DbnBytes().header().record(record),
                   "unknown action 0x0a in the record at byte 108");
}

TEST_F(DbnFileTest, aFileThatIsNotThereIsASystemError) {
    auto const path = directory_.path() / "none.dbn";
    try {
        (void)DbnFile::read(path);
        FAIL() << "read";
    } catch (SystemError const& error) {
        EXPECT_EQ(error.call(), "read " + path.string());
        EXPECT_EQ(error.code(), ENOENT);
    }
}

TEST_F(DbnFileTest, aDirectoryIsASystemError) {
    try {
        (void)DbnFile::read(directory_.path());
        FAIL() << "read";
    } catch (SystemError const& error) {
        EXPECT_EQ(error.code(), EISDIR);
    }
}

}  // namespace
}  // namespace carillon::tool
