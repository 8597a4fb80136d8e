/* The planted bugs. The functions with the odd names stand before functions of the
 * product (the linker's --wrap) and pass everything through unless their bug is planted. */
#include "tests/sim/bugs.h"

#include "store/memory.h"

#define SWEEP_AFTER_MS 20000

struct bug_row {
    const char *word;
    uint32_t seeds;
    const char *doc;
};
static const struct bug_row bugs[BUG_COUNT] = {
#define BUG(name, word, seeds, doc) {word, seeds, doc},
#include "tests/sim/bugs.def"
#undef BUG
};

const char *bug_word(enum sim_bug bug)
{
    gw_assert(bug < BUG_COUNT);
    return bugs[bug].word;
}

const char *bug_doc(enum sim_bug bug)
{
    gw_assert(bug < BUG_COUNT);
    return bugs[bug].doc;
}

uint32_t bug_seeds(enum sim_bug bug)
{
    gw_assert(bug < BUG_COUNT);
    return bugs[bug].seeds;
}

enum sim_bug bug_by_word(const char *word)
{
    uint32_t i = 0;
    while (i < BUG_COUNT && strcmp(bugs[i].word, word) != 0)
        i++;
    return (enum sim_bug)i;
}

bool bug_is_planted(const struct world *world, enum sim_bug bug)
{
    return world->options.bug == bug;
}

bool bug_tells_early(const struct world *world, const struct store_op *op)
{
    bool is_claim = op->kind == STORE_CLAIM || (op->kind == STORE_ADVANCE &&
                                                op->in.advance.next->receipt.state == RECEIPT_SENT);
    bool is_record = op->kind == STORE_ADVANCE && !is_claim;
    return (is_claim && bug_is_planted(world, BUG_CLAIM_EARLY)) ||
           (is_record && bug_is_planted(world, BUG_RECORD_EARLY));
}

void bug_spoils_conf(const struct world *world)
{
    struct route_policy *routes = (struct route_policy *)(uintptr_t)world->conf->routes.routes;
    for (uint32_t i = 0; bug_is_planted(world, BUG_EARLY_PROOF) && i < world->conf->routes.count;
         i++)
        routes[i].quiet_ms = 0;
}

void bug_writes_over(struct world *world, struct store_op *op)
{
    const struct store_row *row;
    bool is_due = bug_is_planted(world, BUG_DUE_ANYHOW);
    if ((!is_due && !bug_is_planted(world, BUG_MOVED_ROW)) || op->kind != STORE_ADVANCE ||
        op->inbox->worker == NULL)
        return;
    const struct flow *flow = op->ctx;
    if (flow->source != (is_due ? FLOW_FROM_DEFERRED : FLOW_FROM_PROBE) ||
        (is_due && op->in.advance.next->receipt.state != RECEIPT_SENT))
        return;
    for (size_t i = 0; i < SIM_IDENTITIES && (row = disk_row(world, i)) != NULL; i++)
        if (row->id == op->in.advance.id)
            op->in.advance.expect_version = row->receipt.version;
    ((struct flow *)(uintptr_t)flow)->row.receipt.version = op->in.advance.expect_version + 1;
}

void bug_sweeps(struct world *world)
{
    bool unknown = bug_is_planted(world, BUG_PURGE_UNKNOWN);
    bool completed = bug_is_planted(world, BUG_FORGET_EARLY);
    struct store_row *row;
    if (!unknown && !completed)
        return;
    for (size_t i = 0; i < SIM_IDENTITIES && (row = disk_row(world, i)) != NULL; i++) {
        bool is_old = row->updated_ms + SWEEP_AFTER_MS < world_wall(world);
        bool is_meant = (unknown && row->receipt.state == RECEIPT_UNKNOWN) ||
                        (completed && row->receipt.state == RECEIPT_COMPLETED);
        if (!is_old || !is_meant)
            continue;
        struct store_row old = *row;
        enum gw_status status = memory_table_ops.remove(world->backend, &old, NULL);
        gw_assert(status == GW_OK);
    }
}

/* ---- around the product ---- */

struct classify_result __real_classify(const struct route_policy *route,
                                       const struct upstream_facts *facts,
                                       const struct answer_view *answer);
struct probe_verdict __real_probe_judge(const struct probe_policy *policy,
                                        const struct upstream_facts *facts,
                                        const struct answer_view *answer);
struct probe_verdict __wrap_probe_judge(const struct probe_policy *policy,
                                        const struct upstream_facts *facts,
                                        const struct answer_view *answer);

struct probe_verdict __wrap_probe_judge(const struct probe_policy *policy,
                                        const struct upstream_facts *facts,
                                        const struct answer_view *answer)
{
    struct probe_verdict verdict = __real_probe_judge(policy, facts, answer);
    if (verdict.says == PROBE_SAYS_ABSENT && bug_is_planted(world_now(), BUG_SILENT_FIND))
        verdict = (struct probe_verdict){PROBE_SAYS_EXECUTED, "planted", 0};
    return verdict;
}

