/* Puts evidence and audit into one order and says what each was taken to mean. It
 * must never guess: what is not on record is not told. */
#include "gateway/admin/why.h"

#include "gateway/admin/operation.h"
#include "gateway/compensation.h"

#define WHY_STEPS_MAX 512

struct step {
    int64_t at_ms;
    const char *event; /* fixed word */
    struct span text;
    enum attempt_basis basis;
    uint32_t line; /* 0: none */
};

struct timeline {
    struct call *call;
    struct step *steps;
    uint32_t count;
};

static const char *const state_docs[RECEIPT_STATE_COUNT] = {
#define STATE(name, ran, taken, doc) doc,
#define EVENT(name, doc)
#define MOVE(from, event, to)
#include "policy/receipt.def"
#undef STATE
#undef EVENT
#undef MOVE
};

/* Kept in order of time; equal times stay in the order of their adding. */
static void add_step(struct timeline *line, const struct step *step)
{
    if (step->at_ms == 0 || line->count == WHY_STEPS_MAX)
        return;
    uint32_t at = line->count++;
    while (at > 0 && line->steps[at - 1].at_ms > step->at_ms) {
        line->steps[at] = line->steps[at - 1];
        at--;
    }
    line->steps[at] = *step;
}

#define PARTS_MAX 12

/* The parts one after the other, byte for byte: what came from outside may hold a NUL, at
 * which a formatted print would end. */
static struct span join(struct arena *arena, const struct span *parts, size_t count)
{
    size_t len = 0, at = 0;
    gw_assert(count <= PARTS_MAX);
    for (size_t i = 0; i < count; i++)
        len += parts[i].len;
    char *to = arena_take(arena, len + 1);
    if (to == NULL)
        return SPAN("");
    for (size_t i = 0; i < count; i++) {
        if (parts[i].len > 0)
            memcpy(to + at, parts[i].ptr, parts[i].len);
        at += parts[i].len;
    }
    return span_of(to, len);
}

static void add_attempt(struct timeline *line, const struct attempt_record *a)
{
    struct arena *arena = line->call->arena;
    add_step(line, &(struct step){.at_ms = a->started_ms,
                                  .event = "attempt.started",
                                  .text = arena_print(arena, "attempt %u, to %.*s", a->number,
                                                      (int)a->upstream.len, a->upstream.ptr)});
    if (a->ended_ms == 0 || a->end >= END_COUNT || a->basis >= BASIS_COUNT)
        return;
    enum attempt_end end = (enum attempt_end)a->end;
    struct span status = a->status == 0 ? SPAN("") : arena_print(arena, ", status %u", a->status);
    const struct span parts[] = {
        arena_print(arena, "attempt %u: %s%.*s (%s); %llu bytes out, %llu in; ", a->number,
                    end_name(end), (int)status.len, status.ptr, end_doc(end),
                    (unsigned long long)a->bytes_out, (unsigned long long)a->bytes_in),
        a->reason};
    add_step(line, &(struct step){.at_ms = a->ended_ms,
                                  .event = "attempt.ended",
                                  .text = join(arena, parts, GW_COUNT(parts)),
                                  .basis = (enum attempt_basis)a->basis,
                                  .line = a->line});
}

/* " (text)", or nothing. */
static struct span in_brackets(struct arena *arena, struct span text)
{
    const struct span parts[] = {SPAN(" ("), text, SPAN(")")};
    return text.len == 0 ? SPAN("") : join(arena, parts, GW_COUNT(parts));
}

static struct span after_colon(struct arena *arena, struct span text)
{
    const struct span parts[] = {SPAN(": "), text};
    return text.len == 0 ? SPAN("") : join(arena, parts, GW_COUNT(parts));
}

/* A verdict rests on the word of who gave it: a person, or the probe that a route trusts. */
static enum attempt_basis basis_of(const struct audit_entry *entry)
{
    bool is_verdict =
        span_equal(entry->action, SPAN("settle")) || span_equal(entry->action, SPAN("probed"));
    return is_verdict ? BASIS_ASSERTED : BASIS_NONE;
}

