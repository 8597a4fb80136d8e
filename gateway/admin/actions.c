/* What people do with an operation besides settling it: take it on, comment on it,
 * have the upstream asked, mark a contradiction. Each is audited in the transaction
 * of its change. It must never move a receipt to another state. */
#include "gateway/admin/body.h"
#include "gateway/admin/operation.h"
#include "gateway/receipts.h"

#include "base/log.h"

#define ACTION_TRIES_MAX 8

enum action_kind { ACTION_CLAIM, ACTION_PROBE, ACTION_CONTRADICTION };

struct action {
    enum action_kind kind;
    bool release, take_over;
    bool marks_anew;  /* ACTION_CONTRADICTION: nobody has said so before */
    uint32_t version; /* ACTION_CONTRADICTION: that was looked at */
    uint32_t tries;
    struct span note;
    struct store_row row; /* as it is to be */
    struct audit_entry audit;
};

/* What a look at the operation as it stands comes to. */
enum judgement { JUDGED_CHANGE, JUDGED_SAME, JUDGED_ANSWERED };

static void on_found(struct call *call);

/* ---- answers ---- */

static void print_operation(struct call *call, const struct store_row *row)
{
    const struct action *action = call->state;
    if (action->kind == ACTION_PROBE) {
        call_begin(call, 202);
        operation_end(call, row);
    } else {
        call_begin(call, 200);
        operation_print_members(call, row, false);
        visible_print(call, row);
        call_end(call);
    }
}

static enum judgement refuse(struct call *call, const struct store_row *row)
{
    operation_end(call, row);
    return JUDGED_ANSWERED;
}

/* ---- judgements ---- */

static enum judgement judge_claim(struct call *call, struct store_row *row)
{
    const struct action *action = call->state;
    struct span actor = call_actor(call);
    bool is_held = row->claimed_by.len > 0;
    bool is_mine = is_held && span_equal(row->claimed_by, actor);
    bool is_open =
        row->receipt.state == RECEIPT_UNKNOWN || (row->receipt.marks & RECEIPT_CONTRADICTED) != 0;
    if (action->release ? !is_held : is_mine)
        return JUDGED_SAME;
    if (is_held && !is_mine && !action->take_over) {
        call_begin_problem(call, ADMIN_CLAIMED,
                           "%.*s is on it. Nothing was changed. Say take_over if you agreed on it.",
                           (int)row->claimed_by.len, row->claimed_by.ptr);
        writer_text(&call->json, "claimed_by", row->claimed_by);
        writer_time(&call->json, "claimed_at", row->claimed_ms);
        return refuse(call, row);
    }
    if (!action->release && !is_open) {
        call_begin_problem(call, ADMIN_NOT_OPEN,
                           "It is %s and not contradicted: there is nothing to be on. Nothing was "
                           "changed.",
                           receipt_public_state(row->receipt.state));
        return refuse(call, row);
    }
    row->receipt = receipt_mark(&row->receipt, 0);
    row->claimed_by = action->release ? span_of("", 0) : actor;
    row->claimed_ms = action->release ? 0 : call->now_ms;
    return JUDGED_CHANGE;
}

static enum judgement judge_probe(struct call *call, struct store_row *row)
{
    const struct route_policy *route = call_route(call, row->route);
    if (row->receipt.state != RECEIPT_UNKNOWN) {
        call_begin_problem(call, ADMIN_NOT_OPEN,
                           "It is %s: there is nothing to ask the upstream about. Nothing was "
                           "changed.",
                           receipt_public_state(row->receipt.state));
        return refuse(call, row);
    }
    if (route == NULL || !route->probe.is_on) {
        call_begin_problem(call, ADMIN_NO_PROBE,
                           "The route %.*s does not say how to ask the upstream: it needs "
                           "reconcile.probe. Nothing was changed.",
                           (int)row->route.len, row->route.ptr);
        return refuse(call, row);
    }
    row->receipt = receipt_mark(&row->receipt, 0);
    row->probe_due_ms = call->now_ms;
    return JUDGED_CHANGE;
}

