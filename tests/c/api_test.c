/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of carillon.h, from C, on the emulated device; objects_test.c has the others. The first
 * check that fails ends it. */
#include <carillon.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "expect.h"

typedef struct ask {
    uint64_t value;
} ask;
typedef struct told {
    uint64_t twice;
    uint64_t served;
} told;

static void twice(void* user, void const* request, void* reply) {
    uint64_t* const served = user;
    ask asked;
    told answer;
    memcpy(&asked, request, sizeof(asked));
    answer.twice = 2 * asked.value;
    answer.served = (*served)++;
    memcpy(reply, &answer, sizeof(answer));
}

static carillon_kernel_options options_of(uint64_t* served) {
    carillon_kernel_options options = {0};
    options.size = sizeof(options);
    options.request.bytes = sizeof(ask);
    options.reply.bytes = sizeof(told);
    options.handler = twice;
    options.user = served;
    options.capacity = 8;
    return options;
}

static void errors_have_names_and_texts(void) {
    EXPECT(carillon_version() == CARILLON_VERSION);
    EXPECT(strcmp(carillon_status_name(CARILLON_OK), "CARILLON_OK") == 0);
    EXPECT(strcmp(carillon_status_name(CARILLON_OTHER), "CARILLON_OTHER") == 0);
    EXPECT(strcmp(carillon_status_name(CARILLON_COMPILE), "CARILLON_COMPILE") == 0);
    EXPECT(strcmp(carillon_status_name(99), "unknown") == 0);
    EXPECT(last_details().status == CARILLON_OK && last_details().call[0] == '\0');
    carillon_device* device = NULL;
    EXPECT_ERROR(carillon_device_open("nothing", &device), CARILLON_USAGE, "nothing");
    EXPECT(device == NULL);
    EXPECT_ERROR(carillon_device_open("emulated", NULL), CARILLON_USAGE,
                 "the output for the handle is a null pointer");
    carillon_connection* connection = NULL;
    EXPECT_ERROR(carillon_connect("/nowhere/at/all", NULL, &connection), CARILLON_SYSTEM,
                 "/nowhere/at/all");
    EXPECT(carillon_last_error_number() == 2); /* ENOENT */
    EXPECT(last_details().code == 2 && strcmp(last_details().code_name, "ENOENT") == 0);
    carillon_error_details older = {.size = offsetof(carillon_error_details, sent)};
    EXPECT_OK(carillon_last_error_details(&older));
    EXPECT(older.status == CARILLON_SYSTEM && older.code == 0);
    EXPECT_ERROR(carillon_last_error_details(NULL), CARILLON_USAGE, "null pointer");
    EXPECT(carillon_last_error_number() == 0 && last_details().code == 0);
}

static void closed_handles_are_null(carillon_device* device) {
    carillon_memory* memory = NULL;
    EXPECT_OK(carillon_memory_allocate(device, 4096, CARILLON_MEMORY_HOST, &memory));
    carillon_memory_free(&memory);
    EXPECT(memory == NULL);
    carillon_memory_free(&memory);
    carillon_memory_free(NULL);
    EXPECT_ERROR(carillon_memory_flush(memory, 0, 1), CARILLON_USAGE,
                 "carillon_memory_flush: the memory is a null pointer");
    carillon_client* client = NULL;
    carillon_ticket const ticket = {1, 1};
    EXPECT_ERROR(carillon_client_take(client, ticket, &client, 8, 0), CARILLON_USAGE,
                 "the client is a null pointer");
    EXPECT_ERROR(carillon_ring_push(NULL, "x", 1, 0, 0), CARILLON_USAGE, "the ring");
    EXPECT_ERROR(carillon_ring_end_pop(NULL, &memory, 1), CARILLON_USAGE, "the end");
    EXPECT_ERROR(carillon_kernel_drain(NULL, 0), CARILLON_USAGE, "the kernel");
    EXPECT_ERROR(carillon_kernel_start(NULL, NULL, NULL), CARILLON_USAGE, "output for the handle");
    int32_t process = 1;
    EXPECT_ERROR(carillon_connection_owner(NULL, &process), CARILLON_USAGE, "the connection");
    EXPECT(process == 0);
}

