/* What the store is asked to do, and what is held against it afterwards. It must
 * count as done only what the store has reported. */
#include "tests/fault/workload.h"

#define TRIES_MAX         16 /* longer than any fault lasts */
#define GROUP_STEPS_MAX   8
#define ANSWER_BYTES      3000
#define CHECKPOINT_FRAMES 24

enum step_kind {
    STEP_CLAIM,
    STEP_MOVE,
    STEP_DROP,
    STEP_PAUSE,
    STEP_PLAN,
    STEP_OBSERVE,
    STEP_NOTE,
    STEP_REOPEN,
};
struct step {
    unsigned group; /* what has one number is submitted together */
    enum step_kind kind;
    unsigned key;
    enum receipt_state state;
};

static const struct step steps[] = {
    {1, STEP_CLAIM, 0, RECEIPT_CLAIMED},
    {2, STEP_CLAIM, 1, RECEIPT_CLAIMED},
    {2, STEP_CLAIM, 2, RECEIPT_CLAIMED},
    {2, STEP_CLAIM, 3, RECEIPT_CLAIMED},
    {3, STEP_MOVE, 0, RECEIPT_SENT},
    {3, STEP_MOVE, 1, RECEIPT_SENT},
    {3, STEP_MOVE, 2, RECEIPT_RELEASED},
    {4, STEP_MOVE, 0, RECEIPT_COMPLETED},
    {5, STEP_MOVE, 1, RECEIPT_UNKNOWN},
    {5, STEP_CLAIM, 4, RECEIPT_CLAIMED},
    {6, STEP_PAUSE, WORKLOAD_PAUSE, RECEIPT_ABSENT},
    {6, STEP_PLAN, WORKLOAD_PLAN, RECEIPT_ABSENT},
    {6, STEP_NOTE, WORKLOAD_NOTE, RECEIPT_ABSENT},
    {7, STEP_MOVE, 4, RECEIPT_SENT},
    {8, STEP_MOVE, 4, RECEIPT_COMPLETED},
    {8, STEP_MOVE, 0, RECEIPT_EXPIRED},
    {9, STEP_REOPEN, 0, RECEIPT_ABSENT},
    {10, STEP_DROP, 0, RECEIPT_ABSENT},
    {11, STEP_CLAIM, 0, RECEIPT_CLAIMED},
    {11, STEP_CLAIM, 5, RECEIPT_CLAIMED},
    {11, STEP_CLAIM, 6, RECEIPT_CLAIMED},
    {12, STEP_OBSERVE, WORKLOAD_SEEN, RECEIPT_ABSENT},
    {12, STEP_MOVE, 5, RECEIPT_SENT},
    {12, STEP_MOVE, 6, RECEIPT_SENT},
    {13, STEP_MOVE, 5, RECEIPT_COMPLETED},
    {13, STEP_MOVE, 6, RECEIPT_COMPLETED},
    {14, STEP_CLAIM, 7, RECEIPT_CLAIMED},
    {15, STEP_MOVE, 1, RECEIPT_COMPLETED},
    {16, STEP_DROP, 2, RECEIPT_ABSENT},
    {17, STEP_CLAIM, 8, RECEIPT_CLAIMED},
    {18, STEP_MOVE, 8, RECEIPT_SENT},
    {19, STEP_MOVE, 8, RECEIPT_COMPLETED},
    {20, STEP_CLAIM, 9, RECEIPT_CLAIMED},
    {21, STEP_MOVE, 7, RECEIPT_SENT},
    {22, STEP_CLAIM, 10, RECEIPT_CLAIMED},
    {23, STEP_MOVE, 9, RECEIPT_CANCELLED},
    {24, STEP_CLAIM, 11, RECEIPT_CLAIMED},
};

static const struct audit_entry settle_audit = {.at_ms = FIXTURE_NOW_MS,
                                                .actor = {"token:ana", 9},
                                                .action = {"settle", 6},
                                                .subject = {"op", 2},
                                                .note = {"looked", 6},
                                                .detail = {"verdict=executed", 16}};

/* Of the operation of key 1, which is never dropped. */
static const struct audit_entry note_audit = {.at_ms = FIXTURE_NOW_MS,
                                              .actor = {"token:ana", 9},
                                              .action = {"comment", 7},
                                              .subject = {"op_00000000000000000000000201", 29},
                                              .note = {"asked", 5},
                                              .detail = {"", 0}};
