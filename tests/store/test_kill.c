/* A process that is killed in the middle of its work: whatever was reported is
 * there, and what was in flight is told from what is held. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/text.h"
#include "tests/store/fixture.h"

#define NOW_MS  FIXTURE_NOW_MS
#define CHAINS  8
#define ROUNDS  20
#define SPAN_OF 100000 /* operation numbers of one round */

/* One line of the victim's report, written as a whole. */
struct report {
    uint32_t number;
    uint32_t version; /* of the row; behind it what lies beside the row */
    uint32_t chain;
};
enum { VERSION_DONE = 3, VERSION_NOTED, VERSION_PLANNED, VERSION_OBSERVED };

struct chain {
    struct victim *victim;
    struct store_op op;
    struct store_row row;
    uint32_t number, version;
    struct audit_entry audit;
    struct plan_entry plan;
    struct observation seen;
};

struct victim {
    struct fixture f;
    struct arena *arenas[CHAINS];
    struct chain chains[CHAINS];
    uint32_t next_number;
    int report_fd;
};

static struct store_row row_of(struct fixture *f, uint32_t number)
{
    char key[16];
    (void)snprintf(key, sizeof(key), "k%u", number); /* fits */
    return fixture_row(f, key, number);
}

static struct span answer_of(struct fixture *f, uint32_t number)
{
    char text[2000];
    memset(text, 'a' + (int)(number % 26), sizeof(text));
    (void)snprintf(text, sizeof(text), "answer %u", number); /* fits */
    return fixture_message(f, span_of(text, sizeof(text)));
}

static void next_step(struct chain *chain);

/* Reports first, then goes on: what the parent has read, the store has said. */
static void on_done(struct store_op *op, void *ctx)
{
    struct chain *chain = ctx;
    if (op->out.status != GW_OK || op->out.found != STORE_WON)
        _exit(3);
    if (chain->version < VERSION_DONE)
        chain->row = op->out.rows[0];
    chain->version++;
    const struct report report = {chain->number, chain->version,
                                  (uint32_t)(chain - chain->victim->chains)};
    if (write(chain->victim->report_fd, &report, sizeof(report)) != (ssize_t)sizeof(report))
        _exit(4);
    next_step(chain);
}

static struct plan_entry plan_of(uint32_t chain, uint32_t number)
{
    struct plan_entry plan = {.state = PLAN_APPLYING, .created_ms = number, .count = 1};
    (void)snprintf(plan.plan_id, sizeof(plan.plan_id), "plan_%026u", chain); /* fits */
    return plan;
}

static struct audit_entry audit_of(const struct store_row *row)
{
    return (struct audit_entry){NOW_MS,    SPAN("a"), SPAN("comment"), span_str(row->operation_id),
                                SPAN("n"), SPAN("")};
}

static void change_row(struct chain *chain, struct fixture *f)
{
    struct store_row *next = arena_take(f->arena, sizeof(*next));
    if (chain->version == 0) {
        *next = row_of(f, chain->number);
        chain->op = fixture_claim(next);
        return;
    }
    bool is_claimed = chain->version == 1;
    *next = fixture_step(&chain->row, is_claimed ? RECEIPT_SENT : RECEIPT_COMPLETED);
    next->answer = is_claimed ? span_of("", 0) : answer_of(f, chain->number);
    chain->op = fixture_advance(&chain->row, next);
    chain->op.in.advance.set_answer = !is_claimed;
}

static void write_beside(struct chain *chain)
{
    struct victim *v = chain->victim;
    chain->audit = audit_of(&chain->row);
    chain->plan = plan_of((uint32_t)(chain - v->chains), chain->number);
    chain->seen = (struct observation){
        .at_ms = chain->number, .route = SPAN("r"), .identity = chain->row.identity};
    if (chain->version == VERSION_DONE)
        chain->op = (struct store_op){.kind = STORE_NOTE, .in.note = {.audit = &chain->audit}};
    else if (chain->version == VERSION_NOTED)
        chain->op = (struct store_op){.kind = STORE_PLAN_SET, .in.plan = {.entry = &chain->plan}};
    else
        chain->op = (struct store_op){.kind = STORE_OBSERVE, .in.observe = {&chain->seen, 1}};
}