static void device_and_memory(carillon_device* device) {
    carillon_device_info info = {.size = sizeof(info)};
    EXPECT_OK(carillon_device_get_info(device, &info));
    EXPECT(info.emulated == 1 && info.atom_size >= 1);
    EXPECT(strcmp(info.selector, "emulated") == 0);
    info.size = 0;
    EXPECT_ERROR(carillon_device_get_info(device, &info), CARILLON_USAGE, "is not set");

    carillon_memory* memory = NULL;
    EXPECT_ERROR(carillon_memory_allocate(device, 0, CARILLON_MEMORY_DEVICE, &memory),
                 CARILLON_USAGE, "");
    EXPECT_ERROR(carillon_memory_allocate(device, 1, 7, &memory), CARILLON_USAGE, "no kind of memory 7");
    EXPECT_ERROR(carillon_memory_allocate(device, UINT64_MAX / 2, CARILLON_MEMORY_DEVICE, &memory),
                 CARILLON_OUT_OF_MEMORY, "");
    EXPECT_OK(carillon_memory_allocate(device, 8192, CARILLON_MEMORY_DEVICE, &memory));
    carillon_memory_info where = {.size = sizeof(where)};
    EXPECT_OK(carillon_memory_get_info(memory, &where));
    EXPECT(where.host != NULL && where.device != NULL && where.bytes == 8192);
    char text[16] = "over the bus";
    char back[16] = "";
    EXPECT_OK(carillon_memory_write(memory, 100, text, sizeof(text)));
    EXPECT_OK(carillon_memory_flush(memory, 100, sizeof(text)));
    EXPECT_OK(carillon_memory_invalidate(memory, 100, sizeof(text)));
    EXPECT_OK(carillon_memory_read(memory, 100, back, sizeof(back)));
    EXPECT(strcmp(text, back) == 0);
    EXPECT_ERROR(carillon_memory_write(memory, 8190, text, 3), CARILLON_USAGE, "8192");
    EXPECT_ERROR(carillon_memory_read(memory, 0, NULL, 3), CARILLON_USAGE, "null pointer");
    carillon_memory_free(&memory);
    EXPECT_OK(carillon_memory_allocate(device, 4096, CARILLON_MEMORY_SHARED_HOST, &memory));
    int descriptor = -1;
    EXPECT_OK(carillon_memory_export_fd(memory, &descriptor));
    EXPECT(descriptor >= 0 && close(descriptor) == 0);
    carillon_memory_free(&memory);
}

