/* What the store's tests share: a store in a folder of its own on a real disk, a
 * way to ask it one thing and wait, and rows that look like real ones. */
#ifndef RECIBO_TESTS_STORE_FIXTURE_H
#define RECIBO_TESTS_STORE_FIXTURE_H

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "store/store.h"
#include "tests/lib/testlib.h"

#define FIXTURE_ARENA_BYTES ((size_t)16 << 20)
#define FIXTURE_NOW_MS      1700000000000

struct fixture {
    struct store_options options;
    struct store *store;
    struct store_inbox *inbox;
    struct arena *arena;
    char folder[300];
    char path[340];
};

static inline void fixture_open(struct fixture *f)
{
    struct gw_error err = {0};
    enum gw_status status = store_open(&f->options, &f->store, &err);
    if (status != GW_OK)
        fail_msg("store_open: %s", err.text);
}

/* The working directory is the build's: a disk, not memory. */
static inline void fixture_init(struct fixture *f, const char *kind)
{
    struct gw_error err = {0};
    char here[256];
    memset(f, 0, sizeof(*f));
    assert_non_null(getcwd(here, sizeof(here)));
    (void)snprintf(f->folder, sizeof(f->folder), "%s/store-XXXXXX", here); /* fits */
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->path, sizeof(f->path), "%s/receipts.db", f->folder); /* fits */
    store_options_default(&f->options);
    f->options.kind = kind;
    f->options.path = f->path;
    assert_int_equal(store_inbox_new(&f->inbox, &err), GW_OK);
    f->arena = arena_new(FIXTURE_ARENA_BYTES);
    assert_non_null(f->arena);
}

static inline void fixture_close(struct fixture *f)
{
    store_close(f->store);
    f->store = NULL;
}

static inline void fixture_fini(struct fixture *f)
{
    fixture_close(f);
    store_inbox_free(f->inbox);
    arena_free(f->arena);
    DIR *dir = opendir(f->folder);
    assert_non_null(dir);
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        (void)unlinkat(dirfd(dir), entry->d_name, 0); /* fails for the two dots */
    (void)closedir(dir);
    assert_int_equal(rmdir(f->folder), 0);
}

static inline void fixture_count(struct store_op *op, void *ctx)
{
    uint32_t *left = ctx;
    assert_true(*left > 0);
    assert_null(op->next);
    (*left)--;
}

/* Runs done() callbacks until `left` is 0. */
static inline void fixture_wait(struct store_inbox *inbox, const uint32_t *left)
{
    while (*left > 0) {
        struct pollfd ready = {.fd = store_inbox_fd(inbox), .events = POLLIN};
        int rc = poll(&ready, 1, 60000);
        if (rc < 0 && errno == EINTR)
            continue;
        assert_int_equal(rc, 1);
        store_inbox_drain(inbox);
    }
}

static inline void fixture_send(struct fixture *f, struct store_op *op, uint32_t *left)
{
    op->arena = op->arena == NULL ? f->arena : op->arena;
    op->inbox = f->inbox;
    op->done = fixture_count;
    op->ctx = left;
    (*left)++;
    assert_int_equal(store_submit(f->store, op), GW_OK);
}

/* Any outcome. */
static inline enum gw_status fixture_try(struct fixture *f, struct store_op *op)
{
    uint32_t left = 0;
    fixture_send(f, op, &left);
    fixture_wait(f->inbox, &left);
    return op->out.status;
}

static inline enum store_found fixture_ask(struct fixture *f, struct store_op *op)
{
    assert_int_equal(fixture_try(f, op), GW_OK);
    return op->out.found;
}

static inline void fixture_assert_span(struct span have, struct span wanted)
{
    assert_int_equal(have.len, wanted.len);
    if (wanted.len > 0)
        assert_memory_equal(have.ptr, wanted.ptr, wanted.len);
}
#define assert_span(have, wanted) fixture_assert_span(have, wanted)

/* A packed answer or request with this body. */
static inline struct span fixture_message(struct fixture *f, struct span body)
{
    struct http_field field = {SPAN("Content-Type"), SPAN("text/plain")};
    struct stored_message message = {.status = 201,
                                     .body_kept = true,
                                     .body_bytes = body.len,
                                     .fields = &field,
                                     .field_count = 1,
                                     .body = body};
    struct gw_buf buf;
    struct span packed;
    gw_buf_init(&buf, FIXTURE_ARENA_BYTES);
    assert_true(message_encode(&buf, &message));
    assert_true(arena_copy(f->arena, gw_buf_span(&buf), &packed));
    gw_buf_fini(&buf);
    return packed;
}