static enum judgement judge_contradiction(struct call *call, struct store_row *row)
{
    struct action *action = call->state;
    if (row->receipt.version != action->version) {
        call_begin_problem(call, ADMIN_CHANGED,
                           "You looked at version %u; it is version %u now, state %s. Nothing was "
                           "changed. Look again before you decide.",
                           action->version, row->receipt.version,
                           receipt_public_state(row->receipt.state));
        return refuse(call, row);
    }
    /* Whoever says that it ran twice says that it ran: a freed key is taken again. */
    const struct receipt_event event = {.kind = RECEIPT_EV_CONTRADICT, .now_ms = call->now_ms};
    struct receipt next;
    if (receipt_step(&row->receipt, &event, &next) != RECEIPT_MOVED) {
        call_begin_problem(call, ADMIN_NOT_SETTLEABLE,
                           "The operation is %s: nothing about it can be contradicted any more.",
                           receipt_public_state(row->receipt.state));
        return refuse(call, row);
    }
    uint32_t count;
    const struct attempt_record *attempts = operation_attempts(call, row, &count);
    const struct doubt_times times = {.now_ms = call->now_ms,
                                      .last_end_ms = operation_last_end_ms(attempts, count)};
    action->marks_anew = (row->receipt.marks & RECEIPT_CONTRADICTED) == 0;
    receipts_take_doubt(row, &next, call_route(call, row->route), &times);
    return JUDGED_CHANGE;
}

static enum judgement judge(struct call *call, struct store_row *row)
{
    const struct action *action = call->state;
    switch (action->kind) {
    case ACTION_CLAIM:
        return judge_claim(call, row);
    case ACTION_PROBE:
        return judge_probe(call, row);
    case ACTION_CONTRADICTION:
        return judge_contradiction(call, row);
    }
    return JUDGED_ANSWERED;
}

/* ---- the change ---- */

static struct span word_of(const struct action *action)
{
    switch (action->kind) {
    case ACTION_CLAIM:
        return action->release ? SPAN("release") : SPAN("claim");
    case ACTION_PROBE:
        return SPAN("probe");
    case ACTION_CONTRADICTION:
        return SPAN("contradiction");
    }
    return SPAN("");
}

static void find(struct call *call)
{
    call->op.kind = STORE_FIND;
    call->op.in.find.operation_id = call->parameter;
    call->op.in.find.load = 0;
    call_submit(call, on_found);
}

static void log_change(struct call *call, const struct store_row *row)
{
    const struct action *action = call->state;
    const struct route_policy *route = call_route(call, row->route);
    if (action->kind == ACTION_CONTRADICTION && action->marks_anew)
        atomic_fetch_add(&board_route(call->options->board, route)->contradictions, 1);
    const struct gw_log_pair pairs[] = {{"operation", span_str(row->operation_id), 0},
                                        {"route", row->route, 0},
                                        {"actor", action->audit.actor, 0},
                                        {"action", action->audit.action, 0},
                                        GW_LOG_END};
    gw_log(action->kind == ACTION_CONTRADICTION ? GW_LOG_WARN : GW_LOG_INFO, "operation.handled",
           pairs);
}

static void on_changed(struct call *call)
{
    struct action *action = call->state;
    if (!call_store_is_well(call))
        return;
    if (call->op.out.found == STORE_NONE) {
        call_problem(call, ADMIN_NOT_FOUND, "The operation is gone: its time was over.");
    } else if (call->op.out.found == STORE_WON) {
        log_change(call, &call->op.out.rows[0]);
        print_operation(call, &call->op.out.rows[0]);
    } else if (++action->tries < ACTION_TRIES_MAX) {
        find(call); /* somebody was faster: judge what stands there now */
    } else {
        call_problem(call, ADMIN_OVERLOADED,
                     "The operation changed %d times meanwhile. Nothing was changed; ask again.",
                     ACTION_TRIES_MAX);
    }
}

static void change(struct call *call, uint32_t seen_version)
{
    struct action *action = call->state;
    struct span detail = arena_print(call->arena, "version=%u%s", seen_version,
                                     action->take_over ? " taken over" : "");
    action->audit = (struct audit_entry){.at_ms = call->now_ms,
                                         .actor = call_actor(call),
                                         .action = word_of(action),
                                         .subject = call->parameter,
                                         .note = action->note,
                                         .detail = detail};
    call->op.kind = STORE_ADVANCE;
    call->op.in.advance.id = action->row.id;
    call->op.in.advance.expect_version = seen_version;
    call->op.in.advance.next = &action->row;
    call->op.in.advance.set_answer = false;
    call->op.in.advance.set_request = false;
    call->op.in.advance.audit = &action->audit;
    call_submit(call, on_changed);
}

