/* SPDX-License-Identifier: Apache-2.0 */
/* Carillon's C API, for C programs and languages that call C (docs/c.md): devices and their memory,
 * rings and clients whose messages are bytes, mailboxes, rings of chunks, emulated kernels, kernels
 * of other processes, and buffers that processes share.
 *
 * Calls return a status: CARILLON_OK, CARILLON_NOT_NOW instead of waiting, or an error;
 * carillon_last_error() returns its text to the same thread. Handles are opaque. A call that opens
 * a handle stores it through its last argument. A call that closes a handle takes its address and
 * stores NULL there, so that a later use is an error. Closing a NULL handle does nothing.
 *
 * Structs begin with their size: set it to sizeof of the struct. Set unused members to 0, the
 * default of every member. A newer library takes members that your struct lacks for 0.
 *
 * Times are in nanoseconds; each wait has a timeout. Messages are copied before a call returns. One
 * thread at a time uses a client, a ring, a mailbox, an end, a buffer that is not sealed, or a
 * handle that waits for buffers, and claims the chunks of a ring. Any threads may make all other
 * calls at once. */
/* NOLINTBEGIN(modernize-use-using, modernize-deprecated-headers): C, and C++ alike */
#ifndef CARILLON_H
#define CARILLON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

#define CARILLON_VERSION 100 /* 10000 major + 100 minor + patch */

typedef int32_t carillon_status;
enum {
    CARILLON_OK = 0,
    CARILLON_NOT_NOW = 1, /* no room, no message or no reply yet: try again */
    CARILLON_USAGE = -1,  /* a bad argument, or a wrong state */
    CARILLON_FORKED = -2, /* the object belongs to the parent process */
    CARILLON_NO_DEVICE = -3,
    CARILLON_UNSUPPORTED = -4,
    CARILLON_OUT_OF_MEMORY = -5,
    CARILLON_RESIDENCY = -6,  /* more blocks than can be resident */
    CARILLON_TIMEOUT = -7,    /* the details say whether a request was sent */
    CARILLON_STOPPED = -8,    /* the kernel accepts no more requests */
    CARILLON_OWNER_GONE = -9, /* the owner's process has ended */
    CARILLON_REFUSED = -10,   /* the owner refused; carillon_last_error_details has the reason */
    CARILLON_HANDLER = -11,   /* a handler refused a command; the details have its code */
    CARILLON_FORMAT = -12,
    CARILLON_PROTOCOL = -13,
    CARILLON_SYSTEM = -14, /* carillon_last_error_number(): errno */
    CARILLON_CUDA = -15,   /* a CUresult */
    CARILLON_FAULT = -16,  /* a CUresult: the context is unusable */
    CARILLON_VULKAN = -17, /* a VkResult */
    CARILLON_OTHER = -18,
    CARILLON_COMPILE = -19 /* a handler does not compile */
};

/* The reason for which the owner of a kernel or a store refused, with CARILLON_REFUSED. */
typedef int32_t carillon_refusal;
enum {
    CARILLON_REFUSAL_NONE = 0, /* the error is no refusal */
    CARILLON_REFUSAL_OTHER = 1,
    CARILLON_REFUSAL_VERSION = 2, /* the two sides' versions differ */
    CARILLON_REFUSAL_UNKNOWN_OBJECT = 3,
    CARILLON_REFUSAL_WRONG_TYPES = 4,
    CARILLON_REFUSAL_NOT_ALLOWED = 5, /* for this user */
    CARILLON_REFUSAL_FULL = 6,        /* every block has a client; the store has no room */
    CARILLON_REFUSAL_TOO_MANY_OF_CLIENT = 7,
    CARILLON_REFUSAL_STOPPING = 8, /* the kernel drains, was stopped or has failed */
    CARILLON_REFUSAL_BAD_MESSAGE = 9,
    CARILLON_REFUSAL_NAME_TAKEN = 10,
    CARILLON_REFUSAL_NOT_SEALED = 11,
    CARILLON_REFUSAL_WRONG_OWNER = 12 /* a user other than `owner_user` listens at the path */
};