static const struct audit_entry plan_audit = {.at_ms = FIXTURE_NOW_MS,
                                              .actor = {"token:ana", 9},
                                              .action = {"plan", 4},
                                              .subject = {"plan", 4},
                                              .note = {"looked", 6},
                                              .detail = {"", 0}};
static const struct plan_entry plan_made = {.plan_id = "plan_00000000000000000000000001",
                                            .state = PLAN_WAITING,
                                            .created_ms = FIXTURE_NOW_MS,
                                            .count = 1,
                                            .items = {"\x01\x01\x05\x02\x00", 5}};
static const struct observation seen_once = {
    .at_ms = FIXTURE_NOW_MS, .route = {"create-order", 12}, .end = END_answered};

void workload_init(struct workload *w, struct fault_vfs *vfs)
{
    memset(w, 0, sizeof(*w));
    w->vfs = vfs;
    fixture_init(&w->f, "sqlite");
    w->f.options.checkpoint_frames = CHECKPOINT_FRAMES;
}

void workload_fini(struct workload *w)
{
    vfs_rest(w->vfs);
    fixture_fini(&w->f);
}

/* ---- doing ---- */

static bool goes_on(const struct workload *w)
{
    return w->fault != VFS_CUT;
}

static const char *open_store(struct workload *w)
{
    struct gw_error err = {0};
    for (unsigned i = 0; i < TRIES_MAX; i++) {
        if (store_open(&w->f.options, &w->f.store, &err) == GW_OK) {
            struct span secret = store_secret(w->f.store);
            if (secret.len != sizeof(w->secret))
                return "the secret has another length";
            if (w->was_opened && memcmp(w->secret, secret.ptr, secret.len) != 0)
                return "the secret has changed";
            memcpy(w->secret, secret.ptr, secret.len);
            w->was_opened = true;
            return NULL;
        }
        w->failures++;
        if (!goes_on(w))
            return NULL;
    }
    return "the store does not open when the fault is over";
}

/* Every key and every version has an answer of its own. */
static struct span answer_of(struct workload *w, const struct store_row *row)
{
    char body[ANSWER_BYTES];
    memset(body, 'a' + (int)(row->receipt.version % 26), sizeof(body));
    memcpy(body, row->operation_id, OPERATION_ID_BYTES);
    return fixture_message(&w->f, span_of(body, sizeof(body)));
}

static struct store_row moved(struct workload *w, const struct store_row *from,
                              enum receipt_state state)
{
    struct store_row next = fixture_step(from, state);
    if (state == RECEIPT_COMPLETED)
        next.answer = answer_of(w, &next);
    if (state == RECEIPT_EXPIRED)
        next.answer = SPAN("");
    next.answer_kept = next.answer.len > 0;
    return next;
}

static struct store_row dropped(const struct store_row *from)
{
    struct store_row next = *from;
    next.receipt = (struct receipt){.state = RECEIPT_ABSENT, .version = from->receipt.version + 1};
    next.answer = SPAN("");
    next.answer_kept = false;
    return next;
}

/* Pauses, plans, observations, notes: no key of theirs is looked at. */
static bool is_beside(enum step_kind kind)
{
    return kind == STEP_PAUSE || kind == STEP_PLAN || kind == STEP_OBSERVE || kind == STEP_NOTE;
}

static void prepare_beside(enum step_kind kind, struct store_op *op)
{
    if (kind == STEP_PLAN) {
        *op = (struct store_op){.kind = STORE_PLAN_SET,
                                .in.plan = {.entry = &plan_made, .audit = &plan_audit}};
        return;
    }
    if (kind == STEP_OBSERVE) {
        *op = (struct store_op){.kind = STORE_OBSERVE, .in.observe = {&seen_once, 1}};
        return;
    }
    if (kind == STEP_NOTE) {
        *op = (struct store_op){.kind = STORE_NOTE, .in.note = {&note_audit}};
        return;
    }
    *op = (struct store_op){.kind = STORE_PAUSE};
    op->in.pause.entry = (struct pause_entry){.subject = PAUSE_ROUTE,
                                              .name = SPAN("create-order"),
                                              .actor = SPAN("token:ana"),
                                              .note = SPAN("wait"),
                                              .at_ms = FIXTURE_NOW_MS};
}