static void kernel_answers(carillon_device* device) {
    uint64_t served = 0;
    carillon_kernel_options options = options_of(&served);
    carillon_kernel* kernel = NULL;
    carillon_client* client = NULL;
    EXPECT_OK(carillon_kernel_start(device, &options, &kernel));
    carillon_state state = CARILLON_FAILED;
    EXPECT_OK(carillon_kernel_get_state(kernel, &state));
    EXPECT(state == CARILLON_RUNNING);
    EXPECT_ERROR(carillon_kernel_client(kernel, 1, &client), CARILLON_USAGE, "there is no channel 1");
    EXPECT_OK(carillon_kernel_client(kernel, 0, &client));
    EXPECT_OK(carillon_client_warm(client));
    ask asked = {21};
    told answer = {0, 0};
    for (uint64_t i = 0; i < 100; ++i) {
        asked.value = i;
        EXPECT_OK(carillon_client_call(client, &asked, sizeof(asked), &answer, sizeof(answer),
                                       patience, 0));
        EXPECT(answer.twice == 2 * i && answer.served == i);
    }
    carillon_ticket first = {0, 0};
    carillon_ticket second = {0, 0};
    EXPECT_OK(carillon_client_submit(client, &asked, sizeof(asked), patience, 0, &first));
    asked.value = 5;
    EXPECT_OK(carillon_client_submit(client, &asked, sizeof(asked), 0, 1, &second));
    EXPECT_OK(carillon_client_take(client, second, &answer, sizeof(answer), patience));
    EXPECT(answer.twice == 10 && answer.served == 101);
    EXPECT_OK(carillon_client_take(client, first, &answer, sizeof(answer), patience));
    EXPECT(answer.twice == 198);
    EXPECT_ERROR(carillon_client_take(client, first, &answer, sizeof(answer), 0), CARILLON_USAGE,
                 "no reply is outstanding");
    ask many[12];
    for (uint64_t i = 0; i < 12; ++i) many[i].value = i;
    size_t sent = 0;
    EXPECT_OK(carillon_client_submit_n(client, many, sizeof(ask), 12, 0, &first, &sent));
    EXPECT(sent == 8); /* its capacity */
    EXPECT(carillon_client_submit(client, &asked, sizeof(asked), 0, 0, &second) ==
           CARILLON_NOT_NOW);
    for (uint64_t i = 0; i < sent; ++i, ++first.number) {
        EXPECT_OK(carillon_client_take(client, first, &answer, sizeof(answer), patience));
        EXPECT(answer.twice == 2 * i);
    }
    EXPECT_ERROR(carillon_client_call(client, &asked, 7, &answer, sizeof(answer), 0, 0),
                 CARILLON_USAGE, "a request of 7 bytes was given, but the other side's has 8");
    EXPECT_ERROR(carillon_client_call(client, NULL, 8, &answer, sizeof(answer), 0, 0),
                 CARILLON_USAGE, "the message is a null pointer");
    EXPECT_ERROR(carillon_client_submit_n(client, many, 4, 2, 0, &first, &sent), CARILLON_USAGE,
                 "a message of 4 bytes");
    EXPECT_ERROR(carillon_client_submit_n(client, many, 8, SIZE_MAX, 0, &first, &sent),
                 CARILLON_USAGE, "messages of 8 bytes");
    carillon_client_info info = {.size = sizeof(info)};
    EXPECT_OK(carillon_client_get_info(client, &info));
    EXPECT(info.request_bytes == 8 && info.reply_bytes == 16 && info.capacity == 8);
    EXPECT(info.submitted == 110 && info.taken == 110 && info.depth == 0);
    carillon_client_info old = {.size = offsetof(carillon_client_info, submitted)};
    EXPECT_OK(carillon_client_get_info(client, &old)); /* of an older header */
    EXPECT(old.capacity == 8 && old.submitted == 0);
    EXPECT_OK(carillon_client_submit(client, &asked, sizeof(asked), patience, 0, &second));
    EXPECT_OK(carillon_client_abandon(client, second));
    EXPECT_ERROR(carillon_client_abandon(client, second), CARILLON_USAGE,
                 "no reply is outstanding");
    second.issuer += 1;
    EXPECT_ERROR(carillon_client_abandon(client, second), CARILLON_USAGE, "another client");
    EXPECT_OK(
        carillon_client_call(client, &asked, sizeof(asked), &answer, sizeof(answer), patience, 0));
    EXPECT_OK(carillon_client_get_info(client, &info));
    EXPECT(info.submitted == 112 && info.dropped == 1 && info.depth == 0);
    EXPECT_OK(carillon_kernel_drain(kernel, patience));
    EXPECT_ERROR(carillon_client_call(client, &asked, 8, &answer, sizeof(answer), patience, 0),
                 CARILLON_STOPPED, "");
    EXPECT_OK(carillon_kernel_stop(kernel, patience));
    carillon_kernel_close(&kernel);
    EXPECT_ERROR(carillon_client_call(client, &asked, 8, &answer, sizeof(answer), patience, 0),
                 CARILLON_STOPPED, "");
    carillon_client_close(&client);
}