/* Details of an error. Members that do not apply to the error are 0. */
typedef struct carillon_error_details {
    size_t size;
    carillon_status status;
    int sent; /* CARILLON_TIMEOUT: 1 if the request was sent. It may still be served: if you
               * send it again, it may be served twice. */
    carillon_refusal reason; /* CARILLON_REFUSED */
    int ended_kernel;        /* 1: this error ended the kernel; every later call returns it */
    int64_t code;            /* CARILLON_HANDLER: the handler's code; errno, CUresult, VkResult */
    uint32_t asked;          /* CARILLON_RESIDENCY: blocks of the launch */
    uint32_t fit;            /* CARILLON_RESIDENCY: blocks for which there was room */
    char call[64];           /* the call of this header that failed */
    char code_name[64];      /* the name of errno, a CUresult or a VkResult */
} carillon_error_details;

typedef struct carillon_device carillon_device;
typedef struct carillon_memory carillon_memory;
typedef struct carillon_ring carillon_ring;
typedef struct carillon_ring_end carillon_ring_end;
typedef struct carillon_client carillon_client;
typedef struct carillon_kernel carillon_kernel;
typedef struct carillon_server carillon_server;
typedef struct carillon_connection carillon_connection;
typedef struct carillon_mailbox carillon_mailbox;
typedef struct carillon_mailbox_end carillon_mailbox_end;
typedef struct carillon_chunk_ring carillon_chunk_ring;
typedef struct carillon_chunk_ring_end carillon_chunk_ring_end;
typedef struct carillon_chunk carillon_chunk;
typedef struct carillon_store carillon_store;
typedef struct carillon_store_server carillon_store_server;
typedef struct carillon_store_events carillon_store_events;
typedef struct carillon_store_sealed carillon_store_sealed;
typedef struct carillon_buffer carillon_buffer;

/* The library's version; CARILLON_VERSION is this header's. */
uint32_t carillon_version(void);
/* Returns "CARILLON_OK", and so on; "unknown" for a number that is no status. */
char const* carillon_status_name(carillon_status status);
/* Return this thread's last error: its text "<call of this header>: <cause>", and its number from
 * the system or a driver, or 0. The text is empty before the first error, and valid until the next.
 */
char const* carillon_last_error(void);
int carillon_last_error_number(void);
/* Gets details of this thread's last error; the status is CARILLON_OK before the first error. */
carillon_status carillon_last_error_details(carillon_error_details* details);

/* Devices. */

typedef struct carillon_device_info {
    size_t size;
    int emulated;       /* 1: threads of this CPU, whose timings say nothing about a GPU */
    int coherent;       /* 1: flush and invalidate need no driver call */
    uint64_t atom_size; /* bytes; flushed and invalidated ranges are widened to it */
    char name[128];
    char selector[64];      /* opens this device again */
    char uuid[64];          /* "GPU-...", empty for the emulated device */
    char memory_source[16]; /* "vulkan", "dma-buf", "gdrcopy", "host" or "memfd" */
} carillon_device_info;

/* Opens a device. `selector`: "best", the first GPU or else the emulated device; "cuda:0";
 * "cuda:0:host"; "GPU-<uuid>"; "current", the GPU of this thread's CUDA context; "emulated";
 * "emulated:vulkan". NULL: "best". */
carillon_status carillon_device_open(char const* selector, carillon_device** device);
void carillon_device_close(carillon_device** device);
carillon_status carillon_device_get_info(carillon_device const* device, carillon_device_info* info);

/* Memory. It keeps its device open. */

typedef int32_t carillon_memory_kind;
enum {
    CARILLON_MEMORY_DEVICE = 0,     /* device memory, mapped into the CPU */
    CARILLON_MEMORY_HOST = 1,       /* pinned host memory */
    CARILLON_MEMORY_SHARED_HOST = 2 /* pinned host memory with a descriptor for other processes */
};

typedef struct carillon_memory_info {
    size_t size;
    void* host;   /* usually write-combining: write it in order, do not read it */
    void* device; /* the device's address */
    uint64_t bytes;
    uint64_t atom_size;
    int coherent;
} carillon_memory_info;