struct classify_result __wrap_classify(const struct route_policy *route,
                                       const struct upstream_facts *facts,
                                       const struct answer_view *answer);
enum receipt_verdict __real_receipt_step(const struct receipt *cur, const struct receipt_event *ev,
                                         struct receipt *ret_next);
enum receipt_verdict __wrap_receipt_step(const struct receipt *cur, const struct receipt_event *ev,
                                         struct receipt *ret_next);
enum admit_verdict __real_admit(const struct route_policy *route, const struct admit_facts *facts);
enum admit_verdict __wrap_admit(const struct route_policy *route, const struct admit_facts *facts);
bool __real_message_encode(struct gw_buf *out, const struct stored_message *message);
bool __wrap_message_encode(struct gw_buf *out, const struct stored_message *message);
void __real_board_wake(struct board *board, const struct store_identity *identity);
void __wrap_board_wake(struct board *board, const struct store_identity *identity);
int64_t __real_flow_now_ticks(const struct flow *flow);
int64_t __wrap_flow_now_ticks(const struct flow *flow);
void __real_board_leave(struct board *board, const struct route_policy *route, struct span owner,
                        enum board_end end, int64_t now_ticks, struct board_ticket *ticket);
void __wrap_board_leave(struct board *board, const struct route_policy *route, struct span owner,
                        enum board_end end, int64_t now_ticks, struct board_ticket *ticket);

struct classify_result __wrap_classify(const struct route_policy *route,
                                       const struct upstream_facts *facts,
                                       const struct answer_view *answer)
{
    struct classify_result result = __real_classify(route, facts, answer);
    if (bug_is_planted(world_now(), BUG_RELEASE_SENT) && facts->end != END_answered)
        result.event = RECEIPT_EV_REFUSED;
    return result;
}

enum receipt_verdict __wrap_receipt_step(const struct receipt *cur, const struct receipt_event *ev,
                                         struct receipt *ret_next)
{
    const struct world *world = world_now();
    struct receipt_event event = *ev;
    struct receipt row = *cur;
    bool reports = ev->kind == RECEIPT_EV_ANSWERED || ev->kind == RECEIPT_EV_REFUSED ||
                   ev->kind == RECEIPT_EV_LOST;
    bool is_unfenced = bug_is_planted(world, BUG_NO_FENCE) || bug_is_planted(world, BUG_FENCE_OFF);
    if (reports && cur->token != 0 && is_unfenced)
        event.token = cur->token;
    if (ev->kind == RECEIPT_EV_CLAIM && cur->state == RECEIPT_UNKNOWN &&
        bug_is_planted(world, BUG_RESEND_UNKNOWN))
        row.state = RECEIPT_RELEASED;
    bool ignores = bug_is_planted(world, BUG_PROOF_IGNORED);
    if (ignores && ev->kind == RECEIPT_EV_REFUSED)
        row.marks &= ~(uint32_t)RECEIPT_CONTRADICTED;
    if (ignores && ev->kind == RECEIPT_EV_CONTRADICT) {
        *ret_next = receipt_mark(cur, RECEIPT_CONTRADICTED);
        return RECEIPT_MOVED;
    }
    bool begins = ev->kind == RECEIPT_EV_CLAIM || ev->kind == RECEIPT_EV_RESEND ||
                  ev->kind == RECEIPT_EV_REFUSED;
    if (begins && bug_is_planted(world, BUG_CANCEL_IGNORED))
        row.marks &= ~(uint32_t)RECEIPT_CANCEL_REQUESTED;
    bool frees = ev->kind == RECEIPT_EV_REFUSED || ev->kind == RECEIPT_EV_SETTLE_NOT_EXECUTED;
    if (frees && bug_is_planted(world, BUG_PROMISE_LOST))
        row.marks &= ~(uint32_t)RECEIPT_PROMISED;
    if (bug_is_planted(world, BUG_TOLD_REPLACED) && (cur->marks & RECEIPT_SETTLED) != 0)
        event.none_was_told = true;
    bool lapsed = ev->kind == RECEIPT_EV_LAPSED && cur->state == RECEIPT_SENT;
    enum receipt_verdict verdict = __real_receipt_step(&row, &event, ret_next);
    if (verdict == RECEIPT_MOVED && lapsed && bug_is_planted(world, BUG_RELEASE_CRASHED)) {
        ret_next->state = RECEIPT_RELEASED;
        ret_next->expire_ms = ev->until_ms;
    }
    if (verdict == RECEIPT_MOVED && bug_is_planted(world, BUG_UNMARKED))
        ret_next->marks &= ~(uint32_t)RECEIPT_CONTRADICTED;
    return verdict;
}

enum admit_verdict __wrap_admit(const struct route_policy *route, const struct admit_facts *facts)
{
    enum admit_verdict verdict = __real_admit(route, facts);
    bool resends = bug_is_planted(world_now(), BUG_RESEND_UNKNOWN);
    return resends && verdict == ADMIT_UNKNOWN && facts->gate == GATE_OPEN ? ADMIT_RERUN : verdict;
}

