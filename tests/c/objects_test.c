/* SPDX-License-Identifier: Apache-2.0 */
/* Mailboxes, rings of chunks and stores, from C, on the emulated device, and those of another
 * process: P is objects_owner.cpp, at the path of the first argument, C is this test. */
#include <carillon.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

static void null_handles(void) {
    carillon_mailbox* mailbox = NULL;
    carillon_chunk* chunk = NULL;
    carillon_buffer* buffer = NULL;
    int descriptor = 0;
    EXPECT_ERROR(carillon_mailbox_set(mailbox, "x", 1, 0), CARILLON_USAGE, "the mailbox is a null");
    EXPECT_ERROR(carillon_mailbox_end_set(NULL, "x", 1), CARILLON_USAGE, "the end");
    EXPECT_ERROR(carillon_chunk_ring_claim(NULL, 0, &chunk), CARILLON_USAGE, "the ring");
    EXPECT_ERROR(carillon_chunk_commit(&chunk, 0, NULL, 0), CARILLON_USAGE, "the chunk");
    EXPECT_ERROR(carillon_chunk_commit(NULL, 0, NULL, 0), CARILLON_USAGE, "chunk's handle");
    EXPECT_ERROR(carillon_chunk_ring_end_release(NULL, 1), CARILLON_USAGE, "the end");
    EXPECT_ERROR(carillon_store_get(NULL, "x", &buffer), CARILLON_USAGE, "the store");
    EXPECT_ERROR(carillon_buffer_seal(buffer), CARILLON_USAGE, "the buffer");
    EXPECT_ERROR(carillon_store_events_descriptor(NULL, &descriptor), CARILLON_USAGE, "the events");
    EXPECT(descriptor == -1);
    carillon_mailbox_close(&mailbox);
    carillon_chunk_close(&chunk);
    carillon_buffer_close(NULL);
}

static void mailboxes_both_ways(carillon_device* device) {
    carillon_mailbox* to = NULL;
    carillon_mailbox* from = NULL;
    carillon_mailbox_end* reads = NULL;
    carillon_mailbox_end* sets = NULL;
    char value[100] = "first";
    char seen[101] = "";
    EXPECT_ERROR(carillon_mailbox_create(device, value, 0, CARILLON_TO_HOST, 0, &to),
                 CARILLON_USAGE, "a value of 0 bytes is not possible: it has 1 to 4096");
    EXPECT_ERROR(carillon_mailbox_create(device, NULL, 8, CARILLON_TO_HOST, 0, &to), CARILLON_USAGE,
                 "null pointer");
    EXPECT_ERROR(carillon_mailbox_create(device, value, 8, 7, 0, &to), CARILLON_USAGE, "7");
    EXPECT_ERROR(carillon_mailbox_create(device, value, 8, CARILLON_TO_HOST, 3, &to),
                 CARILLON_USAGE, "3");
    EXPECT_OK(carillon_mailbox_create(device, value, 100, CARILLON_TO_DEVICE, 0, &to));
    EXPECT_OK(carillon_mailbox_create(device, value, 100, CARILLON_TO_HOST, 2, &from));
    EXPECT_OK(carillon_mailbox_emulated_end(to, &reads));
    EXPECT_OK(carillon_mailbox_emulated_end(from, &sets));
    carillon_mailbox_info info = {.size = sizeof(info)};
    EXPECT_OK(carillon_mailbox_get_info(from, &info));
    EXPECT(info.value_bytes == 100 && info.direction == CARILLON_TO_HOST);
    for (int i = 0; i < 10; ++i) {
        EXPECT_OK(carillon_mailbox_end_refresh(reads, seen, 100));
        EXPECT(memcmp(seen, value, 100) == 0);
        EXPECT(carillon_mailbox_end_refresh(reads, seen, 100) == CARILLON_NOT_NOW);
        EXPECT_OK(carillon_mailbox_refresh(from, seen, 100));
        EXPECT(memcmp(seen, value, 100) == 0);
        EXPECT(carillon_mailbox_refresh(from, seen, 100) == CARILLON_NOT_NOW);
        memset(value, i, sizeof(value));
        EXPECT_OK(carillon_mailbox_set(to, value, 100, i & 1));
        EXPECT_OK(carillon_mailbox_end_set(sets, value, 100));
    }
    EXPECT_ERROR(carillon_mailbox_set(to, value, 99, 0), CARILLON_USAGE, "a value of 99 bytes");
    EXPECT_ERROR(carillon_mailbox_refresh(from, seen, 101), CARILLON_USAGE, "101");
    EXPECT_ERROR(carillon_mailbox_refresh(to, seen, 100), CARILLON_USAGE, "this side sets");
    EXPECT_ERROR(carillon_mailbox_end_set(reads, seen, 100), CARILLON_USAGE, "this side reads");
    carillon_mailbox_close(&to); /* its end keeps the memory */
    EXPECT_OK(carillon_mailbox_end_refresh(reads, seen, 100));
    carillon_mailbox_close(&from);
    carillon_mailbox_end_close(&reads);
    carillon_mailbox_end_close(&sets);
}