/* Allocates `bytes` bytes, at least 1, which are 0 at first. */
carillon_status carillon_memory_allocate(carillon_device const* device, uint64_t bytes,
                                         carillon_memory_kind kind, carillon_memory** memory);
void carillon_memory_free(carillon_memory** memory);
carillon_status carillon_memory_get_info(carillon_memory const* memory, carillon_memory_info* info);
/* Copy by the CPU, from byte `offset` of the memory on. The reader of a message sent later with
 * `out_of_line` sees the bytes that were written to the device. CARILLON_USAGE: a range outside the
 * memory. */
carillon_status carillon_memory_write(carillon_memory const* memory, uint64_t offset,
                                      void const* from, uint64_t bytes);
carillon_status carillon_memory_read(carillon_memory const* memory, uint64_t offset, void* to,
                                     uint64_t bytes);
/* Flush after writes through the host's address; invalidate before reads through it. */
carillon_status carillon_memory_flush(carillon_memory const* memory, uint64_t offset,
                                      uint64_t bytes);
carillon_status carillon_memory_invalidate(carillon_memory const* memory, uint64_t offset,
                                           uint64_t bytes);
/* Gets a descriptor by which another process can map the memory; the caller closes it. */
carillon_status carillon_memory_export_fd(carillon_memory const* memory, int* descriptor);

/* Connections to another process that owns a kernel or other objects. */

typedef struct carillon_connect_options {
    size_t size;
    /* This client's name for the owner, 1 to 63 characters; NULL: the program's name. */
    char const* name;
    int64_t timeout_ns; /* for connecting, and for each call that asks the owner; 0: 5 s */
    /* How long a call tries again while no owner listens, while the owner has no room, and while it
     * does not serve the object yet. */
    int64_t wait_for_owner_ns;
    int host_memory; /* 1: put rings into host memory, without Vulkan */
    /* The user that must own the listener, all others are refused; NULL: this user, or root. */
    uint32_t const* owner_user;
} carillon_connect_options;

typedef int32_t carillon_state;
enum {
    CARILLON_STARTING = 0,
    CARILLON_RUNNING = 1,
    CARILLON_DRAINING = 2,
    CARILLON_ENDED = 3,
    CARILLON_FAILED = 4
};

typedef struct carillon_object {
    size_t size;
    char name[64];
    char kind[32]; /* "kernel", "ring to the device", ... */
    carillon_state state;
    int emulated;
    uint32_t blocks;
    uint32_t clients; /* clients that have a block */
} carillon_object;

/* `options` may be NULL, here and below. */
carillon_status carillon_connect(char const* path, carillon_connect_options const* options,
                                 carillon_connection** connection);
/* Objects made from the connection stay connected until they are closed. */
void carillon_connection_close(carillon_connection** connection);
/* Lists the first `room` objects that the owner serves. Set the size of each of `objects`; `count`
 * gets the number of all. */
carillon_status carillon_connection_objects(carillon_connection const* connection,
                                            carillon_object* objects, size_t room, size_t* count);
/* Gets the owner's process id, or CARILLON_OWNER_GONE once the process has ended. */
carillon_status carillon_connection_owner(carillon_connection const* connection, int32_t* process);
/* Gets the owner's user, according to the system. */
carillon_status carillon_connection_owner_user(carillon_connection const* connection,
                                               uint32_t* user);

/* A message type: 1 to 1024 bytes; 1 to 4096 for a mailbox, 0 to 40 beside a chunk. The size is
 * compared with the owner's, and the name if both sides give one. The name has C++'s form,
 * "desk::Tick", in UTF-8 without control characters. */
typedef struct carillon_type {
    uint32_t bytes;
    char const* name; /* NULL: not given */
} carillon_type;

/* Kernels of this process on the emulated device. */

/* Writes the reply to a request; its bytes are initially 0. Each block calls it in its own thread.
 * It must return: no exception, longjmp or pthread_exit may leave it. */
typedef void (*carillon_handler)(void* user, void const* request, void* reply);