bool __wrap_message_encode(struct gw_buf *out, const struct stored_message *message)
{
    struct stored_message other = *message;
    if (bug_is_planted(world_now(), BUG_OTHERS_ANSWER) && message->status == 201)
        other.body = SPAN("{\"run\":0}");
    return __real_message_encode(out, &other);
}

void __wrap_board_wake(struct board *board, const struct store_identity *identity)
{
    if (!bug_is_planted(world_now(), BUG_NO_WAKE))
        __real_board_wake(board, identity);
}

void __wrap_board_leave(struct board *board, const struct route_policy *route, struct span owner,
                        enum board_end end, int64_t now_ticks, struct board_ticket *ticket)
{
    if (bug_is_planted(world_now(), BUG_LEAKED_TICKET) && end == BOARD_UNKNOWN)
        ticket->held = false;
    __real_board_leave(board, route, owner, end, now_ticks, ticket);
}

/* ---- attempts after the first ---- */

struct retry_verdict __real_retry_judge(const struct route_policy *route,
                                        const struct retry_facts *facts);
struct retry_verdict __wrap_retry_judge(const struct route_policy *route,
                                        const struct retry_facts *facts);
struct retry_pass __real_retry_ask(const struct retry_policy *policy,
                                   const struct retry_budget *budget, int64_t now_ms);
struct retry_pass __wrap_retry_ask(const struct retry_policy *policy,
                                   const struct retry_budget *budget, int64_t now_ms);
bool __real_retry_may_resend(const struct route_policy *route, int64_t first_sent_ms,
                             int64_t at_ms);
bool __wrap_retry_may_resend(const struct route_policy *route, int64_t first_sent_ms,
                             int64_t at_ms);
struct cancel_verdict __real_cancel_judge(const struct receipt *cur, int64_t now_ms,
                                          int64_t until_ms);
struct cancel_verdict __wrap_cancel_judge(const struct receipt *cur, int64_t now_ms,
                                          int64_t until_ms);

struct retry_verdict __wrap_retry_judge(const struct route_policy *route,
                                        const struct retry_facts *facts)
{
    const struct world *world = world_now();
    struct retry_facts other = *facts;
    struct retry_budget budget = *facts->budget;
    other.budget = &budget;
    if (bug_is_planted(world, BUG_RETRY_EARLY))
        other.retry_after_ms = 0;
    if (bug_is_planted(world, BUG_BUDGET_FREE))
        budget = (struct retry_budget){.window_ms = facts->now_ms, .attempts = 1};
    bool is_lost = facts->event == RECEIPT_EV_LOST && route->retry.is_on;
    if (is_lost && bug_is_planted(world, BUG_RETRY_LOST))
        return (struct retry_verdict){.next = RETRY_RESEND, .reason = "planted"};
    return __real_retry_judge(route, &other);
}

struct retry_pass __wrap_retry_ask(const struct retry_policy *policy,
                                   const struct retry_budget *budget, int64_t now_ms)
{
    struct retry_pass pass = __real_retry_ask(policy, budget, now_ms);
    bool is_spent = pass.gate == RETRY_SPENT;
    if (bug_is_planted(world_now(), is_spent ? BUG_BUDGET_FREE : BUG_RETRY_EARLY))
        return (struct retry_pass){.gate = RETRY_OPEN};
    return pass;
}

bool __wrap_retry_may_resend(const struct route_policy *route, int64_t first_sent_ms, int64_t at_ms)
{
    bool ignores =
        route->retry.is_on && (bug_is_planted(world_now(), BUG_RETRY_LOST) ||
                               (route->passes_key && bug_is_planted(world_now(), BUG_WINDOW_FREE)));
    return ignores || __real_retry_may_resend(route, first_sent_ms, at_ms);
}

struct cancel_verdict __wrap_cancel_judge(const struct receipt *cur, int64_t now_ms,
                                          int64_t until_ms)
{
    struct cancel_verdict verdict = __real_cancel_judge(cur, now_ms, until_ms);
    if (cur->state != RECEIPT_SENT || !bug_is_planted(world_now(), BUG_CANCEL_SENT))
        return verdict;
    verdict = (struct cancel_verdict){.says = CANCEL_STOPPED, .changes = true, .next = *cur};
    verdict.next.state = RECEIPT_CANCELLED;
    verdict.next.version++;
    verdict.next.lease_until_ms = 0;
    verdict.next.expire_ms = until_ms;
    return verdict;
}

int64_t __wrap_flow_now_ticks(const struct flow *flow)
{
    bool is_fooled =
        bug_is_planted(world_now(), BUG_LATE_SENDER) && flow->room == FLOW_ROOM_forward;
    return is_fooled ? flow->started_ticks : __real_flow_now_ticks(flow);
}