static void options_that_make_no_sense(carillon_device* device) {
    uint64_t served = 0;
    carillon_kernel_options options = options_of(&served);
    carillon_kernel* kernel = NULL;
    EXPECT_ERROR(carillon_kernel_start(device, NULL, &kernel), CARILLON_USAGE,
                 "the struct of options is a null pointer");
    options.size = 0;
    EXPECT_ERROR(carillon_kernel_start(device, &options, &kernel), CARILLON_USAGE, "is not set");
    options = options_of(&served);
    options.handler = NULL;
    EXPECT_ERROR(carillon_kernel_start(device, &options, &kernel), CARILLON_USAGE, "the handler is a null pointer");
    options = options_of(&served);
    options.reply.bytes = 1025;
    EXPECT_ERROR(carillon_kernel_start(device, &options, &kernel), CARILLON_USAGE,
                 "a reply of 1025 bytes");
    options = options_of(&served);
    options.request.name = "a\nb";
    EXPECT_ERROR(carillon_kernel_start(device, &options, &kernel), CARILLON_USAGE,
                 "the name of the request has a control character");
    options = options_of(&served);
    options.capacity = 9;
    EXPECT_ERROR(carillon_kernel_start(device, &options, &kernel), CARILLON_USAGE, "9");
    options = options_of(&served);
    options.idle = 9;
    EXPECT_ERROR(carillon_kernel_start(device, &options, &kernel), CARILLON_USAGE, "no idle policy 9");
    struct {
        carillon_kernel_options known;
        uint64_t unknown;
    } newer = {options_of(&served), 0};
    newer.known.size = sizeof(newer);
    EXPECT_OK(carillon_kernel_start(device, &newer.known, &kernel));
    carillon_kernel_close(&kernel);
    newer.unknown = 1;
    EXPECT_ERROR(carillon_kernel_start(device, &newer.known, &kernel), CARILLON_UNSUPPORTED,
                 "from a newer carillon.h");
}

static void waits_for_its_gate(void* user, void const* request, void* reply) {
    (void)request;
    (void)reply;
    pthread_mutex_lock(user);
    pthread_mutex_unlock(user);
}

static void calls_that_time_out(carillon_device* device) {
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    carillon_kernel_options options = options_of(NULL);
    options.handler = waits_for_its_gate;
    options.user = &gate;
    carillon_kernel* kernel = NULL;
    carillon_client* client = NULL;
    EXPECT_OK(carillon_kernel_start(device, &options, &kernel));
    EXPECT_OK(carillon_kernel_client(kernel, 0, &client));
    ask const asked = {1};
    told answer = {0, 0};
    pthread_mutex_lock(&gate);
    EXPECT_ERROR(carillon_client_call(client, &asked, 8, &answer, 16, 1000000, 0), CARILLON_TIMEOUT,
                 "no reply");
    EXPECT(last_details().sent == 1);
    carillon_ticket tickets[8];
    for (int i = 0; i < 7; ++i) /* the request of the call has a slot too */
        EXPECT_OK(carillon_client_submit(client, &asked, 8, 0, 0, &tickets[i]));
    EXPECT_ERROR(carillon_client_call(client, &asked, 8, &answer, 16, 1000000, 0), CARILLON_TIMEOUT,
                 "not sent");
    EXPECT(last_details().sent == 0);
    EXPECT_ERROR(carillon_client_submit(client, &asked, 8, 1000000, 0, &tickets[7]),
                 CARILLON_TIMEOUT, "not sent");
    EXPECT(last_details().sent == 0);
    EXPECT_ERROR(carillon_client_take(client, tickets[0], &answer, 16, 1000000), CARILLON_TIMEOUT,
                 "no reply");
    EXPECT(last_details().sent == 1);
    EXPECT_ERROR(carillon_kernel_drain(kernel, 1000000), CARILLON_TIMEOUT, "drain");
    pthread_mutex_unlock(&gate);
    EXPECT_OK(carillon_kernel_drain(kernel, patience));
    carillon_client_close(&client);
    carillon_kernel_close(&kernel);
}