typedef int32_t carillon_idle;
enum {
    CARILLON_IDLE_PARK = 0, /* after a while sleeps up to 0.2 ms between polls */
    CARILLON_IDLE_BACKOFF = 1,
    CARILLON_IDLE_SPIN = 2
};

typedef struct carillon_kernel_options {
    size_t size;
    carillon_type request;
    carillon_type reply;
    carillon_handler handler;
    void* user;
    uint32_t blocks;   /* 0: 1 */
    uint32_t capacity; /* slots of a channel each way, a power of two from 2 to 2^20; 0: 256 */
    carillon_idle idle;
    int for_others;          /* 1: only for clients of other processes (carillon_kernel_serve) */
    int64_t stop_timeout_ns; /* how long closing waits for the handler; 0: 5 s */
} carillon_kernel_options;

/* Starts a kernel and returns when every block runs. CARILLON_UNSUPPORTED: the device is a GPU. */
carillon_status carillon_kernel_start(carillon_device const* device,
                                      carillon_kernel_options const* options,
                                      carillon_kernel** kernel);
/* Stops the kernel, waiting at most `stop_timeout_ns`; its clients get CARILLON_STOPPED. */
void carillon_kernel_close(carillon_kernel** kernel);
carillon_status carillon_kernel_get_state(carillon_kernel const* kernel, carillon_state* state);
/* Takes no more requests, and ends the kernel once it has answered all accepted ones.
 * CARILLON_TIMEOUT: some are unanswered; the kernel goes on draining. */
carillon_status carillon_kernel_drain(carillon_kernel* kernel, int64_t timeout_ns);
/* Ends the kernel; requests that it has not taken stay unanswered. CARILLON_TIMEOUT: it has not
 * ended yet; stop it again or close it. */
carillon_status carillon_kernel_stop(carillon_kernel* kernel, int64_t timeout_ns);

typedef struct carillon_serve_options {
    size_t size;
    char const* name; /* the name that clients ask for, 1 to 63 characters; NULL: "kernel" */
    uint32_t mode;    /* permissions of the socket; 0: 0600 */
} carillon_serve_options;

/* Serves a kernel with `for_others` at a Unix socket that it makes at `path`. */
carillon_status carillon_kernel_serve(carillon_kernel const* kernel, char const* path,
                                      carillon_serve_options const* options,
                                      carillon_server** server);
void carillon_server_close(carillon_server** server);

/* Clients: use each in one thread at a time. */

typedef struct carillon_ticket {
    uint64_t issuer;
    uint64_t number;
} carillon_ticket;

typedef struct carillon_client_info {
    size_t size;
    uint32_t request_bytes;
    uint32_t reply_bytes;
    uint32_t capacity;  /* most outstanding requests */
    uint32_t depth;     /* outstanding requests now */
    uint64_t submitted; /* requests sent */
    uint64_t answered;  /* requests whose reply the kernel has written */
    uint64_t taken;     /* replies taken out of the reply ring */
    uint64_t dropped;   /* requests whose reply was given up */
    uint64_t stalls;    /* requests, or rows of requests, that found the ring full */
} carillon_client_info;

/* Opens the channel of a block of this process's kernel. Two handles for one block share it. */
carillon_status carillon_kernel_client(carillon_kernel* kernel, uint32_t block,
                                       carillon_client** client);
/* Opens a channel to the kernel that another process serves as `object`; NULL: "kernel". */
carillon_status carillon_connection_client(carillon_connection const* connection,
                                           char const* object, carillon_type request,
                                           carillon_type reply, carillon_client** client);
void carillon_client_close(carillon_client** client);
carillon_status carillon_client_get_info(carillon_client const* client, carillon_client_info* info);
/* Sends a request and waits for its reply: one round trip. The sizes are compared with the
 * channel's. Set `out_of_line` to 1 if the request refers to device memory that this thread has
 * written. CARILLON_TIMEOUT: the error's details say whether the request was sent;
 * CARILLON_STOPPED; CARILLON_OWNER_GONE; or the error that ended the kernel. */