static void on_found(struct call *call)
{
    struct action *action = call->state;
    if (!call_store_is_well(call))
        return;
    if (call->op.out.found != STORE_HELD) {
        call_problem(call, ADMIN_NOT_FOUND, "There is no operation with this id.");
        return;
    }
    action->row = call->op.out.rows[0];
    uint32_t seen_version = action->row.receipt.version;
    enum judgement judgement = judge(call, &action->row);
    if (judgement == JUDGED_SAME)
        print_operation(call, &action->row);
    else if (judgement == JUDGED_CHANGE)
        change(call, seen_version);
}

/* ---- the calls ---- */

/* NULL: the call was answered. */
static struct action *action_new(struct call *call, enum action_kind kind)
{
    struct action *action = arena_take(call->arena, sizeof(*action));
    if (action == NULL) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory.");
        return NULL;
    }
    action->kind = kind;
    call->state = action;
    return call_takes_operation_id(call) ? action : NULL;
}

void call_claim(struct call *call)
{
    struct json_doc doc;
    struct action *action = action_new(call, ACTION_CLAIM);
    if (action == NULL || !body_parse(call, &doc) ||
        !body_knows_members(call, &doc, 0, "release take_over note") ||
        !body_flag(call, &doc, "release", &action->release) ||
        !body_flag(call, &doc, "take_over", &action->take_over) ||
        !body_optional_note(call, &doc, &action->note))
        return;
    find(call);
}

void call_probe(struct call *call)
{
    struct json_doc doc;
    struct action *action = action_new(call, ACTION_PROBE);
    if (action == NULL || !body_parse(call, &doc) || !body_knows_members(call, &doc, 0, "note") ||
        !body_optional_note(call, &doc, &action->note))
        return;
    find(call);
}

void call_contradiction(struct call *call)
{
    struct json_doc doc;
    struct action *action = action_new(call, ACTION_CONTRADICTION);
    if (action == NULL || !body_parse(call, &doc) ||
        !body_knows_members(call, &doc, 0, "version note") ||
        !body_version(call, &doc, &action->version) || !body_note(call, &doc, &action->note))
        return;
    find(call);
}

/* ---- comments ---- */

static void on_comments(struct call *call)
{
    if (!call_store_is_well(call))
        return;
    call_begin(call, 200);
    operation_print_comments(call, call->op.out.audit, call->op.out.audit_count);
    call_end(call);
}

static void on_noted(struct call *call)
{
    if (!call_store_is_well(call))
        return;
    if (call->op.out.found == STORE_NONE) {
        call_problem(call, ADMIN_NOT_FOUND, "There is no operation with this id.");
        return;
    }
    call->op.kind = STORE_AUDIT;
    call->op.in.find.operation_id = call->parameter;
    call_submit(call, on_comments);
}

void call_comment(struct call *call)
{
    struct json_doc doc;
    struct audit_entry *audit = arena_take(call->arena, sizeof(*audit));
    struct span text;
    if (audit == NULL) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory.");
        return;
    }
    if (!call_takes_operation_id(call) || !body_parse(call, &doc) ||
        !body_knows_members(call, &doc, 0, "text"))
        return;
    if (!body_words(call, &doc, body_member(&doc, 0, "text"), CALL_COMMENT_BYTES_MAX, &text)) {
        call_problem(call, ADMIN_BODY_INVALID,
                     "text: the comment, in 1 to %d bytes without control characters but tab and "
                     "newline; it goes on record with your name.",
                     CALL_COMMENT_BYTES_MAX);
        return;
    }
    *audit = (struct audit_entry){.at_ms = call->now_ms,
                                  .actor = call_actor(call),
                                  .action = SPAN("comment"),
                                  .subject = call->parameter,
                                  .note = text,
                                  .detail = SPAN("")};
    call->op.kind = STORE_NOTE;
    call->op.in.note.audit = audit;
    call_submit(call, on_noted);
}