static void prepare(struct workload *w, const struct step *step, struct store_row *next,
                    struct store_op *op)
{
    const struct deed *deed = &w->deeds[step->key];
    char key[16];
    switch (step->kind) {
    case STEP_CLAIM:
        (void)snprintf(key, sizeof(key), "k%u", step->key); /* fits */
        /* A key that is claimed anew is another operation. */
        *next = fixture_row(&w->f, key, step->key + 100 * step->group);
        next->labels = fixture_labels(&w->f, "order", key);
        *op = fixture_claim(next);
        return;
    case STEP_MOVE:
    case STEP_DROP:
        *next = step->kind == STEP_DROP ? dropped(&deed->row) : moved(w, &deed->row, step->state);
        *op = fixture_advance(&deed->row, next);
        op->in.advance.set_answer = step->state != RECEIPT_SENT;
        if (step->state == RECEIPT_UNKNOWN)
            op->in.advance.audit = &settle_audit;
        return;
    case STEP_PAUSE:
    case STEP_PLAN:
    case STEP_OBSERVE:
    case STEP_NOTE:
        prepare_beside(step->kind, op);
        return;
    case STEP_REOPEN:
        break;
    }
    gw_assert(step->kind != STEP_REOPEN);
}

/* What the report of one operation makes known. */
static void note(struct workload *w, const struct step *step, const struct store_row *next,
                 const struct store_op *op)
{
    struct deed *deed = &w->deeds[step->key];
    bool is_done = op->out.status == GW_OK;
    w->failures += !is_done;
    deed->has_doubt = !is_done;
    if (is_beside(step->kind)) {
        deed->is_there = is_done;
        deed->may_be_there = true;
        return;
    }
    if (is_done) {
        deed->is_there = step->kind != STEP_DROP;
        deed->row = *next;
        if (step->kind == STEP_CLAIM)
            deed->row.id = op->out.rows[0].id;
        w->id_max = deed->row.id > w->id_max ? deed->row.id : w->id_max;
        w->has_audit = w->has_audit || step->state == RECEIPT_UNKNOWN;
    } else {
        deed->may_be_there = step->kind != STEP_DROP;
        deed->doubtful = *next;
    }
}

static bool is_same_receipt(const struct receipt *a, const struct receipt *b)
{
    return a->state == b->state && a->attempt == b->attempt && a->version == b->version &&
           a->marks == b->marks && a->token == b->token && a->lease_until_ms == b->lease_until_ms &&
           a->due_ms == b->due_ms && a->expire_ms == b->expire_ms;
}

static bool is_same(const struct store_row *wanted, const struct store_row *found)
{
    return is_same_receipt(&wanted->receipt, &found->receipt) &&
           strcmp(wanted->operation_id, found->operation_id) == 0 &&
           span_equal(wanted->key, found->key) && span_equal(wanted->labels, found->labels) &&
           wanted->answer_kept == found->answer_kept && span_equal(wanted->answer, found->answer);
}

/* Is the key as the last report left it? (doubts: or as an unreported change may have.) */
static const char *check_key(struct workload *w, struct fixture *f, unsigned key, bool doubts)
{
    const struct deed *deed = &w->deeds[key];
    char name[16];
    (void)snprintf(name, sizeof(name), "k%u", key); /* fits */
    struct store_row asked = fixture_row(f, name, key);
    struct store_op op = fixture_lookup(&asked, LOAD_ANSWER);
    if (fixture_try(f, &op) != GW_OK)
        return goes_on(w) && !doubts ? NULL : "a look-up fails"; /* it may be what strikes */
    bool is_there = op.out.found == STORE_HELD;
    if (is_there && op.out.rows[0].id > w->id_max)
        w->id_max = op.out.rows[0].id;
    if (is_there ? deed->is_there && is_same(&deed->row, &op.out.rows[0]) : !deed->is_there)
        return NULL;
    if (!doubts || !deed->has_doubt)
        return is_there ? "a row is not what was reported" : "a reported row is lost";
    if (is_there ? deed->may_be_there && is_same(&deed->doubtful, &op.out.rows[0])
                 : !deed->may_be_there)
        return NULL;
    return "a row is neither what was reported nor what was asked";
}

/* One group: submitted together, so that it may be one transaction. */
struct group {
    const struct step *steps;
    size_t count, open;            /* open: not reported as done, and to be tried */
    bool is_open[GROUP_STEPS_MAX]; /* likewise, one by one */
    struct store_row next[GROUP_STEPS_MAX];
    struct store_op ops[GROUP_STEPS_MAX];
};