carillon_status carillon_client_call(carillon_client* client, void const* request,
                                     size_t request_bytes, void* reply, size_t reply_bytes,
                                     int64_t timeout_ns, int out_of_line);
/* Calls a kernel whose handler has a table of commands. `opcode` names the command: by default its
 * position in the table, from 0. The channel's messages are 4 bytes longer than the largest command
 * and the largest reply, in whole words. CARILLON_HANDLER: the handler refused the command; the
 * error's details have its code. */
carillon_status carillon_client_command(carillon_client* client, uint32_t opcode,
                                        void const* command, size_t command_bytes, void* reply,
                                        size_t reply_bytes, int64_t timeout_ns, int out_of_line);
/* Sends a request, and gets a ticket for its reply, valid once. With timeout 0 it does not wait for
 * room but returns CARILLON_NOT_NOW. */
carillon_status carillon_client_submit(carillon_client* client, void const* request,
                                       size_t request_bytes, int64_t timeout_ns, int out_of_line,
                                       carillon_ticket* ticket);
/* Sends the first of `count` requests, as many as there is room for. `ticket` gets the first one's
 * ticket; the others have the following numbers. `sent` gets the number of sent requests.
 * CARILLON_NOT_NOW: there was room for none. */
carillon_status carillon_client_submit_n(carillon_client* client, void const* requests,
                                         size_t request_bytes, size_t count, int out_of_line,
                                         carillon_ticket* ticket, size_t* sent);
/* Takes the reply. With timeout 0 it does not wait but returns CARILLON_NOT_NOW, or the error that
 * ended the kernel or its owner once that is known. After a timeout the ticket stays valid. */
carillon_status carillon_client_take(carillon_client* client, carillon_ticket ticket, void* reply,
                                     size_t reply_bytes, int64_t timeout_ns);
/* Drops the reply when it arrives. CARILLON_USAGE: see carillon_client_take. */
carillon_status carillon_client_abandon(carillon_client* client, carillon_ticket ticket);
/* Loads the code and data of a call into the caches: for the loop that waits for the next event. */
carillon_status carillon_client_warm(carillon_client* client);

/* Rings: use each end in one thread at a time. */

typedef int32_t carillon_direction;
enum { CARILLON_TO_DEVICE = 0, CARILLON_TO_HOST = 1 };

typedef struct carillon_ring_info {
    size_t size;
    uint32_t message_bytes;
    uint32_t capacity;
    carillon_direction direction;
} carillon_ring_info;

/* Makes a ring of messages of 1 to 1024 bytes. `capacity`: slots, a power of two from 2 to 2^20;
 * 0: 256. */
carillon_status carillon_ring_create(carillon_device const* device, uint32_t message_bytes,
                                     carillon_direction direction, uint32_t capacity,
                                     carillon_ring** ring);
/* Opens the host's end of a ring that another process shares. */
carillon_status carillon_connection_ring(carillon_connection const* connection, char const* object,
                                         carillon_type type, carillon_direction direction,
                                         carillon_ring** ring);
void carillon_ring_close(carillon_ring** ring);
carillon_status carillon_ring_get_info(carillon_ring const* ring, carillon_ring_info* info);
/* Push waits for room, pop for a message. With timeout 0 neither waits; both return
 * CARILLON_NOT_NOW instead. CARILLON_USAGE: a ring of the other direction, or another size. */
carillon_status carillon_ring_push(carillon_ring* ring, void const* message, size_t bytes,
                                   int64_t timeout_ns, int out_of_line);
carillon_status carillon_ring_pop(carillon_ring* ring, void* message, size_t bytes,
                                  int64_t timeout_ns);
/* Push or pop the first of `count` messages, as many as possible; `done` gets their number.
 * CARILLON_NOT_NOW: none. */
carillon_status carillon_ring_push_n(carillon_ring* ring, void const* messages, size_t bytes,
                                     size_t count, int out_of_line, size_t* done);
carillon_status carillon_ring_pop_n(carillon_ring* ring, void* messages, size_t bytes, size_t count,
                                    size_t* done);
