/* From what was seen to lines of configuration. It proposes and explains; it never
 * says that something is safe: what a member or a status means only the integrator
 * knows.
 *
 * Ignored results: a buffer that is full is marked as failed, and whoever sends it
 * looks at that once. */
#include "gateway/admin/report.h"

#include "conf/values.h"
#include "gateway/media.h"

#define TIMEOUT_STEP_MS  INT64_C(5000)
#define SIZE_MAX_BYTES   ((uint64_t)1 << 30) /* as much as a route may say */
#define REPEATS_TO_TRUST 2                   /* one repeat alone shows nothing */

static void put(struct gw_buf *out, const char *text)
{
    (void)gw_buf_add(out, span_str(text));
}

static void put_duration(struct gw_buf *out, int64_t ms)
{
    char text[VALUE_TEXT_BYTES];
    value_print(CONF_DURATION, ms, text);
    put(out, text);
}

static void put_size(struct gw_buf *out, uint64_t bytes)
{
    char text[VALUE_TEXT_BYTES];
    value_print(CONF_SIZE, (int64_t)bytes, text);
    put(out, text);
}

/* ---- upstreams: timeouts ---- */

/* Twice what was seen: the slowest one yet is not the slowest one ever. */
static int64_t enough_time(int64_t slowest_ms, int64_t now_ms)
{
    int64_t wanted = (2 * slowest_ms + TIMEOUT_STEP_MS - 1) / TIMEOUT_STEP_MS * TIMEOUT_STEP_MS;
    return wanted > now_ms ? wanted : now_ms;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool is_observed(const struct report_route *seen)
{
    return seen->route != NULL && seen->route->mode == ROUTE_OBSERVE;
}

static void suggest_upstream(const struct report *report, const struct upstream_policy *upstream,
                             struct gw_buf *out)
{
    int64_t slowest = 0;
    bool is_used = false;
    const struct report_route *seen;
    for (uint32_t i = 0; (seen = report_at(report, i)) != NULL; i++) {
        if (!is_observed(seen) || seen->route->upstream != upstream)
            continue;
        is_used = true;
        slowest = larger(slowest, seen->slowest_ms);
    }
    if (!is_used)
        return;
    int64_t answer = enough_time(slowest, upstream->answer_ms);
    /* The first byte may be as late as the last one was. */
    int64_t first_byte = enough_time(slowest, upstream->first_byte_ms);
    (void)gw_buf_print(out, "  %.*s:\n    timeouts: {connect: ", (int)upstream->name.len,
                       upstream->name.ptr);
    put_duration(out, upstream->connect_ms);
    put(out, ", send: ");
    put_duration(out, upstream->send_ms);
    put(out, ", first_byte: ");
    put_duration(out, first_byte < answer ? first_byte : answer);
    put(out, ", idle: ");
    put_duration(out, upstream->idle_ms);
    put(out, ", answer: ");
    put_duration(out, answer);
    put(out, ", late: ");
    put_duration(out, larger(upstream->late_ms, answer));
    put(out, "}  # slowest answer ");
    put_duration(out, slowest);
    put(out, answer > upstream->answer_ms ? "; raised\n" : "; what is there is enough\n");
}

/* ---- the key ---- */

static bool starts_with(struct span text, const char *word)
{
    return text.len >= strlen(word) && memcmp(text.ptr, word, strlen(word)) == 0;
}

/* Requests whose fault is that one, and the header that was there instead. */
static uint64_t missing_keys(const struct report_route *seen, struct span *ret_other)
{
    static const char before[] = "key-missing: The request has the field ";
    static const char behind[] = " instead.";
    uint64_t count = 0;
    for (uint32_t i = 0; i < seen->reasons.count; i++) {
        struct span reason = seen->reasons.items[i].name;
        if (!starts_with(reason, "key-missing"))
            continue;
        count += seen->reasons.items[i].count;
        if (starts_with(reason, before) && reason.len > strlen(before) + strlen(behind))
            *ret_other =
                span_of(reason.ptr + strlen(before), reason.len - strlen(before) - strlen(behind));
    }
    return count;
}

static void suggest_path_key(const struct report_route *seen, struct gw_buf *out)
{
    for (uint32_t i = 0; i < seen->route->segment_count; i++)
        if (seen->route->segments[i].kind == SEGMENT_PARAM) {
            put(out, "    # key: {from: path, name: ");
            gw_json_string(out, seen->route->segments[i].text);
            put(out, "}  # if each path is one operation\n");
        }
}

/* No request had a key where the route looks for it. */
static void suggest_other_key(const struct report_route *seen, struct span other,
                              struct gw_buf *out)
{
    struct report_candidate candidates[REPORT_CANDIDATES_MAX];
    uint32_t count = report_sample_candidates(seen, candidates);
    put(out, "    # No request had a key. A client can only be protected by one; where the client "
             "cannot\n    # send it, a number that stands for the operation will do.\n");
    if (other.len > 0) {
        put(out, "    key: {from: header, name: ");
        gw_json_string(out, other);
        put(out, ", required: true}  # requests have this field\n");
    }
    for (uint32_t i = 0; i < count; i++) {
        bool is_first = i == 0 && other.len == 0;
        put(out,
            is_first ? "    key: {from: json, pointer: " : "    # key: {from: json, pointer: ");
        gw_json_string(out, candidates[i].pointer);
        (void)gw_buf_print(out,
                           "}  # %u values in %u requests; only if a repeat has the same one\n",
                           candidates[i].values, candidates[i].of);
    }
    suggest_path_key(seen, out);
}

static void put_key(const struct key_source *key, bool required, struct gw_buf *out)
{
    put(out, "    key: {from: header, name: ");
    gw_json_string(out, key->name);
    put(out, required ? ", required: true" : ", required: false");
    if (key->grammar.bytes_min != 1)
        (void)gw_buf_print(out, ", min: %u", key->grammar.bytes_min);
    if (key->grammar.bytes_max != 255)
        (void)gw_buf_print(out, ", max: %u", key->grammar.bytes_max);
    put(out, key->grammar.strict ? ", strict: true" : "");
    put(out, key->grammar.uuid ? ", format: uuid" : "");
    if (key->grammar.pattern.len > 0) {
        put(out, ", pattern: ");
        gw_json_string(out, key->grammar.pattern);
    }
    if (key->grammar.extra.len > 0) {
        put(out, ", extra: ");
        gw_json_string(out, key->grammar.extra);
    }
    put(out, "}");
}

static void suggest_key(const struct report_route *seen, struct gw_buf *out)
{
    struct span other = {"", 0};
    const struct key_source *key = &seen->route->key;
    uint64_t missing = missing_keys(seen, &other), without = missing + seen->unprotected;
    if (seen->keys == 0 && without > 0) {
        suggest_other_key(seen, other, out);
        return;
    }
    if (key->from != KEY_FROM_HEADER || (without == 0 && seen->keys == 0))
        return;
    put_key(key, without == 0, out);
    if (without == 0)
        put(out, "  # every request had one\n");
    else
        (void)gw_buf_print(out,
                           "  # %llu of %llu requests had none; true refuses them, once their "
                           "clients are ready\n",
                           (unsigned long long)without, (unsigned long long)seen->exchanges);
    if (other.len > 0) {
        put(out, "    # some have the field ");
        gw_json_string(out, other);
        put(out, " instead\n");
    }
}

/* ---- what is compared ---- */

/* The mode that can compare the bodies that came. */
static enum fingerprint_mode mode_for(const struct report_route *seen, uint64_t *ret_refused)
{
    static const char before[] = "unsupported-media-type: ";
    static const enum fingerprint_mode modes[] = {FINGERPRINT_FORM, FINGERPRINT_MULTIPART,
                                                  FINGERPRINT_JSON};
    uint64_t fits[GW_COUNT(modes)] = {0};
    *ret_refused = 0;
    for (uint32_t i = 0; i < seen->reasons.count; i++) {
        struct span reason = seen->reasons.items[i].name;
        if (!starts_with(reason, before))
            continue;
        struct span type = span_of(reason.ptr + strlen(before), reason.len - strlen(before));
        *ret_refused += seen->reasons.items[i].count;
        for (size_t j = 0; j < GW_COUNT(modes); j++)
            fits[j] += media_fits(modes[j], type) ? seen->reasons.items[i].count : 0;
    }
    if (*ret_refused == 0)
        return seen->route->fingerprint.mode;
    for (size_t j = 0; j < GW_COUNT(modes); j++)
        if (fits[j] == *ret_refused && *ret_refused == seen->refused && seen->keys == 0)
            return modes[j];
    return FINGERPRINT_RAW; /* several kinds, and this one takes all */
}

static bool is_volatile(const struct report_route *seen, const struct report_name *member)
{
    return seen->compared > 0 && member->count == seen->compared && member->name.len > 1 &&
           member->name.ptr[0] == '/';
}

static void put_headers(const struct fingerprint_policy *policy, struct gw_buf *out)
{
    static const char *const standing[] = {"content-type", "content-encoding", "if-match",
                                           "if-none-match", "if-unmodified-since"};
    bool is_standing = policy->header_count == GW_COUNT(standing);
    for (uint32_t i = 0; is_standing && i < policy->header_count; i++)
        is_standing = span_equal(policy->headers[i], span_str(standing[i]));
    if (is_standing)
        return;
    put(out, ", headers: [");
    for (uint32_t i = 0; i < policy->header_count; i++) {
        put(out, i == 0 ? "" : ", ");
        gw_json_string(out, policy->headers[i]);
    }
    put(out, "]");
}

static void put_fingerprint(const struct report_route *seen, enum fingerprint_mode mode,
                            bool ignores_more, struct gw_buf *out)
{
    const struct fingerprint_policy *policy = &seen->route->fingerprint;
    uint32_t count = 0;
    (void)gw_buf_print(out, "fingerprint: {mode: %s", fingerprint_mode_name(mode));
    for (uint32_t i = 0; mode == FINGERPRINT_JSON && i < policy->body.ignore_count; i++) {
        put(out, count++ == 0 ? ", ignore: [" : ", ");
        gw_json_string(out, policy->body.ignore[i].text);
    }
    for (uint32_t i = 0; ignores_more && i < seen->members.count; i++) {
        if (!is_volatile(seen, &seen->members.items[i]))
            continue;
        put(out, count++ == 0 ? ", ignore: [" : ", ");
        gw_json_string(out, seen->members.items[i].name);
    }
    put(out, count > 0 ? "]" : "");
    put_headers(policy, out);
    put(out, "}");
}

static void suggest_fingerprint(const struct report_route *seen, struct gw_buf *out)
{
    const struct fingerprint_policy *policy = &seen->route->fingerprint;
    uint64_t refused = 0;
    enum fingerprint_mode mode = mode_for(seen, &refused);
    bool has_volatile = false;
    for (uint32_t i = 0; i < seen->members.count; i++)
        has_volatile = has_volatile || is_volatile(seen, &seen->members.items[i]);
    /* Forms and files are compared whole; `only` lists leave these members out already. */
    has_volatile = has_volatile && mode == FINGERPRINT_JSON && policy->body.only_count == 0;
    if (mode == policy->mode && !has_volatile)
        return;
    bool is_trusted = seen->compared >= REPEATS_TO_TRUST && seen->same == 0;
    put(out, has_volatile && mode == policy->mode && !is_trusted ? "    # " : "    ");
    put_fingerprint(seen, mode, has_volatile, out);
    if (has_volatile)
        (void)gw_buf_print(out,
                           "  # changed in %llu of %llu repeats; leave out only what does not "
                           "matter\n",
                           (unsigned long long)seen->compared,
                           (unsigned long long)(seen->compared + seen->same));
    else
        (void)gw_buf_print(out, "  # %llu requests had a body of another type\n",
                           (unsigned long long)refused);
}

/* ---- sizes, answers, what enforce asks for ---- */

static void suggest_size(const char *name, uint64_t largest, uint64_t now, struct gw_buf *out)
{
    uint64_t wanted = 1024;
    while (wanted < 2 * largest && wanted < SIZE_MAX_BYTES)
        wanted *= 2;
    if (wanted <= now)
        return;
    (void)gw_buf_print(out, "    %s: ", name);
    put_size(out, wanted);
    (void)gw_buf_print(out, "  # largest seen: %llu bytes\n", (unsigned long long)largest);
}

static bool is_named(const struct outcome_policy *outcome, uint16_t status)
{
    bool named =
        status_set_has(&outcome->refused, status) || status_set_has(&outcome->unknown, status);
    for (uint32_t i = 0; i < outcome->rule_count; i++)
        named = named ||
                (outcome->rules[i].has_status && status_set_has(&outcome->rules[i].status, status));
    return named;
}

static void suggest_outcome(const struct report_route *seen, struct gw_buf *out)
{
    const struct outcome_policy *outcome = &seen->route->outcome;
    bool is_bare =
        outcome->rule_count == 0 && outcome->refused_line == 0 && outcome->unknown_line == 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < seen->answers.count; i++) {
        const struct report_status *answer = &seen->answers.items[i];
        if (answer->status < 300 || answer->status > 399 || is_named(outcome, answer->status))
            continue;
        if (count++ == 0)
            put(out,
                is_bare ? "    outcome:\n      rules:\n" : "    # to be added to outcome.rules:\n");
        (void)gw_buf_print(out,
                           "%s- {status: %u, means: unknown}  # came %llu times; say what it means "
                           "(a login page: refused)\n",
                           is_bare ? "        " : "    #   ", answer->status,
                           (unsigned long long)answer->count);
    }
}