static void chunks_are_filled_and_read(carillon_device* device) {
    carillon_chunk_ring* ring = NULL;
    carillon_chunk_ring_end* end = NULL;
    carillon_chunk* chunk = NULL;
    EXPECT_ERROR(carillon_chunk_ring_create(device, 41, 4096, 0, &ring), CARILLON_USAGE, "41");
    EXPECT_ERROR(carillon_chunk_ring_create(device, 0, 0, 0, &ring), CARILLON_USAGE, "");
    EXPECT_OK(carillon_chunk_ring_create(device, 4, 1000, 4, &ring));
    EXPECT_OK(carillon_chunk_ring_emulated_end(ring, &end));
    carillon_chunk_ring_info info = {.size = sizeof(info)};
    EXPECT_OK(carillon_chunk_ring_get_info(ring, &info));
    EXPECT(info.meta_bytes == 4 && info.chunks == 4 && info.chunk_bytes == 1000);
    carillon_taken_chunk taken = {.size = sizeof(taken)};
    EXPECT(carillon_chunk_ring_end_take(end, &taken) == CARILLON_NOT_NOW);
    for (int i = 1; i < 20; ++i) {
        EXPECT_OK(carillon_chunk_ring_claim(ring, patience, &chunk));
        carillon_chunk_info where = {.size = sizeof(where)};
        EXPECT_OK(carillon_chunk_get_info(chunk, &where));
        EXPECT(where.bytes == 1000 && where.sequence == (uint64_t)i);
        memset(where.host, i, 500);
        EXPECT_OK(carillon_chunk_fill(chunk, 500, "behind it", 10));
        EXPECT_OK(carillon_chunk_flush(chunk));
        EXPECT_OK(carillon_chunk_commit(&chunk, 510, "meta", 4));
        EXPECT(chunk == NULL);
        EXPECT_OK(carillon_chunk_ring_end_take(end, &taken));
        EXPECT(taken.bytes == 510 && memcmp(taken.meta, "meta", 5) == 0);
        unsigned char const* const data = taken.data;
        EXPECT(data[0] == i && data[499] == i && strcmp((char const*)data + 500, "behind it") == 0);
        EXPECT_OK(carillon_chunk_ring_end_release(end, taken.sequence));
        EXPECT(carillon_chunk_ring_end_release(end, taken.sequence) == CARILLON_NOT_NOW);
    }
    EXPECT_OK(carillon_chunk_ring_claim(ring, 0, &chunk));
    EXPECT_ERROR(carillon_chunk_fill(chunk, 999, "too", 2), CARILLON_USAGE, "exceed the chunk of 1000");
    EXPECT_ERROR(carillon_chunk_commit(&chunk, 1001, "meta", 4), CARILLON_USAGE, "1001");
    EXPECT_ERROR(carillon_chunk_commit(&chunk, 1, "met", 3), CARILLON_USAGE, "a meta of 3 bytes");
    EXPECT(chunk != NULL);
    carillon_chunk_close(&chunk); /* given up */
    EXPECT(carillon_chunk_ring_end_take(end, &taken) == CARILLON_NOT_NOW);
    for (int i = 0; i < 4; ++i) {
        EXPECT_OK(carillon_chunk_ring_claim(ring, 0, &chunk));
        EXPECT_OK(carillon_chunk_commit(&chunk, 0, "meta", 4));
    }
    EXPECT(carillon_chunk_ring_claim(ring, 0, &chunk) == CARILLON_NOT_NOW && chunk == NULL);
    EXPECT_ERROR(carillon_chunk_ring_claim(ring, 1000000, &chunk), CARILLON_TIMEOUT, "released");
    taken.size = 0;
    EXPECT_ERROR(carillon_chunk_ring_end_take(end, &taken), CARILLON_USAGE, "is not set");
    carillon_chunk_ring_close(&ring);
    carillon_chunk_ring_end_close(&end);
}