/* Opens the device's end on the emulated device, once, for a thread that stands in for a kernel. */
carillon_status carillon_ring_emulated_end(carillon_ring* ring, carillon_ring_end** end);
void carillon_ring_end_close(carillon_ring_end** end);
/* Neither waits; both return CARILLON_NOT_NOW instead. */
carillon_status carillon_ring_end_push(carillon_ring_end* end, void const* message, size_t bytes);
carillon_status carillon_ring_end_pop(carillon_ring_end* end, void* message, size_t bytes);

/* Mailboxes: only the latest value counts. Use each end in one thread at a time; none waits. */

typedef struct carillon_mailbox_info {
    size_t size;
    uint32_t value_bytes;
    carillon_direction direction;
} carillon_mailbox_info;

/* Makes a mailbox. `initial`, of `bytes` bytes, is the first value that readers find. `capacity` is
 * the number of values in memory at once, a power of two from 2 to 2^20; 0: 4. */
carillon_status carillon_mailbox_create(carillon_device const* device, void const* initial,
                                        size_t bytes, carillon_direction direction,
                                        uint32_t capacity, carillon_mailbox** mailbox);
/* Opens the host's end of a mailbox that another process shares. */
carillon_status carillon_connection_mailbox(carillon_connection const* connection,
                                            char const* object, carillon_type type,
                                            carillon_direction direction,
                                            carillon_mailbox** mailbox);
void carillon_mailbox_close(carillon_mailbox** mailbox);
carillon_status carillon_mailbox_get_info(carillon_mailbox const* mailbox,
                                          carillon_mailbox_info* info);
/* Sets the value. CARILLON_USAGE: a mailbox to the host, or another size. */
carillon_status carillon_mailbox_set(carillon_mailbox* mailbox, void const* value, size_t bytes,
                                     int out_of_line);
/* Gets the latest value; CARILLON_NOT_NOW if none is newer than the last one read. */
carillon_status carillon_mailbox_refresh(carillon_mailbox* mailbox, void* value, size_t bytes);
/* Opens the device's end on the emulated device: any number of reading ends, one setting end. */
carillon_status carillon_mailbox_emulated_end(carillon_mailbox* mailbox,
                                              carillon_mailbox_end** end);
void carillon_mailbox_end_close(carillon_mailbox_end** end);
carillon_status carillon_mailbox_end_set(carillon_mailbox_end* end, void const* value,
                                         size_t bytes);
carillon_status carillon_mailbox_end_refresh(carillon_mailbox_end* end, void* value, size_t bytes);

/* Rings of chunks: large buffers that the CPU fills in place and a kernel reads. One thread at a
 * time claims; a chunk may go to another thread. */

typedef struct carillon_chunk_ring_info {
    size_t size;
    uint32_t meta_bytes;
    uint32_t chunks;
    uint64_t chunk_bytes;
} carillon_chunk_ring_info;

typedef struct carillon_chunk_info {
    size_t size;
    void* host; /* usually write-combining: write it in order, do not read it */
    uint64_t bytes;
    uint64_t sequence; /* from 1 in the order of claims */
} carillon_chunk_info;

/* A chunk that the device's end has taken. */
typedef struct carillon_taken_chunk {
    size_t size;
    void const* data;
    uint64_t bytes; /* bytes that the other side used */
    uint64_t sequence;
    unsigned char meta[40]; /* followed by zeros */
} carillon_taken_chunk;

/* Makes a ring with `meta_bytes`, 0 to 40, beside each chunk. `chunk_bytes`: at least 1, under
 * 4 GiB. `chunks`: a power of two from 2 to 2^20; 0: 16. */
carillon_status carillon_chunk_ring_create(carillon_device const* device, uint32_t meta_bytes,
                                           uint64_t chunk_bytes, uint32_t chunks,
                                           carillon_chunk_ring** ring);
/* Opens a ring that another process shares; `meta` has 0 bytes if chunks have no metadata. */
carillon_status carillon_connection_chunk_ring(carillon_connection const* connection,
                                               char const* object, carillon_type meta,
                                               carillon_chunk_ring** ring);
