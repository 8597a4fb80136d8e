/* `recibo backlog plans`, and how a plan is printed. It changes nothing.
 *
 * Ignored results: a buffer that is full is marked as failed, and whoever flushes it
 * tells. */
#include "gateway/commands/plans.h"

#include "gateway/admin/query.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/words.h"

#include <stdio.h>

#define PLANS_TEXT_BYTES ((size_t)8 << 20)
#define LEFT_OUT_SHOWN   50

const struct command_help backlog_plans_help = {
    .synopsis = "recibo backlog plans [PLAN]",
    .text = "Lists the plans, the newest first; or shows one: what it would do or did, some of\n"
            "its operations, what callers will get, and what was left out and why.\n",
    .words_max = 1,
    .words = "PLAN",
    .examples = "  recibo backlog plans\n"
                "  recibo backlog plans plan_01h455vb4pex5vsknk084sn02q\n",
};

int plans_check_id(const struct options *options, const char *id)
{
    if (plan_id_is_sound(span_str(id)))
        return -1;
    return options_refuse(options,
                          "\"%.64s\" is no plan id: they are \"plan_\" and 26 characters, as "
                          "recibo backlog plans lists them",
                          id);
}

void plans_path(struct gw_buf *out, const char *id, const char *tail)
{
    gw_buf_clear(out);
    (void)gw_buf_print(out, "/v1/plans/%s%s", id, tail);
    (void)gw_buf_byte(out, '\0');
}

/* ---- parts of a plan ---- */

static void print_where(const json_t *where, struct gw_buf *out)
{
    if (!json_is_object(where)) {
        (void)gw_buf_add(out, SPAN("chosen one by one"));
        return;
    }
    const char *between = "";
    for (void *at = json_object_iter((json_t *)where); at != NULL;
         at = json_object_iter_next((json_t *)where, at)) {
        const json_t *value = json_object_iter_value(at);
        (void)gw_buf_print(out, "%s", between);
        words_print(out, span_str(json_object_iter_key(at)));
        (void)gw_buf_byte(out, '=');
        words_print(out, span_of(json_string_value(value), json_string_length(value)));
        between = " ";
    }
}

static void print_time(const char *name, struct span time, struct gw_buf *out)
{
    struct gw_clock *clock = gw_clock_system();
    if (time.len == 0)
        return;
    (void)gw_buf_print(out, "  %-12s ", name);
    words_print_moment(out, time, clock->wall_ms(clock));
    (void)gw_buf_add(out, SPAN(" UTC\n"));
}

static void print_text(const char *name, struct span text, struct gw_buf *out)
{
    if (text.len == 0)
        return;
    (void)gw_buf_print(out, "  %-12s ", name);
    words_print(out, text);
    (void)gw_buf_byte(out, '\n');
}

static void print_counts(const json_t *plan, struct gw_buf *out)
{
    static const struct {
        const char *name, *text;
    } counts[] = {{"settled", "settled"},
                  {"changed", "changed meanwhile, left out"},
                  {"refused", "not possible, left out"}};
    const json_t *routes = json_object_get(plan, "by_route");
    (void)gw_buf_add(out, SPAN("  operations   "));
    words_print_count(out, words_number(plan, "count"));
    (void)gw_buf_byte(out, '\n');
    for (void *at = json_object_iter((json_t *)routes); at != NULL;
         at = json_object_iter_next((json_t *)routes, at)) {
        (void)gw_buf_add(out, SPAN("               "));
        words_print_count(out, json_integer_value(json_object_iter_value(at)));
        (void)gw_buf_add(out, SPAN(" of "));
        words_print(out, span_str(json_object_iter_key(at)));
        (void)gw_buf_byte(out, '\n');
    }
    for (size_t i = 0; i < GW_COUNT(counts); i++) {
        int64_t count = words_number(plan, counts[i].name);
        if (count == 0)
            continue;
        (void)gw_buf_add(out, SPAN("               "));
        words_print_count(out, count);
        (void)gw_buf_print(out, " %s\n", counts[i].text);
    }
}