static void suggest_route(const struct report_route *seen, struct gw_buf *out)
{
    const struct route_policy *route = seen->route;
    (void)gw_buf_print(out, "  - name: %.*s  # %llu exchanges\n    mode: enforce",
                       (int)route->name.len, route->name.ptr, (unsigned long long)seen->exchanges);
    if (seen->refused > 0)
        (void)gw_buf_print(out, "  # with what the file says now it would refuse %llu of them",
                           (unsigned long long)seen->refused);
    put(out, "\n");
    suggest_key(seen, out);
    suggest_fingerprint(seen, out);
    suggest_size("request_body_max", seen->largest_request, route->request_body_max, out);
    suggest_size("replay_body_max", seen->largest_answer, route->replay_body_max, out);
    suggest_outcome(seen, out);
    if (route->label_count == 0 && !route->evidence_body)
        put(out, "    evidence: {body: true}  # enforce needs this or labels\n");
    if (route->owner_index == ROUTE_NO_OWNER)
        put(out, "    # owner: NAME  # enforce needs one: whose keys they are\n");
}

void report_suggest(const struct report *report, const struct conf *conf, struct gw_buf *out)
{
    const struct report_route *seen;
    bool has_any = false;
    for (uint32_t i = 0; (seen = report_at(report, i)) != NULL; i++)
        has_any = has_any || is_observed(seen);
    if (!has_any)
        return;
    put(out,
        "# By what was seen so far. These keys take the place of those that the file has now.\n");
    if (conf->owner_count == 0)
        put(out, "owners:\n  everyone: {kind: static}  # all callers are one; name real owners if "
                 "they are not\n");
    put(out, "upstreams:\n");
    for (uint32_t i = 0; i < conf->upstream_count; i++)
        suggest_upstream(report, &conf->upstreams[i], out);
    put(out, "routes:\n");
    for (uint32_t i = 0; (seen = report_at(report, i)) != NULL; i++)
        if (is_observed(seen))
            suggest_route(seen, out);
}