static void add_audit(struct timeline *line, const struct audit_entry *entry)
{
    struct arena *arena = line->call->arena;
    bool is_comment = span_equal(entry->action, SPAN("comment"));
    const struct span parts[] = {entry->action, SPAN(" by "), entry->actor,
                                 after_colon(arena, entry->note),
                                 in_brackets(arena, entry->detail)};
    add_step(line, &(struct step){.at_ms = entry->at_ms,
                                  .event = is_comment ? "comment" : "operator",
                                  .text = join(arena, parts, GW_COUNT(parts)),
                                  .basis = basis_of(entry)});
}

static void add_probe(struct timeline *line, const struct probe_record *probe)
{
    struct arena *arena = line->call->arena;
    if (probe->result >= PROBE_RESULT_COUNT || probe->end >= END_COUNT)
        return;
    struct span status =
        probe->status == 0 ? SPAN("") : arena_print(arena, ", status %u", probe->status);
    const struct span parts[] = {probe->target,
                                 SPAN(" for "),
                                 probe->by,
                                 SPAN(": "),
                                 span_str(end_name((enum attempt_end)probe->end)),
                                 status,
                                 SPAN("; "),
                                 span_str(probe_result_name((enum probe_result)probe->result)),
                                 in_brackets(arena, probe->reason)};
    add_step(line, &(struct step){.at_ms = probe->at_ms,
                                  .event = "probed",
                                  .text = join(arena, parts, GW_COUNT(parts))});
}

static void add_row(struct timeline *line, const struct store_row *row)
{
    struct arena *arena = line->call->arena;
    struct span undone = compensation_of(row);
    const struct span parts[] = {row->method, SPAN(" "),
                                 row->target, SPAN(" of "),
                                 row->owner,  SPAN(" on route "),
                                 row->route,  undone.len > 0 ? SPAN(", to take back ") : SPAN(""),
                                 undone};
    add_step(line, &(struct step){.at_ms = row->created_ms,
                                  .event = "received",
                                  .text = join(arena, parts, GW_COUNT(parts))});
    add_step(line, &(struct step){.at_ms = row->last_repeat_ms,
                                  .event = "repeated",
                                  .text = arena_print(arena,
                                                      "asked again: %u time(s) since it is unknown",
                                                      row->repeats)});
}

static void print_timeline(const struct timeline *line)
{
    struct json_writer *json = &line->call->json;
    writer_open(json, "timeline", '[');
    for (uint32_t i = 0; i < line->count; i++) {
        const struct step *step = &line->steps[i];
        writer_open(json, NULL, '{');
        writer_time(json, "at", step->at_ms);
        writer_text(json, "event", span_str(step->event));
        writer_text(json, "text", step->text);
        writer_text_or_null(json, "basis",
                            span_str(step->basis == BASIS_NONE ? "" : basis_name(step->basis)));
        if (step->line == 0)
            writer_null(json, "line");
        else
            writer_number(json, "line", step->line);
        writer_close(json, '}');
    }
    writer_close(json, ']');
}

void why_print(struct call *call, const struct store_row *row, const struct audit_entry *audit,
               uint32_t audit_count)
{
    struct json_writer *json = &call->json;
    struct timeline line = {.call = call,
                            .steps = arena_take(call->arena, WHY_STEPS_MAX * sizeof(struct step))};
    uint32_t count = 0, probe_count = 0;
    const struct attempt_record *attempts = operation_attempts(call, row, &count);
    const struct probe_record *probes = operation_probes(call, row, &probe_count);
    if (line.steps != NULL) {
        add_row(&line, row);
        for (uint32_t i = 0; i < count; i++)
            add_attempt(&line, &attempts[i]);
        for (uint32_t i = 0; i < probe_count; i++)
            add_probe(&line, &probes[i]);
        for (uint32_t i = 0; i < audit_count; i++)
            add_audit(&line, &audit[i]);
    }
    writer_text(json, "id", span_str(row->operation_id));
    writer_text(json, "state", span_str(receipt_public_state(row->receipt.state)));
    writer_bool(json, "contradicted", (row->receipt.marks & RECEIPT_CONTRADICTED) != 0);
    writer_text(json, "route", row->route);
    writer_text(json, "summary", span_str(state_docs[row->receipt.state]));
    writer_text(json, "configuration", call->conf->file);
    print_timeline(&line);
}