static void print_sights(const json_t *sees, struct gw_buf *out)
{
    if (json_object_size(sees) == 0)
        return;
    (void)gw_buf_add(out, SPAN("what a repeat will get\n"));
    for (void *at = json_object_iter((json_t *)sees); at != NULL;
         at = json_object_iter_next((json_t *)sees, at)) {
        const json_t *sight = json_object_iter_value(at);
        (void)gw_buf_add(out, SPAN("  "));
        words_print_count(out, words_number(sight, "count"));
        (void)gw_buf_add(out, SPAN(" times"));
        if (json_is_integer(json_object_get(sight, "status")))
            (void)gw_buf_print(out, " %lld", (long long)words_number(sight, "status"));
        if (words_of(sight, "code").len > 0) {
            (void)gw_buf_byte(out, ' ');
            words_print(out, words_of(sight, "code"));
        }
        (void)gw_buf_add(out, SPAN(": "));
        words_print(out, words_of(sight, "text"));
        (void)gw_buf_byte(out, '\n');
    }
}

static bool add_sample(struct table *table, const json_t *operation)
{
    struct gw_clock *clock = gw_clock_system();
    struct gw_buf age, labels;
    gw_buf_init(&age, 64);
    gw_buf_init(&labels, 4096);
    words_print_age(&age, words_of(operation, "created_at"), clock->wall_ms(clock));
    words_print_labels(&labels, json_object_get(operation, "labels"));
    const struct span cells[] = {words_of(operation, "id"), words_of(operation, "route"),
                                 words_of(operation, "end"), gw_buf_span(&age),
                                 gw_buf_span(&labels)};
    bool ok = table_add(table, cells);
    gw_buf_fini(&age);
    gw_buf_fini(&labels);
    return ok;
}

static void print_samples(const json_t *samples, struct gw_buf *out)
{
    static const char *const headers[] = {"ID", "ROUTE", "HOW IT ENDED", ">AGE", "LABELS"};
    struct arena *arena = arena_new(PLANS_TEXT_BYTES);
    struct table *table = arena == NULL ? NULL : table_new(arena, headers, GW_COUNT(headers));
    for (size_t i = 0; table != NULL && i < json_array_size(samples); i++)
        (void)add_sample(table, json_array_get(samples, i)); /* a few always fit */
    if (table != NULL && json_array_size(samples) > 0) {
        (void)gw_buf_add(out, SPAN("some of them\n"));
        table_print(table, out);
    }
    arena_free(arena);
}

static void print_left_out(const json_t *left_out, struct gw_buf *out)
{
    size_t count = json_array_size(left_out);
    if (count == 0)
        return;
    (void)gw_buf_add(out, SPAN("left out\n"));
    for (size_t i = 0; i < count && i < LEFT_OUT_SHOWN; i++) {
        const json_t *entry = json_array_get(left_out, i);
        struct span id = words_of(entry, "id");
        (void)gw_buf_add(out, SPAN("  "));
        words_print(out, id.len == 0 ? SPAN("-") : id);
        (void)gw_buf_add(out, SPAN("  "));
        words_print(out, words_of(entry, "reason"));
        (void)gw_buf_byte(out, '\n');
    }
    if (count > LEFT_OUT_SHOWN)
        (void)gw_buf_print(out, "  and %zu more; --json has them\n", count - LEFT_OUT_SHOWN);
}

void plans_print(const json_t *plan, struct gw_buf *out)
{
    words_print(out, words_of(plan, "id"));
    (void)gw_buf_add(out, SPAN("  "));
    words_print(out, words_of(plan, "state"));
    (void)gw_buf_byte(out, '\n');
    print_text("verdict", words_of(plan, "verdict"), out);
    (void)gw_buf_add(out, SPAN("  for          "));
    print_where(json_object_get(plan, "where"), out);
    (void)gw_buf_print(out, "%s\n", words_is_true(plan, "force") ? ", past the quiet time" : "");
    print_counts(plan, out);
    print_text("made by", words_of(plan, "actor"), out);
    print_text("applied by", words_of(plan, "applied_by"), out);
    print_text("note", words_of(plan, "note"), out);
    print_time("made", words_of(plan, "created_at"), out);
    print_time("takes effect", words_of(plan, "apply_at"), out);
    print_time("ended", words_of(plan, "ended_at"), out);
    print_sights(json_object_get(plan, "client_sees"), out);
    print_samples(json_object_get(plan, "samples"), out);
    print_left_out(json_object_get(plan, "left_out"), out);
}