/* Claim, sent, completed, then what lies beside; then the next operation. */
static void next_step(struct chain *chain)
{
    struct victim *v = chain->victim;
    struct fixture *f = &v->f;
    size_t at = (size_t)(chain - v->chains);
    if (chain->number == 0 || chain->version == VERSION_OBSERVED) {
        arena_free(v->arenas[at]);
        v->arenas[at] = arena_new((size_t)1 << 20);
        chain->number = v->next_number++;
        chain->version = 0;
    }
    f->arena = v->arenas[at];
    if (chain->version < VERSION_DONE)
        change_row(chain, f);
    else
        write_beside(chain);
    chain->op.arena = f->arena;
    chain->op.inbox = f->inbox;
    chain->op.done = on_done;
    chain->op.ctx = chain;
    if (store_submit(f->store, &chain->op) != GW_OK)
        _exit(5);
}

static uint64_t number_of(const char *text)
{
    uint64_t number = 0;
    if (!gw_parse_u64(span_str(text), &number))
        _exit(6);
    return number;
}

/* The victim never ends by itself. */
static int run_victim(const char *path, const char *report_fd, const char *first)
{
    struct victim v = {0};
    struct gw_error err;
    store_options_default(&v.f.options);
    v.f.options.path = path;
    v.f.options.checkpoint_frames = 50; /* so that some are killed in a checkpoint */
    v.report_fd = (int)number_of(report_fd);
    v.next_number = (uint32_t)number_of(first);
    if (store_open(&v.f.options, &v.f.store, &err) != GW_OK)
        return 2;
    if (store_inbox_new(&v.f.inbox, &err) != GW_OK)
        return 2;
    for (size_t i = 0; i < CHAINS; i++) {
        v.chains[i].victim = &v;
        next_step(&v.chains[i]);
    }
    const uint32_t forever = 1;
    fixture_wait(v.f.inbox, &forever);
    return 0;
}

/* Starts a victim; *ret_fd gets its reports. */
static pid_t start_victim(const struct fixture *f, uint32_t first, int *ret_fd)
{
    int ends[2];
    char fd[16], number[16];
    assert_int_equal(pipe(ends), 0);
    /* The victim must not hold it: it dies of a broken pipe if we are gone. */
    assert_int_equal(fcntl(ends[0], F_SETFD, FD_CLOEXEC), 0);
    (void)snprintf(fd, sizeof(fd), "%d", ends[1]);       /* fits */
    (void)snprintf(number, sizeof(number), "%u", first); /* fits */
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        execl("/proc/self/exe", "test_kill", "victim", f->path, fd, number, (char *)NULL);
        _exit(99);
    }
    (void)close(ends[1]); /* the victim's */
    *ret_fd = ends[0];
    return child;
}

/* What was reported in one round. */
struct told {
    uint32_t first;
    uint32_t *versions;       /* by number - first */
    uint32_t planned[CHAINS]; /* the last number of each chain */
};

/* Everything that comes; kills after `limit` reports. */
static uint32_t read_reports(int fd, pid_t victim, uint32_t limit, struct told *told)
{
    struct report report;
    uint32_t count = 0;
    ssize_t got;
    while ((got = read(fd, &report, sizeof(report))) > 0) {
        assert_int_equal(got, sizeof(report));
        assert_true(report.number >= told->first && report.number - told->first < SPAN_OF);
        uint32_t *version = &told->versions[report.number - told->first];
        assert_int_equal(report.version, *version + 1);
        *version = report.version;
        if (report.version == VERSION_PLANNED)
            told->planned[report.chain] = report.number;
        if (++count == limit)
            assert_int_equal(kill(victim, SIGKILL), 0);
    }
    assert_int_equal(got, 0);
    (void)close(fd); /* read to its end */
    return count;
}