/* `store`: this process's, or by a connection. */
static void buffers_are_made_and_read(carillon_store* store) {
    carillon_buffer* made = NULL;
    carillon_buffer* got = NULL;
    carillon_store_events* events = NULL;
    EXPECT_OK(carillon_store_events_open(store, &events));
    carillon_store_sealed* sealed = NULL;
    carillon_buffer* came = NULL;
    EXPECT_OK(carillon_store_sealed_open(store, &sealed));
    EXPECT(carillon_store_sealed_next(sealed, 0, &came) == CARILLON_NOT_NOW && came == NULL);
    carillon_sealed_buffer told = {.size = sizeof(told)};
    EXPECT(carillon_store_events_next(events, 0, &told) == CARILLON_NOT_NOW);
    EXPECT_ERROR(carillon_store_make(store, "prices", 0, &made), CARILLON_USAGE, "");
    EXPECT_OK(carillon_store_make(store, "prices", 5000, &made));
    EXPECT_ERROR(carillon_store_make(store, "prices", 8, &got), CARILLON_REFUSED, "prices");
    EXPECT_ERROR(carillon_store_get(store, "prices", &got), CARILLON_REFUSED, "");
    EXPECT_OK(carillon_buffer_write(made, 4995, "last", 5));
    EXPECT_ERROR(carillon_buffer_write(made, 4996, "last", 5), CARILLON_USAGE, "");
    char seen[5] = "";
    EXPECT_ERROR(carillon_buffer_read(made, 0, seen, 5), CARILLON_USAGE, "not sealed");
    carillon_buffer_info info = {.size = sizeof(info)};
    EXPECT_OK(carillon_buffer_get_info(made, &info));
    EXPECT(info.bytes == 5000 && info.sealed == 0 && strcmp(info.name, "prices") == 0);
    memcpy(info.host, "head", 5);
    EXPECT_OK(carillon_buffer_seal(made));
    EXPECT_ERROR(carillon_buffer_seal(made), CARILLON_USAGE, "is sealed");
    EXPECT_ERROR(carillon_buffer_write(made, 0, "x", 1), CARILLON_USAGE, "is sealed");
    int descriptor = -1;
    EXPECT_OK(carillon_store_events_descriptor(events, &descriptor));
    struct pollfd ready = {descriptor, POLLIN, 0};
    EXPECT(poll(&ready, 1, 30000) == 1);
    EXPECT_OK(carillon_store_events_next(events, patience, &told));
    EXPECT(told.id == info.id && told.bytes == 5000 && strcmp(told.name, "prices") == 0);
    EXPECT_OK(carillon_store_sealed_descriptor(sealed, &descriptor));
    ready.fd = descriptor;
    EXPECT(poll(&ready, 1, 30000) == 1);
    EXPECT_OK(carillon_store_sealed_next(sealed, patience, &came));
    EXPECT_OK(carillon_buffer_read(came, 4995, seen, 5));
    EXPECT(strcmp(seen, "last") == 0);
    EXPECT_ERROR(carillon_buffer_seal(came), CARILLON_USAGE, "is sealed");
    carillon_buffer_close(&came);
    uint64_t missed = 1;
    EXPECT_OK(carillon_store_sealed_missed(sealed, &missed));
    EXPECT(missed == 0);
    EXPECT_OK(carillon_store_get(store, "prices", &got));
    EXPECT_OK(carillon_buffer_read(got, 4995, seen, 5));
    EXPECT(strcmp(seen, "last") == 0);
    EXPECT_OK(carillon_buffer_get_info(got, &info));
    EXPECT(info.sealed == 1 && strcmp(info.host, "head") == 0);
    carillon_buffer_close(&got);
    EXPECT_OK(carillon_store_get_id(store, info.id, &got));
    carillon_listed_buffer list[2] = {{.size = sizeof(list[0])}};
    size_t count = 0;
    list[0].size += 4;
    EXPECT_ERROR(carillon_store_list(store, list, 2, &count), CARILLON_USAGE, "set it to sizeof");
    list[0].size = SIZE_MAX / 16 * 8; /* bytes of before */
    EXPECT_ERROR(carillon_store_list(store, list, 2, &count), CARILLON_USAGE, "set it to sizeof");
    list[0].size = sizeof(list[0]);
    EXPECT_OK(carillon_store_list(store, list, 2, &count));
    EXPECT(count == 1 && list[0].id == info.id && list[0].sealed == 1);
    EXPECT(strcmp(list[0].name, "prices") == 0 && list[0].process == (int32_t)getpid());
    EXPECT_OK(carillon_store_remove(store, "prices"));
    EXPECT_ERROR(carillon_store_remove_id(store, info.id), CARILLON_REFUSED, "");
    EXPECT_OK(carillon_store_list(store, NULL, 0, &count));
    EXPECT(count == 0);
    EXPECT_OK(carillon_buffer_read(got, 0, seen, 5)); /* somebody holds it */
    EXPECT(strcmp(seen, "head") == 0);
    carillon_buffer_close(&got);
    carillon_buffer_close(&made);
    carillon_store_events_close(&events);
    carillon_store_sealed_close(&sealed);
}