static void rings_both_ways(carillon_device* device) {
    carillon_ring* to = NULL;
    carillon_ring* from = NULL;
    carillon_ring_end* takes = NULL;
    carillon_ring_end* sends = NULL;
    EXPECT_ERROR(carillon_ring_create(device, 0, CARILLON_TO_DEVICE, 0, &to), CARILLON_USAGE,
                 "a message of 0 bytes");
    EXPECT_ERROR(carillon_ring_create(device, 8, 5, 0, &to), CARILLON_USAGE, "no direction 5");
    EXPECT_OK(carillon_ring_create(device, 100, CARILLON_TO_DEVICE, 4, &to));
    EXPECT_OK(carillon_ring_create(device, 100, CARILLON_TO_HOST, 4, &from));
    EXPECT_OK(carillon_ring_emulated_end(to, &takes));
    EXPECT_OK(carillon_ring_emulated_end(from, &sends));
    carillon_ring_end* again = takes;
    EXPECT_ERROR(carillon_ring_emulated_end(to, &again), CARILLON_USAGE, "");
    EXPECT(again == NULL);
    carillon_ring_info info = {.size = sizeof(info)};
    EXPECT_OK(carillon_ring_get_info(from, &info));
    EXPECT(info.message_bytes == 100 && info.capacity == 4 && info.direction == CARILLON_TO_HOST);
    char message[300];
    char back[300];
    for (int i = 0; i < 20; ++i) {
        memset(message, i, sizeof(message));
        EXPECT_OK(carillon_ring_push(to, message, 100, 0, 0));
        EXPECT_OK(carillon_ring_end_pop(takes, back, 100));
        EXPECT_OK(carillon_ring_end_push(sends, back, 100));
        memset(back, -1, sizeof(back));
        EXPECT_OK(carillon_ring_pop(from, back, 100, patience));
        EXPECT(memcmp(message, back, 100) == 0);
    }
    size_t done = 0;
    /* A look in vain gives the room for the last message back. */
    EXPECT(carillon_ring_end_pop(takes, back, 100) == CARILLON_NOT_NOW);
    EXPECT_OK(carillon_ring_push_n(to, message, 100, 3, 0, &done));
    EXPECT(done == 3);
    EXPECT_OK(carillon_ring_push(to, message, 100, patience, 1));
    EXPECT(carillon_ring_push(to, message, 100, 0, 0) == CARILLON_NOT_NOW);
    EXPECT(carillon_ring_push_n(to, message, 100, 1, 0, &done) == CARILLON_NOT_NOW && done == 0);
    EXPECT_ERROR(carillon_ring_push(to, message, 100, 1000000, 0), CARILLON_TIMEOUT, "full");
    EXPECT(carillon_ring_pop(from, back, 100, 0) == CARILLON_NOT_NOW);
    EXPECT_ERROR(carillon_ring_pop(from, back, 100, 1000000), CARILLON_TIMEOUT, "no message");
    EXPECT_OK(carillon_ring_end_push(sends, message, 100));
    EXPECT_OK(carillon_ring_pop_n(from, back, 100, 3, &done));
    EXPECT(done == 1);
    EXPECT_ERROR(carillon_ring_push(to, message, 99, 0, 0), CARILLON_USAGE, "99 bytes");
    EXPECT_ERROR(carillon_ring_pop(to, message, 100, 0), CARILLON_USAGE, "this side sends");
    EXPECT_ERROR(carillon_ring_end_push(takes, message, 100), CARILLON_USAGE, "this side takes");
    carillon_ring_close(&to); /* its end keeps the memory */
    EXPECT_OK(carillon_ring_end_pop(takes, back, 100));
    carillon_ring_close(&from);
    carillon_ring_end_close(&takes);
    carillon_ring_end_close(&sends);
}