static inline struct span fixture_labels(struct fixture *f, const char *name, const char *value)
{
    struct label label = {span_str(name), span_str(value)};
    struct gw_buf buf;
    struct span packed;
    gw_buf_init(&buf, 4096);
    assert_true(labels_encode(&buf, &label, 1));
    assert_true(arena_copy(f->arena, gw_buf_span(&buf), &packed));
    gw_buf_fini(&buf);
    return packed;
}

/* A claimed receipt with this key; the number makes its operation id and token. */
static inline struct store_row fixture_row(struct fixture *f, const char *key, unsigned number)
{
    struct store_row row = {
        .owner = SPAN("acme"),
        .scope = SPAN("orders"),
        .route = SPAN("create-order"),
        .receipt = {.state = RECEIPT_CLAIMED,
                    .attempt = 1,
                    .version = 1,
                    .token = 1000 + (uint64_t)number,
                    .lease_until_ms = FIXTURE_NOW_MS + 30000},
        .print_mode = SPAN("json"),
        .method = SPAN("POST"),
        .target = SPAN("/orders"),
        .created_ms = FIXTURE_NOW_MS,
        .updated_ms = FIXTURE_NOW_MS,
    };
    assert_true(arena_copy(f->arena, span_str(key), &row.key));
    (void)snprintf(row.operation_id, sizeof(row.operation_id), "op_%026u", number); /* fits */
    store_identity(row.owner, row.scope, row.key, &row.identity);
    return row;
}

static inline struct store_op fixture_claim(const struct store_row *row)
{
    return (struct store_op){.kind = STORE_CLAIM, .in.claim = {.row = row}};
}

static inline struct store_op fixture_advance(const struct store_row *from,
                                              const struct store_row *next)
{
    return (struct store_op){
        .kind = STORE_ADVANCE,
        .in.advance = {.id = from->id, .expect_version = from->receipt.version, .next = next}};
}

static inline struct store_op fixture_lookup(const struct store_row *row, uint32_t load)
{
    return (struct store_op){.kind = STORE_LOOKUP,
                             .in.lookup = {.identity = row->identity,
                                           .owner = row->owner,
                                           .scope = row->scope,
                                           .key = row->key,
                                           .load = load}};
}

/* Claims and returns the row as the store now has it. */
static inline struct store_row fixture_put(struct fixture *f, const struct store_row *row)
{
    struct store_op op = fixture_claim(row);
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_int_equal(op.out.row_count, 1);
    return op.out.rows[0];
}

/* The same row one version on, in another state and with the times that fit it. */
static inline struct store_row fixture_step(const struct store_row *from, enum receipt_state state)
{
    struct store_row next = *from;
    next.receipt.version++;
    next.receipt.state = state;
    next.receipt.lease_until_ms = receipt_is_leased(state) ? FIXTURE_NOW_MS + 30000 : 0;
    next.receipt.due_ms = state == RECEIPT_DEFERRED ? FIXTURE_NOW_MS + 1000 : 0;
    next.receipt.expire_ms = 0;
    next.updated_ms++;
    return next;
}

/* Advances and returns the row as the store now has it. */
static inline struct store_row fixture_move(struct fixture *f, const struct store_row *from,
                                            const struct store_row *next)
{
    struct store_op op = fixture_advance(from, next);
    op.in.advance.set_answer = next->answer.len > 0;
    op.in.advance.set_request = next->request.len > 0;
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_int_equal(op.out.row_count, 1);
    return op.out.rows[0];
}

/* What cmocka calls before and after each test; the initial state names the backend. */
static inline int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    fixture_init(f, *state == NULL ? "sqlite" : (const char *)*state);
    fixture_open(f);
    *state = f;
    return 0;
}

static inline int fixture_teardown(void **state)
{
    fixture_fini(*state);
    free(*state);
    return 0;
}

/* One test, once with each backend. */
#define BOTH(test)                                                                                 \
    {"sqlite: " #test, test, fixture_setup, fixture_teardown, (void *)(uintptr_t) "sqlite"},       \
    {                                                                                              \
        "memory: " #test, test, fixture_setup, fixture_teardown, (void *)(uintptr_t) "memory"      \
    }

#endif