static void stores(carillon_device* device, char const* folder) {
    char path[64];
    snprintf(path, sizeof(path), "%s/store.sock", folder);
    carillon_store* store = NULL;
    carillon_store* other = NULL;
    carillon_store_server* server = NULL;
    carillon_store_server* none = NULL;
    carillon_store_options options = {0};
    EXPECT_ERROR(carillon_store_create(device, &options, &store), CARILLON_USAGE, "is not set");
    options.size = sizeof(options);
    options.bytes = 1 << 20;
    options.copy_threads = 2;
    EXPECT_ERROR(carillon_store_connect(path, NULL, &other), CARILLON_SYSTEM, path);
    carillon_store_connect_options const over = {.size = sizeof(over), .timeout_ns = -1};
    EXPECT_ERROR(carillon_store_connect(path, &over, &other), CARILLON_USAGE,
                 "carillon_store_connect: the timeout must be above 0");
    EXPECT_OK(carillon_store_create(device, &options, &store));
    buffers_are_made_and_read(store);
    carillon_serve_options const ten_bits = {.size = sizeof(ten_bits), .mode = 01777};
    EXPECT_ERROR(carillon_store_serve(store, path, &ten_bits, &none), CARILLON_USAGE,
                 "carillon_store_serve: mode 1777");
    EXPECT_OK(carillon_store_serve(store, path, NULL, &server));
    carillon_store_connect_options const how = {.size = sizeof(how), .name = "a test in C"};
    EXPECT_OK(carillon_store_connect(path, &how, &other));
    EXPECT_ERROR(carillon_store_serve(other, path, NULL, &none), CARILLON_USAGE, "another");
    carillon_store_close(&other);
    carillon_connection* connection = NULL;
    EXPECT_OK(carillon_connect(path, NULL, &connection));
    EXPECT_OK(carillon_connection_store(connection, &other));
    carillon_connection_close(&connection);
    size_t count = 0;
    EXPECT_OK(carillon_store_list(other, NULL, 0, &count));
    carillon_store_close(&other);
    EXPECT_ERROR(carillon_connection_store(NULL, &other), CARILLON_USAGE,
                 "carillon_connection_store: the connection is a null pointer");
    carillon_store_server_close(&server);
    carillon_store_close(&store);
}