static void others_are_served(carillon_device* device) {
    char folder[] = "/tmp/carillon-c-XXXXXX";
    char path[64];
    EXPECT(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/kernel.sock", folder);
    uint64_t served = 0;
    carillon_kernel_options options = options_of(&served);
    carillon_kernel* kernel = NULL;
    carillon_server* server = NULL;
    carillon_connection* connection = NULL;
    carillon_client* client = NULL;
    EXPECT_OK(carillon_kernel_start(device, &options, &kernel));
    EXPECT_ERROR(carillon_kernel_serve(kernel, path, NULL, &server), CARILLON_USAGE, "of_others");
    carillon_kernel_close(&kernel);
    options.for_others = 1;
    options.request.name = "Ask";
    EXPECT_OK(carillon_kernel_start(device, &options, &kernel));
    carillon_serve_options const as = {.size = sizeof(as), .name = "twice"};
    EXPECT_OK(carillon_kernel_serve(kernel, path, &as, &server));
    carillon_connect_options const how = {.size = sizeof(how), .name = "a test in C"};
    EXPECT_OK(carillon_connect(path, &how, &connection));
    int32_t process = 0;
    EXPECT_OK(carillon_connection_owner(connection, &process));
    EXPECT(process == (int32_t)getpid());
    uint32_t user = UINT32_MAX;
    EXPECT_OK(carillon_connection_owner_user(connection, &user));
    EXPECT(user == (uint32_t)geteuid());
    carillon_connection* none = NULL;
    uint32_t const other_user = user + 1;
    carillon_connect_options const whose = {.size = sizeof(whose), .owner_user = &other_user};
    EXPECT_ERROR(carillon_connect(path, &whose, &none), CARILLON_REFUSED, "wrong owner");
    carillon_type const type = {sizeof(ask), "Ask"};
    carillon_type const reply = {sizeof(told), NULL};
    carillon_type const other = {12, NULL};
    EXPECT_ERROR(carillon_connection_client(connection, "twice", other, reply, &client),
                 CARILLON_REFUSED, "Ask of 8 bytes, but the client's is bytes of 12");
    EXPECT(last_details().reason == CARILLON_REFUSAL_WRONG_TYPES);
    EXPECT_ERROR(carillon_connection_client(connection, NULL, type, reply, &client),
                 CARILLON_REFUSED, "there is no \"kernel\"");
    EXPECT(last_details().reason == CARILLON_REFUSAL_UNKNOWN_OBJECT);
    EXPECT_OK(carillon_connection_client(connection, "twice", type, reply, &client));
    carillon_object objects[2] = {{.size = SIZE_MAX / 16 * 8}}; /* bytes of before */
    size_t count = 0;
    EXPECT_ERROR(carillon_connection_objects(connection, objects, 2, &count), CARILLON_USAGE,
                 "set it to sizeof");
    objects[0].size = sizeof(objects[0]);
    EXPECT_OK(carillon_connection_objects(connection, objects, 2, &count));
    EXPECT(count == 1 && strcmp(objects[0].name, "twice") == 0);
    carillon_client* second = NULL;
    EXPECT_ERROR(carillon_connection_client(connection, "twice", type, reply, &second),
                 CARILLON_REFUSED, "");
    EXPECT(last_details().reason == CARILLON_REFUSAL_FULL);
    EXPECT(objects[0].emulated == 1 && objects[0].blocks == 1 && objects[0].clients == 1);
    EXPECT(objects[0].state == CARILLON_RUNNING && strcmp(objects[0].kind, "kernel") == 0);
    EXPECT_OK(carillon_connection_objects(connection, NULL, 0, &count));
    EXPECT(count == 1);
    carillon_ring* ring = NULL;
    EXPECT_ERROR(carillon_connection_ring(connection, "twice", type, CARILLON_TO_HOST, &ring),
                 CARILLON_REFUSED, "is a kernel");
    ask const asked = {4};
    told answer = {0, 0};
    EXPECT_OK(carillon_client_call(client, &asked, 8, &answer, 16, patience, 0));
    EXPECT(answer.twice == 8 && answer.served == 0);
    carillon_connection_close(&connection); /* its client stays */
    EXPECT_OK(carillon_client_call(client, &asked, 8, &answer, 16, patience, 0));
    carillon_server_close(&server); /* a thread of this process hears of it */
    carillon_status status = CARILLON_OK;
    for (int i = 0; i < 300000 && status == CARILLON_OK; ++i) {
        status = carillon_client_call(client, &asked, 8, &answer, 16, patience, 0);
        usleep(100);
    }
    EXPECT(status == CARILLON_OWNER_GONE);
    carillon_client_close(&client);
    carillon_kernel_close(&kernel);
    strcat(path, ".lock"); /* which an owner leaves */
    EXPECT(unlink(path) == 0 && rmdir(folder) == 0);
}

int main(void) {
    carillon_device* device = NULL;
    errors_have_names_and_texts();
    EXPECT_OK(carillon_device_open("emulated", &device));
    closed_handles_are_null(device);
    device_and_memory(device);
    kernel_answers(device);
    options_that_make_no_sense(device);
    calls_that_time_out(device);
    rings_both_ways(device);
    others_are_served(device);
    carillon_device_close(&device);
    EXPECT(device == NULL);
    puts("memory, kernels, clients and rings, on the emulated device");
    return 0;
}