/* Claimed chunks keep the ring alive. */
void carillon_chunk_ring_close(carillon_chunk_ring** ring);
carillon_status carillon_chunk_ring_get_info(carillon_chunk_ring const* ring,
                                             carillon_chunk_ring_info* info);
/* Claims the next chunk. With timeout 0 it does not wait but returns CARILLON_NOT_NOW. */
carillon_status carillon_chunk_ring_claim(carillon_chunk_ring* ring, int64_t timeout_ns,
                                          carillon_chunk** chunk);
carillon_status carillon_chunk_get_info(carillon_chunk const* chunk, carillon_chunk_info* info);
/* Copies `from` into the chunk, from byte `offset` on. */
carillon_status carillon_chunk_fill(carillon_chunk const* chunk, uint64_t offset, void const* from,
                                    uint64_t bytes);
/* Pushes this thread's writes out; call it if another thread commits the chunk. */
carillon_status carillon_chunk_flush(carillon_chunk const* chunk);
/* Hands over the first `used` bytes and closes the chunk, which stays open after an error. */
carillon_status carillon_chunk_commit(carillon_chunk** chunk, uint64_t used, void const* meta,
                                      size_t meta_bytes);
/* Gives the chunk up: the kernel does not see it. */
void carillon_chunk_close(carillon_chunk** chunk);
/* Opens the device's end on the emulated device, once. */
carillon_status carillon_chunk_ring_emulated_end(carillon_chunk_ring* ring,
                                                 carillon_chunk_ring_end** end);
void carillon_chunk_ring_end_close(carillon_chunk_ring_end** end);
/* Takes the next chunk, which may be read until it is released, or returns CARILLON_NOT_NOW. */
carillon_status carillon_chunk_ring_end_take(carillon_chunk_ring_end* end,
                                             carillon_taken_chunk* chunk);
/* Gives back the chunk and all taken before; CARILLON_NOT_NOW if it is not taken. */
carillon_status carillon_chunk_ring_end_release(carillon_chunk_ring_end* end, uint64_t sequence);

/* Buffers that processes share (docs/guide/store.md): the maker of a buffer writes and seals it;
 * then any process may read it. Any thread may use a store and a sealed buffer. Only one thread at
 * a time uses a buffer up to carillon_buffer_seal. */

typedef struct carillon_store_options {
    size_t size;
    uint64_t bytes;   /* memory of all buffers; 0: 1 GiB */
    uint32_t buffers; /* most buffers at the same time; 0: 4096 */
    /* The number of threads that copy a buffer of 128 KiB or more to and from a GPU's memory; 0: 4;
     * 1: only the caller's. */
    uint64_t copy_threads;
} carillon_store_options;

typedef struct carillon_store_connect_options {
    size_t size;
    char const* name;           /* this client's name for the store; NULL: the program's name */
    int64_t timeout_ns;         /* for connecting, and for each call; 0: 5 s */
    int host_memory;            /* 1: make buffers in host memory */
    uint64_t copy_threads;      /* see carillon_store_options */
    int64_t wait_for_owner_ns;  /* see carillon_connect_options */
    uint32_t const* owner_user; /* see carillon_connect_options */
} carillon_store_connect_options;

typedef struct carillon_buffer_info {
    size_t size;
    uint64_t id;
    uint64_t bytes;
    void* host;   /* its bytes; read-only, at another address, after sealing */
    void* device; /* its address for kernels of this process; NULL: none */
    int sealed;
    int host_memory;
    char name[64];
} carillon_buffer_info;

/* A buffer in a list of buffers. */
typedef struct carillon_listed_buffer {
    size_t size;
    uint64_t id;
    uint64_t bytes;
    int sealed;
    uint32_t holders;
    int32_t process; /* the process that made it; 0 in another namespace */
    uint32_t user;
    char name[64];
} carillon_listed_buffer;

typedef struct carillon_sealed_buffer {
    size_t size;
    uint64_t id;
    uint64_t bytes;
    uint64_t missed; /* earlier buffers without an event */
    char name[64];
} carillon_sealed_buffer;

carillon_status carillon_store_create(carillon_device const* device,
                                      carillon_store_options const* options,
                                      carillon_store** store);
