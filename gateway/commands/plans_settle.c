/* `recibo backlog settle` for many: makes a plan, applies one, stops one. It must never
 * apply what it has just made: a person looks in between. */
#include "gateway/commands/plans.h"

#include "gateway/commands/commands.h"
#include "gateway/commands/groups.h"
#include "gateway/commands/probe.h"
#include "gateway/commands/settle.h"
#include "gateway/commands/terminal.h"
#include "gateway/commands/words.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

#define TEXT_BYTES   ((size_t)8 << 20)
#define WHERE_MAX    32
#define LOOK_MS      200
#define LOOKS_MAX    (25u * 3600 * 1000 / LOOK_MS) /* longer than any delay */
#define FAILURES_MAX 50                            /* of looks in a row: a restart takes a while */

static const struct option_spec specs[] = {
    PLANS_WHERE,
    {"--verdict", "executed|not_executed|abandoned", "what became of all of them", false},
    {"--response", "FILE",
     "executed: the body that repeats will get; - is standard input, /dev/null an empty body",
     false},
    {"--status", "NUMBER", "executed: its status", false},
    {"--header", "'NAME: VALUE'", "executed: a header of it", true},
    {"--no-response", NULL, "executed: nobody knows the answer; repeats are told so", false},
    {"--force", NULL, "not_executed: although the quiet time is not over", false},
    {"--apply", "PLAN", "settle what this plan lists", false},
    {"--no-wait", NULL, "--apply: do not wait for its end", false},
    {"--stop", "PLAN", "stop this plan: what was settled stays, the rest is left", false},
    {"--note", "TEXT", "how you know; --apply puts it on record with your name", false},
};

static const struct command_help help = {
    .synopsis = "recibo backlog settle --where NAME=VALUE --verdict VERDICT [OPTIONS]\n"
                "recibo backlog settle --apply PLAN --note TEXT [--no-wait]\n"
                "recibo backlog settle --stop PLAN",
    .text = "Settles many operations at once. First it makes a plan and prints it: nothing is\n"
            "settled. A plan is then applied, within 30 minutes: each operation is settled if it\n"
            "is still as it was, the others are left out and listed. `not_executed` takes effect\n"
            "after settle_delay; until then, and while it goes on, it can be stopped.\n"
            "Exit code 4: something was left out.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .examples = "  recibo backlog settle --where group=1 --verdict not_executed\n"
                "  recibo backlog settle --where route=create-order --where end=answer_timeout \\\n"
                "      --verdict executed --no-response\n"
                "  recibo backlog settle --apply plan_01h455vb4pex5vsknk084sn02q \\\n"
                "      --note \"none of them in their export\"\n",
};

/* ---- --where ---- */

static int set_where(const struct options *options, json_t *where, struct span name,
                     struct span value)
{
    if (json_object_getn(where, name.ptr, name.len) != NULL)
        return options_refuse(options, "--where: %.*s is given twice", (int)name.len, name.ptr);
    json_t *text = json_stringn(value.ptr, value.len);
    if (text == NULL || json_object_setn_new(where, name.ptr, name.len, text) != 0)
        return options_refuse(options, "--where: %.*s is no UTF-8 text", (int)name.len, name.ptr);
    return -1;
}

static int add_group(const struct options *options, const struct admin_client *client,
                     struct span value, json_t *where)
{
    static const char *const names[] = {"route", "end"};
    struct admin_reply reply;
    char status[24] = "none";
    uint64_t number;
    const json_t *group = NULL;
    if (!gw_parse_u64(value, &number) || number == 0 || number > INT32_MAX)
        return options_refuse(options, "--where group=NUMBER, as recibo backlog prints them");
    int code = groups_fetch(client, &reply);
    if (code != -1)
        return code;
    const json_t *list = json_object_get(reply.json, "groups");
    for (size_t i = 0; i < json_array_size(list) && group == NULL; i++)
        if (words_number(json_array_get(list, i), "number") == (int64_t)number)
            group = json_array_get(list, i);
    if (group == NULL) {
        (void)fprintf(stderr,
                      "recibo: there is no group %llu now, there are %zu; recibo backlog "
                      "groups lists them\n",
                      (unsigned long long)number, json_array_size(list)); /* nowhere else */
        code = EXIT_NOT_FOUND;
    }
    for (size_t i = 0; i < GW_COUNT(names) && code == -1; i++)
        if (words_of(group, names[i]).len > 0)
            code = set_where(options, where, span_str(names[i]), words_of(group, names[i]));
    if (code == -1 && json_is_integer(json_object_get(group, "status")))
        (void)snprintf(status, sizeof(status), "%lld",
                       (long long)words_number(group, "status")); /* at most 20 digits */
    if (code == -1)
        code = set_where(options, where, SPAN("status"), span_str(status));
    client_forget(&reply);
    return code;
}

static int add_where(const struct options *options, const struct admin_client *client,
                     const char *text, json_t *where)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0')
        return options_refuse(options, "--where is NAME=VALUE, not \"%s\"", text);
    struct span name = span_of(text, (size_t)(equals - text)), value = span_str(equals + 1);
    return span_equal(name, SPAN("group")) ? add_group(options, client, value, where)
                                           : set_where(options, where, name, value);
}