static void check_operation(struct fixture *f, uint32_t number, uint32_t version)
{
    struct store_row row = row_of(f, number);
    struct store_op op = fixture_lookup(&row, LOAD_ANSWER);
    enum store_found found = fixture_ask(f, &op);
    if (found == STORE_NONE) {
        if (version > 0)
            fail_msg("operation %u was reported at version %u and is gone", number, version);
        return;
    }
    const struct store_row *there = op.out.rows;
    assert_true(there->receipt.version >= (version < VERSION_DONE ? version : VERSION_DONE));
    assert_true(there->receipt.version <= version + 1);
    assert_int_equal(there->lease_is_dead, receipt_is_leased(there->receipt.state));
    if (there->receipt.version == VERSION_DONE) {
        assert_int_equal(there->receipt.state, RECEIPT_COMPLETED);
        assert_span(there->answer, answer_of(f, number));
    }
}

/* The note of an operation and what was observed of it. */
static void check_beside(struct fixture *f, uint32_t number, uint32_t version)
{
    struct store_row row = row_of(f, number);
    struct store_op log = {.kind = STORE_AUDIT,
                           .in.find = {.operation_id = span_str(row.operation_id)}};
    struct store_op seen = {.kind = STORE_OBSERVED,
                            .in.observed = {.after_identity = row.identity, .rows_max = 2}};
    assert_int_equal(fixture_ask(f, &log), STORE_PAGE);
    assert_true(log.out.audit_count <= 1);
    if (version >= VERSION_NOTED)
        assert_int_equal(log.out.audit_count, 1);
    assert_int_equal(fixture_ask(f, &seen), STORE_PAGE);
    bool is_seen = seen.out.observed_count > 0 && seen.out.observed[0].at_ms == number;
    if (version >= VERSION_OBSERVED)
        assert_true(is_seen);
    if (version + 1 < VERSION_OBSERVED)
        assert_false(is_seen);
}

static void check_plans(struct fixture *f, const struct told *told)
{
    for (uint32_t i = 0; i < CHAINS; i++) {
        struct plan_entry plan = plan_of(i, 0);
        struct store_op op = {.kind = STORE_PLAN_GET,
                              .in.find = {.operation_id = span_str(plan.plan_id)}};
        enum store_found found = fixture_ask(f, &op);
        if (told->planned[i] == 0)
            continue;
        assert_int_equal(found, STORE_HELD);
        assert_true(op.out.plans[0].created_ms >= told->planned[i]);
    }
}

static void check_all(struct fixture *f, const struct told *told)
{
    struct arena *kept = f->arena;
    f->arena = arena_new((size_t)1 << 20);
    check_plans(f, told);
    arena_free(f->arena);
    for (uint32_t i = 0; i < SPAN_OF && (i < CHAINS || told->versions[i - CHAINS] > 0); i++) {
        f->arena = arena_new((size_t)1 << 20);
        check_operation(f, told->first + i, told->versions[i]);
        check_beside(f, told->first + i, told->versions[i]);
        arena_free(f->arena);
    }
    f->arena = kept;
}

/* Killed at any moment, twenty times: every reported step is on the disk, at most
 * one step more, and every lease of the dead is known to be dead. */
static void killed_process_loses_nothing(void **state)
{
    struct fixture *f = *state;
    uint64_t seed = 20240101;
    struct told told = {.versions = calloc(SPAN_OF, sizeof(*told.versions))};
    assert_non_null(told.versions);
    fixture_close(f);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        int fd, status;
        told.first = 1 + round * SPAN_OF;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint32_t limit = 1 + (uint32_t)(seed >> 40) % 2000;
        memset(told.versions, 0, SPAN_OF * sizeof(*told.versions));
        memset(told.planned, 0, sizeof(told.planned));
        pid_t victim = start_victim(f, told.first, &fd);
        uint32_t count = read_reports(fd, victim, limit, &told);
        assert_int_equal(waitpid(victim, &status, 0), victim);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGKILL);
        assert_true(count >= limit);
        fixture_open(f);
        check_all(f, &told);
        fixture_close(f);
    }
    free(told.versions);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "victim") == 0)
        return run_victim(argv[2], argv[3], argv[4]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(killed_process_loses_nothing, fixture_setup,
                                        fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