/* All are prepared before the first is sent: from then on the arena is the store's. */
static void submit(struct workload *w, struct group *group)
{
    uint32_t left = 0;
    for (size_t i = 0; i < group->count; i++)
        if (group->is_open[i])
            prepare(w, &group->steps[i], &group->next[i], &group->ops[i]);
    for (size_t i = 0; i < group->count; i++)
        if (group->is_open[i])
            fixture_send(&w->f, &group->ops[i], &left);
    fixture_wait(w->f.inbox, &left);
}

/* Whose claim was never reported has nothing that a note could be added to. */
static bool is_note_on_nothing(const struct workload *w, const struct step *step,
                               const struct store_op *op)
{
    return step->kind == STEP_NOTE && op->out.found == STORE_NONE && !w->deeds[1].is_there;
}

static const char *take_reports(struct workload *w, struct group *group)
{
    const char *wrong = NULL;
    for (size_t i = 0; i < group->count; i++) {
        const struct store_op *op = &group->ops[i];
        if (!group->is_open[i])
            continue;
        if (op->out.status == GW_OK && is_note_on_nothing(w, &group->steps[i], op)) {
            group->is_open[i] = false;
            group->open--;
            continue;
        }
        if (op->out.status == GW_OK && op->out.found != STORE_WON)
            return "an operation was neither done nor refused";
        note(w, &group->steps[i], &group->next[i], op);
        group->is_open[i] = op->out.status != GW_OK && goes_on(w);
        group->open -= !group->is_open[i];
    }
    for (size_t i = 0; i < group->count && wrong == NULL; i++)
        if (group->is_open[i] && !is_beside(group->steps[i].kind))
            wrong = check_key(w, &w->f, group->steps[i].key, false);
    return wrong;
}

static const char *run_group(struct workload *w, const struct step *first, size_t count)
{
    struct group group = {.steps = first, .count = count};
    const char *wrong = NULL;
    gw_assert(count <= GROUP_STEPS_MAX);
    for (size_t i = 0; i < count; i++) {
        group.is_open[i] = !w->deeds[first[i].key].has_doubt;
        group.open += group.is_open[i];
    }
    for (unsigned tries = 0; group.open > 0 && wrong == NULL && tries < TRIES_MAX; tries++) {
        submit(w, &group);
        wrong = take_reports(w, &group);
    }
    return wrong != NULL || group.open == 0 ? wrong
                                            : "the store does not recover when the fault is over";
}

const char *workload_run(struct workload *w, enum vfs_fault fault, uint32_t at)
{
    const char *wrong = NULL;
    size_t count = 0;
    w->fault = fault;
    vfs_watch(w->vfs, w->f.folder, fault, at);
    wrong = open_store(w);
    for (size_t i = 0; i < GW_COUNT(steps) && wrong == NULL && w->f.store != NULL; i += count) {
        for (count = 0; i + count < GW_COUNT(steps); count++)
            if (steps[i + count].group != steps[i].group)
                break;
        if (steps[i].kind == STEP_REOPEN) {
            fixture_close(&w->f);
            wrong = open_store(w);
        } else {
            wrong = run_group(w, &steps[i], count);
        }
        if (wrong == NULL && w->f.store != NULL && goes_on(w) && !is_beside(steps[i].kind))
            wrong = check_key(w, &w->f, steps[i].key, false);
    }
    return wrong;
}

/* ---- looking ---- */

/* One at most, and none only if none was reported. */
static bool fits_deed(const struct deed *deed, uint32_t count)
{
    return count <= 1 && (count == 1 ? deed->is_there || deed->may_be_there : !deed->is_there);
}

/* The groups count exactly the unknown rows; a plan is whole; nothing is there twice. */
static const char *check_beside(struct workload *w, struct fixture *f)
{
    struct store_op list = {.kind = STORE_LIST,
                            .in.list.filter = {.states = 1u << RECEIPT_UNKNOWN}};
    struct store_op groups = {.kind = STORE_GROUPS}, seen = {.kind = STORE_OBSERVED};
    struct store_op plan = {.kind = STORE_PLAN_GET,
                            .in.find.operation_id = span_str(plan_made.plan_id)};
    struct store_op notes = {.kind = STORE_AUDIT, .in.find.operation_id = note_audit.subject};
    struct store_op plans = {.kind = STORE_AUDIT, .in.find.operation_id = plan_audit.subject};
    if (fixture_try(f, &list) != GW_OK || fixture_try(f, &groups) != GW_OK ||
        fixture_try(f, &seen) != GW_OK || fixture_try(f, &plan) != GW_OK ||
        fixture_try(f, &notes) != GW_OK || fixture_try(f, &plans) != GW_OK)
        return "something beside the rows cannot be read";
    uint64_t count = 0;
    for (uint32_t i = 0; i < groups.out.group_count; i++)
        count += groups.out.groups[i].count;
    if (count != list.out.row_count)
        return "the groups do not count the unknown rows";
    if (!fits_deed(&w->deeds[WORKLOAD_PLAN], plan.out.plan_count) ||
        plans.out.audit_count != plan.out.plan_count)
        return "a plan or its audit is lost or made up";
    if (plan.out.plan_count > 0 && !span_equal(plan.out.plans[0].items, plan_made.items))
        return "a plan is not what was written";
    if (!fits_deed(&w->deeds[WORKLOAD_NOTE], notes.out.audit_count))
        return "a note is lost or made up";
    return fits_deed(&w->deeds[WORKLOAD_SEEN], seen.out.observed_count)
               ? NULL
               : "an observation is lost or made up";
}