static void stores_of_others(carillon_device* device, char const* folder) {
    char path[64];
    snprintf(path, sizeof(path), "%s/other.sock", folder);
    carillon_store* store = NULL;
    carillon_store* other = NULL;
    carillon_store_server* server = NULL;
    EXPECT_OK(carillon_store_create(device, NULL, &store));
    EXPECT_OK(carillon_store_serve(store, path, NULL, &server));
    EXPECT_OK(carillon_store_connect(path, NULL, &other));
    buffers_are_made_and_read(other);
    carillon_store_server_close(&server);
    size_t count = 0;
    EXPECT_ERROR(carillon_store_list(other, NULL, 0, &count), CARILLON_OWNER_GONE, "");
    carillon_store_close(&other);
    carillon_store_close(&store);
}

typedef struct limits {
    uint32_t most;
    uint32_t least;
} limits;
typedef struct status {
    uint64_t chunks;
    uint64_t sum;
    limits known;
} status;

static void await_status(carillon_mailbox* mailbox, status* now, uint64_t chunks, uint32_t most) {
    for (int i = 0; i < 300000 && (now->chunks != chunks || now->known.most != most); ++i) {
        if (carillon_mailbox_refresh(mailbox, now, sizeof(*now)) == CARILLON_NOT_NOW) usleep(100);
    }
    EXPECT(now->chunks == chunks && now->known.most == most);
}

/* The owner's Desk: 0 is an order, 1 asks for the total. */
static void commands_to_others(carillon_connection const* connection) {
    carillon_type const packet = {12, NULL};
    carillon_client* desk = NULL;
    EXPECT_OK(carillon_connection_client(connection, "desk", packet, packet, &desk));
    uint64_t quantity = 100;
    uint64_t total = 0;
    EXPECT_OK(carillon_client_command(desk, 0, &quantity, 8, NULL, 0, patience, 0));
    quantity = 101;
    EXPECT_ERROR(carillon_client_command(desk, 0, &quantity, 8, NULL, 0, patience, 0),
                 CARILLON_HANDLER, "refused");
    EXPECT(last_details().code == 7 && carillon_last_error_number() == 0);
    EXPECT_OK(carillon_client_command(desk, 1, NULL, 0, &total, 8, patience, 1));
    EXPECT(total == 100);
    EXPECT_ERROR(carillon_client_command(desk, 2, NULL, 0, &total, 8, patience, 0), CARILLON_USAGE,
                 "opcode 2");
    EXPECT_ERROR(carillon_client_command(desk, 0, &total, 9, NULL, 0, patience, 0), CARILLON_USAGE,
                 "room for 8");
    EXPECT_ERROR(carillon_client_command(desk, 1, NULL, 0, &total, 9, patience, 0), CARILLON_USAGE,
                 "room for 8");
    EXPECT_ERROR(carillon_client_command(NULL, 1, NULL, 0, &total, 8, patience, 0), CARILLON_USAGE,
                 "the client");
    carillon_client_close(&desk);
}

