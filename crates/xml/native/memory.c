/* The allocator of both libraries: the system's allocator, behind a separate store of small pieces
 * for each thread. The tree of a message consists of about a hundred pieces of a few sizes, which
 * are allocated and released together. glibc caches only seven pieces of each size per thread; all
 * others take its slow path, which costs a fifth of the time for parsing and validating a small
 * message. */
#define _GNU_SOURCE
#include "shim.h"

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The size of the smallest kind of piece, and the increment from each kind to the next, as in
 * glibc. */
#define ROOM_MIN 24
#define ROOM_STEP 16
#define KINDS 16
#define ROOM_MAX (ROOM_MIN + (KINDS - 1) * ROOM_STEP)

/* The maximum number of pieces of each kind that a thread keeps: at most 600 KiB for all kinds
 * together. */
#define KEPT_MAX 256

struct piece {
    struct piece *next;
};

static _Thread_local struct {
    int is_open;
    uint16_t count[KINDS];
    struct piece *first[KINDS];
} store;

static pthread_key_t at_end;

/* The number of bytes that this thread has allocated but not released, by the sizes that the
 * system's allocator reports. Pieces that another thread releases distort the value, so a budget
 * counts from the value at its start. */
_Thread_local long shim_held_bytes;

/* Returns all pieces of the store to the system's allocator. */
static void close_store(void *unused) {
    (void)unused;
    store.is_open = 0;
    for (int kind = 0; kind < KINDS; kind++)
        while (store.first[kind] != NULL) {
            struct piece *piece = store.first[kind];
            store.first[kind] = piece->next;
            free(piece);
        }
    memset(store.count, 0, sizeof store.count);
}

int shim_memory_start(void) { return pthread_key_create(&at_end, close_store) == 0; }

/* Makes this thread keep released pieces until the thread ends. */
void shim_keep_pieces(void) {
#ifndef SHIM_PLAIN_MEMORY
    if (!store.is_open)
        store.is_open = pthread_setspecific(at_end, &store) == 0;
#endif
}

static void *from_store(size_t bytes) {
    if (bytes <= ROOM_MAX) {
        size_t kind = bytes <= ROOM_MIN ? 0 : (bytes - ROOM_MIN + ROOM_STEP - 1) / ROOM_STEP;
        struct piece *piece = store.first[kind];
        if (piece != NULL) {
            store.first[kind] = piece->next;
            store.count[kind]--;
            return piece;
        }
    }
    return malloc(bytes);
}

void *shim_allocate(size_t bytes) {
    void *made = from_store(bytes);
    shim_held_bytes += (long)malloc_usable_size(made);
    return made;
}

void *shim_reallocate(void *old, size_t bytes) {
    long before = (long)malloc_usable_size(old);
    void *made = realloc(old, bytes);
    if (made != NULL)
        shim_held_bytes += (long)malloc_usable_size(made) - before;
    return made;
}

void shim_release(void *old) {
    size_t room;
    if (old == NULL)
        return;
    room = malloc_usable_size(old);
    shim_held_bytes -= (long)room;
    if (store.is_open && room >= ROOM_MIN && room < ROOM_MAX + ROOM_STEP) {
        size_t kind = (room - ROOM_MIN) / ROOM_STEP;
        if (store.count[kind] < KEPT_MAX) {
            struct piece *piece = old;
            piece->next = store.first[kind];
            store.first[kind] = piece;
            store.count[kind]++;
            return;
        }
    }
    free(old);
}