/* Connects to another process's store. */
carillon_status carillon_store_connect(char const* path,
                                       carillon_store_connect_options const* options,
                                       carillon_store** store);
/* Connects to the store of a connection's owner. */
carillon_status carillon_connection_store(carillon_connection const* connection,
                                          carillon_store** store);
/* Closes a store. Buffers that are held stay. */
void carillon_store_close(carillon_store** store);
/* Serves a store. `options`: see carillon_kernel_serve; the default name is "store". */
carillon_status carillon_store_serve(carillon_store const* store, char const* path,
                                     carillon_serve_options const* options,
                                     carillon_store_server** server);
void carillon_store_server_close(carillon_store_server** server);
/* Makes a buffer of `bytes` bytes, at least 1, to be written and sealed; closing it unsealed
 * deletes it. `name`: up to 63 characters; NULL: none. CARILLON_REFUSED: the name is taken, or the
 * store has no room. */
carillon_status carillon_store_make(carillon_store const* store, char const* name, uint64_t bytes,
                                    carillon_buffer** buffer);
/* Gets a sealed buffer, by its name or number. CARILLON_REFUSED: there is none, or it is not sealed
 * yet. */
carillon_status carillon_store_get(carillon_store const* store, char const* name,
                                   carillon_buffer** buffer);
carillon_status carillon_store_get_id(carillon_store const* store, uint64_t id,
                                      carillon_buffer** buffer);
/* Removes a buffer: from now on nobody can get it. */
carillon_status carillon_store_remove(carillon_store const* store, char const* name);
carillon_status carillon_store_remove_id(carillon_store const* store, uint64_t id);
/* Lists buffers, see carillon_connection_objects. */
carillon_status carillon_store_list(carillon_store const* store, carillon_listed_buffer* buffers,
                                    size_t room, size_t* count);
void carillon_buffer_close(carillon_buffer** buffer);
carillon_status carillon_buffer_get_info(carillon_buffer const* buffer, carillon_buffer_info* info);
/* Writes an unsealed buffer, from byte `offset` on. */
carillon_status carillon_buffer_write(carillon_buffer* buffer, uint64_t offset, void const* from,
                                      uint64_t bytes);
/* Reads a sealed buffer, from byte `offset` on. */
carillon_status carillon_buffer_read(carillon_buffer const* buffer, uint64_t offset, void* to,
                                     uint64_t bytes);
/* Makes the buffer immutable, so that others can get it. Its earlier addresses are invalid then. */
carillon_status carillon_buffer_seal(carillon_buffer* buffer);
/* Opens a handle that reports buffers sealed from now on. It owns the descriptor, for poll(). */
carillon_status carillon_store_events_open(carillon_store const* store,
                                           carillon_store_events** events);
void carillon_store_events_close(carillon_store_events** events);
carillon_status carillon_store_events_descriptor(carillon_store_events const* events,
                                                 int* descriptor);
/* Gets the next one if it comes within the timeout, or returns CARILLON_NOT_NOW. */
carillon_status carillon_store_events_next(carillon_store_events* events, int64_t timeout_ns,
                                           carillon_sealed_buffer* buffer);
/* Opens a handle that gets the buffers sealed from now on, see carillon_store_get. */
carillon_status carillon_store_sealed_open(carillon_store const* store,
                                           carillon_store_sealed** sealed);
void carillon_store_sealed_close(carillon_store_sealed** sealed);
carillon_status carillon_store_sealed_descriptor(carillon_store_sealed const* sealed,
                                                 int* descriptor);
/* Gets the next one if it comes within the timeout, or returns CARILLON_NOT_NOW. */
carillon_status carillon_store_sealed_next(carillon_store_sealed* sealed, int64_t timeout_ns,
                                           carillon_buffer** buffer);
/* Gets the number of skipped buffers: removed before the caller got them, or too many at once. */
carillon_status carillon_store_sealed_missed(carillon_store_sealed const* sealed, uint64_t* missed);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
/* NOLINTEND(modernize-use-using, modernize-deprecated-headers) */