static const char *check_pages(struct workload *w, struct fixture *f)
{
    struct store_op list = {.kind = STORE_LIST, .in.list = {.rows_max = 100}};
    struct store_op lapsed = {
        .kind = STORE_SCAN,
        .in.scan = {.kind = SCAN_LAPSED, .now_ms = FIXTURE_NOW_MS, .rows_max = 100}};
    struct store_op pauses = {.kind = STORE_PAUSES};
    if (fixture_try(f, &list) != GW_OK || fixture_try(f, &lapsed) != GW_OK ||
        fixture_try(f, &pauses) != GW_OK)
        return "a page fails";
    uint32_t leased = 0, rows = 0;
    for (uint32_t i = 0; i < list.out.row_count; i++)
        leased += receipt_is_leased(list.out.rows[i].receipt.state);
    for (unsigned i = 0; i < WORKLOAD_KEYS; i++)
        rows += w->deeds[i].is_there && !w->deeds[i].has_doubt;
    if (list.out.row_count < rows)
        return "a page leaves rows out";
    if (lapsed.out.row_count != leased)
        return "a lease of an earlier life is not found";
    if (!fits_deed(&w->deeds[WORKLOAD_PAUSE], pauses.out.pause_count))
        return "a pause is lost or made up";
    struct store_op audit = {.kind = STORE_AUDIT, .in.find.operation_id = settle_audit.subject};
    if (fixture_try(f, &audit) != GW_OK)
        return "the audit fails";
    return w->has_audit && audit.out.audit_count == 0 ? "an audit entry is lost" : NULL;
}

/* Nothing of an earlier life is given out twice, and the store takes on new rows. */
static const char *check_new_row(struct workload *w, struct fixture *f)
{
    struct store_row row = fixture_row(f, "new", 99);
    struct store_op op = fixture_claim(&row);
    if (fixture_try(f, &op) != GW_OK || op.out.found != STORE_WON)
        return "a new key cannot be claimed";
    return op.out.rows[0].id <= w->id_max ? "a row number is given out twice" : NULL;
}

static const char *check_all(struct workload *w, struct fixture *f)
{
    struct gw_error err = {0};
    if (store_open(&f->options, &f->store, &err) != GW_OK) {
        print_error("store_open: %s\n", err.text);
        return "the store does not open";
    }
    const char *wrong = NULL;
    int64_t id_max = w->id_max; /* a row that only this disk has counts for this disk alone */
    struct span secret = store_secret(f->store);
    if (w->was_opened && memcmp(w->secret, secret.ptr, sizeof(w->secret)) != 0)
        wrong = "the secret has changed";
    for (unsigned key = 0; key < WORKLOAD_KEYS && wrong == NULL; key++)
        wrong = check_key(w, f, key, true);
    if (wrong == NULL)
        wrong = check_pages(w, f);
    if (wrong == NULL)
        wrong = check_beside(w, f);
    if (wrong == NULL)
        wrong = check_new_row(w, f);
    w->id_max = id_max;
    fixture_close(f);
    return wrong;
}

const char *workload_check(struct workload *w)
{
    fixture_close(&w->f);
    vfs_rest(w->vfs);
    return check_all(w, &w->f);
}

const char *workload_check_torn(struct workload *w, enum vfs_tear tear, uint32_t seed)
{
    struct fixture f;
    fixture_init(&f, "sqlite");
    vfs_rest(w->vfs);
    vfs_leave(w->vfs, f.folder, tear, seed);
    const char *wrong = check_all(w, &f);
    fixture_fini(&f);
    return wrong;
}