void plans_print_next(const json_t *plan, struct gw_buf *out)
{
    struct gw_clock *clock = gw_clock_system();
    struct span id = words_of(plan, "id"), state = words_of(plan, "state");
    if (span_equal(state, SPAN("draft")) && words_number(plan, "count") > 0) {
        (void)gw_buf_add(out, SPAN("\nNothing is settled yet. It can be applied until "));
        words_print_moment(out, words_of(plan, "expires_at"), clock->wall_ms(clock));
        (void)gw_buf_add(out, SPAN(" UTC:\n  recibo backlog settle --apply "));
        words_print(out, id);
        (void)gw_buf_add(out, SPAN(" --note \"...\"\n"));
        if (span_equal(words_of(plan, "verdict"), SPAN("not_executed")))
            (void)gw_buf_add(out, SPAN("It takes effect after settle_delay; until then it can be "
                                       "stopped.\n"));
    }
    if (span_equal(state, SPAN("waiting")) || span_equal(state, SPAN("applying"))) {
        (void)gw_buf_add(out, SPAN("\nTo stop it: recibo backlog settle --stop "));
        words_print(out, id);
        (void)gw_buf_byte(out, '\n');
    }
}

/* ---- the list ---- */

static bool add_plan(struct table *table, const json_t *plan, int64_t now_ms)
{
    struct gw_buf texts[5];
    for (size_t i = 0; i < GW_COUNT(texts); i++)
        gw_buf_init(&texts[i], 32768);
    words_print_count(&texts[0], words_number(plan, "count"));
    words_print_count(&texts[1], words_number(plan, "settled"));
    words_print_count(&texts[2], words_number(plan, "changed") + words_number(plan, "refused"));
    words_print_moment(&texts[3], words_of(plan, "created_at"), now_ms);
    print_where(json_object_get(plan, "where"), &texts[4]);
    const struct span cells[] = {
        words_of(plan, "id"),   words_of(plan, "state"), words_of(plan, "verdict"),
        gw_buf_span(&texts[0]), gw_buf_span(&texts[1]),  gw_buf_span(&texts[2]),
        gw_buf_span(&texts[3]), words_of(plan, "actor"), gw_buf_span(&texts[4])};
    bool ok = table_add(table, cells);
    for (size_t i = 0; i < GW_COUNT(texts); i++)
        gw_buf_fini(&texts[i]);
    return ok;
}

static void print_list(const json_t *plans, struct gw_buf *out)
{
    static const char *const headers[] = {
        "PLAN", "STATE", "VERDICT", ">COUNT", ">SETTLED", ">LEFT OUT", "MADE (UTC)", "BY", "FOR"};
    struct gw_clock *clock = gw_clock_system();
    struct arena *arena = arena_new(PLANS_TEXT_BYTES);
    struct table *table = arena == NULL ? NULL : table_new(arena, headers, GW_COUNT(headers));
    bool ok = table != NULL;
    for (size_t i = 0; ok && i < json_array_size(plans); i++)
        ok = add_plan(table, json_array_get(plans, i), clock->wall_ms(clock));
    if (json_array_size(plans) == 0)
        (void)gw_buf_add(out, SPAN("No plans. recibo backlog settle --where ... --verdict ... "
                                   "makes one.\n"));
    else if (table != NULL)
        table_print(table, out);
    if (!ok)
        (void)gw_buf_add(out, SPAN("(cut: too much to print)\n"));
    arena_free(arena);
}

int backlog_plans(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    struct admin_reply reply;
    struct gw_buf path, out;
    int code = options_parse(&backlog_plans_help, argc, argv, &options);
    if (code == -1 && options.word_count == 1)
        code = plans_check_id(&options, options.words[0]);
    if (code == -1)
        code = client_open(&options, &client);
    if (code != -1)
        return code;
    gw_buf_init(&path, 256);
    gw_buf_init(&out, PLANS_TEXT_BYTES);
    if (options.word_count == 1)
        plans_path(&path, options.words[0], "");
    code = client_want(&client, "GET", options.word_count == 1 ? path.ptr : "/v1/plans",
                       span_of(NULL, 0), &reply);
    if (code == -1) {
        const json_t *plan = json_object_get(reply.json, "plan");
        if (client.wants_json) {
            client_print_raw(&reply);
        } else if (options.word_count == 1) {
            plans_print(plan, &out);
            plans_print_next(plan, &out);
        } else {
            print_list(json_object_get(reply.json, "plans"), &out);
        }
        words_flush(&out);
        client_forget(&reply);
        code = EXIT_DONE;
    }
    gw_buf_fini(&path);
    gw_buf_fini(&out);
    return code;
}