int plans_read_where(const struct options *options, const struct admin_client *client,
                     json_t **ret_where)
{
    json_t *where = json_object();
    uint32_t at = 0, count = 0;
    const char *text;
    int code = where == NULL ? EXIT_FAILED : -1;
    while (code == -1 && (text = options_next(options, "--where", &at)) != NULL)
        code = ++count > WHERE_MAX ? options_refuse(options, "--where: at most %d", WHERE_MAX)
                                   : add_where(options, client, text, where);
    if (code == -1)
        *ret_where = where;
    else
        json_decref(where);
    return code;
}

/* ---- a plan is made ---- */

static int check_verdict(const struct options *options)
{
    static const char *const words[] = {"executed", "not_executed", "abandoned"};
    const char *verdict = options_value(options, "--verdict");
    if (verdict == NULL)
        return options_refuse(options, "--verdict is missing");
    for (size_t i = 0; i < GW_COUNT(words); i++)
        if (strcmp(verdict, words[i]) == 0)
            return settle_check_response(options);
    const char *near = options_near(verdict, words, GW_COUNT(words));
    return options_refuse(options, "--verdict is executed, not_executed or abandoned%s%s",
                          near == NULL ? "" : "; did you mean ", near == NULL ? "" : near);
}

static int make_body(const struct options *options, const struct admin_client *client,
                     struct gw_buf *body)
{
    const char *note = options_value(options, "--note");
    json_t *where = NULL;
    int code = plans_read_where(options, client, &where);
    if (code != -1)
        return code;
    char *text = json_dumps(where, JSON_COMPACT);
    json_decref(where);
    if (text == NULL)
        return EXIT_FAILED;
    (void)gw_buf_print(body, "{\"where\":%s,\"verdict\":\"%s\"", text,
                       options_value(options, "--verdict")); /* asked once at the end */
    free(text);
    if (note != NULL) {
        (void)gw_buf_add(body, SPAN(",\"note\":"));
        gw_json_string(body, span_str(note));
    }
    if (options_has(options, "--force"))
        (void)gw_buf_add(body, SPAN(",\"force\":true"));
    if (strcmp(options_value(options, "--verdict"), "executed") == 0)
        code = settle_add_response(options, body);
    (void)gw_buf_byte(body, '}');
    if (code == -1 && body->failed)
        code = options_refuse(options, "the response is too large");
    return code;
}

static int print_made(const struct admin_client *client, const struct admin_reply *reply)
{
    const json_t *plan = json_object_get(reply->json, "plan");
    bool is_empty = words_number(plan, "count") == 0;
    struct gw_buf out;
    if (client->wants_json) {
        client_print_raw(reply);
        return is_empty ? EXIT_NOT_FOUND : EXIT_DONE;
    }
    gw_buf_init(&out, TEXT_BYTES);
    if (is_empty)
        (void)gw_buf_add(&out, SPAN("Nothing that is unknown fits: there is nothing to settle.\n"));
    else
        plans_print(plan, &out);
    plans_print_next(plan, &out);
    words_flush(&out);
    gw_buf_fini(&out);
    return is_empty ? EXIT_NOT_FOUND : EXIT_DONE;
}

static int make(const struct options *options, const struct admin_client *client)
{
    struct gw_buf body;
    struct admin_reply reply;
    gw_buf_init(&body, CLIENT_REPLY_BYTES);
    int code = make_body(options, client, &body);
    if (code == -1)
        code = client_want(client, "POST", "/v1/plans", gw_buf_span(&body), &reply);
    gw_buf_fini(&body);
    if (code != -1)
        return code;
    code = print_made(client, &reply);
    client_forget(&reply);
    return code;
}

/* ---- a plan is applied ---- */

static bool is_over(const json_t *plan)
{
    struct span state = words_of(plan, "state");
    return span_equal(state, SPAN("done")) || span_equal(state, SPAN("stopped"));
}

/* One line, written over; the last one ends it. */
static void progress(const json_t *plan, bool is_last)
{
    struct gw_clock *clock = gw_clock_system();
    int64_t until_ms;
    if (!terminal_shows_progress())
        return;
    int64_t done = words_number(plan, "settled") + words_number(plan, "changed") +
                   words_number(plan, "refused");
    bool waits = span_equal(words_of(plan, "state"), SPAN("waiting")) &&
                 gw_rfc3339_parse(words_of(plan, "apply_at"), &until_ms);
    int64_t left_ms = waits ? until_ms - clock->wall_ms(clock) : 0;
    /* It is only for the eye. */
    if (waits)
        (void)fprintf(stderr, "\rtakes effect in %lld s; ^C leaves it, --stop stops it   ",
                      (long long)(left_ms > 0 ? (left_ms + 999) / 1000 : 0));
    else
        (void)fprintf(stderr, "\r%lld of %lld                                            ",
                      (long long)done, (long long)words_number(plan, "count"));
    if (is_last)
        (void)fputc('\n', stderr);
}