static void objects_of_others(char const* folder, char const* owner) {
    /* 1. P shares its objects. 2. C sets limits, fills chunks, and reads what P makes of them.
     * 3. P ends; C is told. */
    char path[64];
    int input[2];
    snprintf(path, sizeof(path), "%s/objects.sock", folder);
    EXPECT(pipe(input) == 0);
    pid_t const child = fork();
    if (child == 0) {
        dup2(input[0], STDIN_FILENO);
        close(input[0]);
        close(input[1]);
        execl(owner, owner, path, (char*)NULL);
        _exit(127);
    }
    EXPECT(child > 0);
    close(input[0]);
    carillon_connect_options const how = {.size = sizeof(how), .wait_for_owner_ns = patience};
    carillon_connection* connection = NULL;
    carillon_mailbox* to = NULL;
    carillon_mailbox* from = NULL;
    carillon_chunk_ring* ring = NULL;
    carillon_chunk* chunk = NULL;
    EXPECT_OK(carillon_connect(path, &how, &connection));
    size_t shared = 0; /* one after the other */
    for (int i = 0; i < 300000 && shared != 5; ++i) {
        EXPECT_OK(carillon_connection_objects(connection, NULL, 0, &shared));
        if (shared != 5) usleep(100);
    }
    commands_to_others(connection);
    carillon_type const wrong = {12, NULL};
    carillon_type const of_heap = {8, NULL};
    carillon_type const of_limits = {sizeof(limits), NULL};
    carillon_type const of_status = {sizeof(status), NULL};
    EXPECT_ERROR(carillon_connection_mailbox(connection, "limits", wrong, CARILLON_TO_DEVICE, &to),
                 CARILLON_REFUSED, "the client's is bytes of 12");
    EXPECT_ERROR(carillon_connection_chunk_ring(connection, "heaps", wrong, &ring),
                 CARILLON_REFUSED, "the client's is bytes of 12");
    EXPECT_OK(carillon_connection_chunk_ring(connection, "heaps", of_heap, &ring));
    EXPECT_OK(
        carillon_connection_mailbox(connection, "limits", of_limits, CARILLON_TO_DEVICE, &to));
    EXPECT_OK(
        carillon_connection_mailbox(connection, "status", of_status, CARILLON_TO_HOST, &from));
    status now = {0};
    for (uint32_t i = 1; i < 20; ++i) {
        limits const set = {i, 0};
        uint64_t const number = i;
        EXPECT_OK(carillon_mailbox_set(to, &set, sizeof(set), 0));
        EXPECT_OK(carillon_chunk_ring_claim(ring, patience, &chunk));
        EXPECT_OK(carillon_chunk_fill(chunk, 0, "\1\2\3", 3));
        EXPECT_OK(carillon_chunk_commit(&chunk, 3, &number, sizeof(number)));
        await_status(from, &now, i, i);
        EXPECT(now.sum == 6);
    }
    carillon_chunk_ring_end* end = NULL;
    EXPECT_ERROR(carillon_chunk_ring_emulated_end(ring, &end), CARILLON_USAGE, "owner's");
    close(input[1]);
    EXPECT(waitpid(child, NULL, 0) == child);
    limits const last = {0, 0}; /* a thread of this process hears of it */
    for (int i = 0; i < 300000 && carillon_mailbox_set(to, &last, sizeof(last), 0) == CARILLON_OK;
         ++i)
        usleep(100);
    EXPECT_ERROR(carillon_mailbox_set(to, &last, sizeof(last), 0), CARILLON_OWNER_GONE, "");
    EXPECT_ERROR(carillon_chunk_ring_claim(ring, patience, &chunk), CARILLON_OWNER_GONE, "");
    carillon_connection_close(&connection);
    carillon_mailbox_close(&to);
    carillon_mailbox_close(&from);
    carillon_chunk_ring_close(&ring);
}

int main(int argc, char** argv) {
    carillon_device* device = NULL;
    char folder[] = "/tmp/carillon-c-XXXXXX";
    EXPECT(argc == 2 && mkdtemp(folder) != NULL);
    objects_of_others(folder, argv[1]);
    null_handles();
    EXPECT_OK(carillon_device_open("emulated", &device));
    mailboxes_both_ways(device);
    chunks_are_filled_and_read(device);
    stores(device, folder);
    stores_of_others(device, folder);
    carillon_device_close(&device);
    char remove[64];
    snprintf(remove, sizeof(remove), "rm -r %s", folder);
    EXPECT(system(remove) == 0);
    puts("mailboxes, rings of chunks and stores, on the emulated device");
    return 0;
}