/* -1: *ret_reply holds the plan as it is now. */
static int look(const struct admin_client *client, const char *id, struct admin_reply *ret_reply)
{
    struct gw_buf path;
    gw_buf_init(&path, 256);
    plans_path(&path, id, "");
    int code = client_want(client, "GET", path.ptr, span_of(NULL, 0), ret_reply);
    gw_buf_fini(&path);
    return code;
}

/* A server that restarts goes on with the plan: a look that fails is no end. */
static int wait_for_end(const struct admin_client *client, const char *id,
                        struct admin_reply *reply)
{
    uint32_t failures = 0;
    for (uint32_t i = 0; i < LOOKS_MAX && !is_over(json_object_get(reply->json, "plan")); i++) {
        struct admin_reply next;
        progress(json_object_get(reply->json, "plan"), false);
        probe_pause(LOOK_MS);
        int code = look(client, id, &next);
        if (code == -1) {
            client_forget(reply);
            *reply = next;
            failures = 0;
        } else if (code != EXIT_UNREACHABLE || ++failures == FAILURES_MAX) {
            return code;
        }
    }
    progress(json_object_get(reply->json, "plan"), true);
    return -1;
}

static int print_end(const struct admin_client *client, const struct admin_reply *reply)
{
    const json_t *plan = json_object_get(reply->json, "plan");
    int64_t left_out = words_number(plan, "changed") + words_number(plan, "refused");
    struct gw_buf out;
    if (client->wants_json) {
        client_print_raw(reply);
    } else {
        gw_buf_init(&out, TEXT_BYTES);
        plans_print(plan, &out);
        plans_print_next(plan, &out);
        words_flush(&out);
        gw_buf_fini(&out);
    }
    return left_out > 0 ? EXIT_CHANGED : EXIT_DONE;
}

static int apply(const struct options *options, struct admin_client *client)
{
    const char *id = options_value(options, "--apply");
    struct gw_buf path, body;
    struct admin_reply reply;
    if (!options_has(options, "--note"))
        return options_refuse(options, "--note is missing: say how you know");
    client_look_with(client, "recibo backlog plans", id);
    gw_buf_init(&path, 256);
    gw_buf_init(&body, CLIENT_REPLY_BYTES);
    plans_path(&path, id, "/apply");
    (void)gw_buf_add(&body, SPAN("{\"note\":")); /* small */
    gw_json_string(&body, span_str(options_value(options, "--note")));
    (void)gw_buf_byte(&body, '}');
    int code = client_want(client, "POST", path.ptr, gw_buf_span(&body), &reply);
    gw_buf_fini(&path);
    gw_buf_fini(&body);
    if (code != -1)
        return code;
    if (!options_has(options, "--no-wait"))
        code = wait_for_end(client, id, &reply);
    if (code == -1)
        code = print_end(client, &reply);
    if (code == EXIT_DONE &&
        span_equal(words_of(json_object_get(reply.json, "plan"), "state"), SPAN("stopped")))
        code = EXIT_FAILED; /* somebody stopped it */
    client_forget(&reply);
    return code;
}

static int stop(const struct options *options, struct admin_client *client)
{
    const char *id = options_value(options, "--stop");
    struct gw_buf path;
    struct admin_reply reply;
    client_look_with(client, "recibo backlog plans", id);
    gw_buf_init(&path, 256);
    plans_path(&path, id, "");
    int code = client_want(client, "DELETE", path.ptr, span_of(NULL, 0), &reply);
    gw_buf_fini(&path);
    if (code != -1)
        return code;
    (void)print_end(client, &reply); /* what was left out is no failure of a stop */
    client_forget(&reply);
    return EXIT_DONE;
}

/* ---- which of the three ---- */

static int check_options(const struct options *options)
{
    static const char *const ways[] = {"--where", "--apply", "--stop"};
    static const char *const of_making[] = {"--verdict", "--response",    "--status",
                                            "--header",  "--no-response", "--force"};
    uint32_t count = 0;
    for (size_t i = 0; i < GW_COUNT(ways); i++)
        count += options_has(options, ways[i]);
    if (count != 1)
        return options_refuse(options, "--where, --apply and --stop: give one of them");
    bool makes = options_has(options, "--where");
    for (size_t i = 0; i < GW_COUNT(of_making) && !makes; i++)
        if (options_has(options, of_making[i]))
            return options_refuse(options, "%s goes with --where: a plan has it already",
                                  of_making[i]);
    if (options_has(options, "--no-wait") && !options_has(options, "--apply"))
        return options_refuse(options, "--no-wait goes with --apply");
    if (makes)
        return check_verdict(options);
    const char *id = options_value(options, "--apply");
    return plans_check_id(options, id != NULL ? id : options_value(options, "--stop"));
}

int plans_settle(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    int code = options_parse(&help, argc, argv, &options);
    if (code == -1)
        code = check_options(&options);
    if (code == -1)
        code = client_open(&options, &client);
    if (code != -1)
        return code;
    if (options_has(&options, "--where"))
        return make(&options, &client);
    return options_has(&options, "--apply") ? apply(&options, &client) : stop(&options, &client);
}
