/* The probe and the added operation id, judged against the rest of their route. It
 * must never change the snapshot. */
#include "conf/loader.h"
#include "policy/headers.h"

static bool is_given(const struct cursor *cursor, const char *name)
{
    return yaml_member(cursor->node, span_str(name)) != NULL;
}

static bool is_right(const struct cursor *cursor, const char *name)
{
    return is_given(cursor, name) && !setting_get(cursor, name).is_bad;
}

/* What says how to probe, and nothing is probed. */
static void check_idle(struct loader *loader, const struct cursor *reconcile)
{
    static const char *const needs_probe[] = {"executed_when", "absent_when", "response",
                                              "absent_is",     "every",       "attempts"};
    for (size_t i = 0; i < GW_COUNT(needs_probe); i++)
        if (is_given(reconcile, needs_probe[i]))
            key_error(loader, reconcile, needs_probe[i],
                      "has no meaning without reconcile.probe: nothing asks the API");
}

static const struct label_policy *find_label(const struct route_policy *route, struct span name)
{
    for (uint32_t i = 0; i < route->label_count; i++)
        if (span_equal(route->labels[i].name, name))
            return &route->labels[i];
    return NULL;
}

static void check_hole(struct loader *loader, const struct cursor *probe,
                       const struct route_policy *route, const struct template_part *part)
{
    bool key_stays_here = route->key.from == KEY_FROM_HEADER && !route->passes_key;
    switch (part->kind) {
    case TEMPLATE_OPERATION_ID:
        if (route->add_id.to == ADD_ID_NOWHERE)
            key_error(loader, probe, "path",
                      "column %u: {operation_id}: the API has never heard of it; add "
                      "add_operation_id to the route, or ask by something that the request holds",
                      part->column);
        break;
    case TEMPLATE_KEY:
        if (key_stays_here)
            key_warning(loader, probe, "path",
                        "column %u: {key}: the key header is not passed on, so the API knows it "
                        "only if it stands elsewhere in the request, too",
                        part->column);
        break;
    case TEMPLATE_LABEL:
        if (find_label(route, part->text) == NULL)
            key_error(loader, probe, "path", "column %u: {label:%.*s}: the route has no such label",
                      part->column, (int)part->text.len, part->text.ptr);
        break;
    case TEMPLATE_RESPONSE:
        key_error(loader, probe, "path",
                  "column %u: {response:...}: a probe asks because there is no response",
                  part->column);
        break;
    case TEMPLATE_TEXT:
    case TEMPLATE_OWNER:
        break;
    }
}

static void check_target(struct loader *loader, const struct cursor *reconcile,
                         const struct route_policy *route)
{
    struct cursor probe = cursor_in(reconcile, "probe");
    const struct target_template *target = &route->probe.target;
    if (target->part_count == 0)
        return; /* was reported */
    for (uint32_t i = 0; i < target->part_count; i++)
        check_hole(loader, &probe, route, &target->parts[i]);
    bool tells_apart =
        template_uses(target, TEMPLATE_OPERATION_ID) || template_uses(target, TEMPLATE_KEY) ||
        template_uses(target, TEMPLATE_LABEL) || template_uses(target, TEMPLATE_RESPONSE);
    if (!tells_apart)
        key_error(loader, &probe, "path",
                  "asks the same for every operation; it needs {operation_id}, {key} or "
                  "{label:NAME}");
}

static void check_conditions(struct loader *loader, const struct cursor *reconcile,
                             const struct probe_policy *probe)
{
    if (!is_given(reconcile, "executed_when") && !is_given(reconcile, "absent_when"))
        key_error(loader, reconcile, "probe",
                  "neither executed_when nor absent_when: no answer would say anything");
    if (probe->has_executed && !probe->executed.has_status)
        key_warning(loader, reconcile, "executed_when",
                    "no status: the body of an error answer could fit as well");
    if (probe->has_absent && probe->absent_is_proof && probe->absent.json_count == 0 &&
        probe->absent.text.len == 0)
        key_warning(loader, reconcile, "absent_when",
                    "a proof by status or header alone: an API answers the same for a wrong path "
                    "or a missing right; look into the body if you can");
}

static void check_proof(struct loader *loader, const struct cursor *reconcile,
                        const struct route_policy *route)
{
    char quiet[VALUE_TEXT_BYTES], late[VALUE_TEXT_BYTES];
    if (!route->probe.absent_is_proof)
        return;
    if (!is_given(reconcile, "absent_when"))
        key_error(loader, reconcile, "absent_is", "proof: needs absent_when");
    if (route->upstream == NULL || setting_get(reconcile, "quiet_time").is_bad ||
        route->quiet_ms >= route->upstream->late_ms)
        return;
    value_print(CONF_DURATION, route->quiet_ms, quiet);
    value_print(CONF_DURATION, route->upstream->late_ms, late);
    key_error(loader, reconcile, "absent_is",
              "proof: quiet_time %s is shorter than timeouts.late %s of %s, in which the request "
              "may still be answered",
              quiet, late, route->upstream->name.ptr);
}

/* Then a verdict may be given while the answer can still come: it is taken, and marked where it
 * says otherwise, but a key that was freed too early may have run twice by then. */
static void check_quiet(struct loader *loader, const struct cursor *reconcile,
                        const struct route_policy *route)
{
    char quiet[VALUE_TEXT_BYTES], late[VALUE_TEXT_BYTES];
    if (!is_right(reconcile, "quiet_time") || route->upstream == NULL ||
        route->quiet_ms >= route->upstream->late_ms || route->probe.absent_is_proof)
        return;
    value_print(CONF_DURATION, route->quiet_ms, quiet);
    value_print(CONF_DURATION, route->upstream->late_ms, late);
    key_warning(loader, reconcile, "quiet_time",
                "%s: shorter than timeouts.late %s of %s: the answer of a lost call can still come "
                "after somebody has decided that it did not run",
                quiet, late, route->upstream->name.ptr);
}

static void check_response(struct loader *loader, const struct cursor *reconcile,
                           const struct probe_policy *probe)
{
    struct cursor response = cursor_in(reconcile, "response");
    uint16_t status = probe->answer_status;
    if (response.node == NULL)
        return;
    if (!is_given(reconcile, "executed_when"))
        key_error(loader, reconcile, "response", "needs executed_when");
    if (probe->answer_has_body && (status == 204 || status == 205 || status == 304))
        key_error(loader, &response, "body", "a %u has no body", status);
}

/* ---- the operation id on its way ---- */

static void check_id_header(struct loader *loader, const struct cursor *cursor,
                            const struct route_policy *route)
{
    static const char *const meant_otherwise[] = {
        "Host",   "Via",    "Content-Type", "Content-Encoding", "Accept",      "Accept-Encoding",
        "Expect", "Range",  "Max-Forwards", "Idempotency-Key",  "traceparent", "tracestate",
        "Origin", "Referer"};
    struct span name = route->add_id.header;
    bool is_taken = header_flags(name) != 0;
    for (size_t i = 0; i < GW_COUNT(meant_otherwise); i++)
        is_taken |= header_same_cgi_name(name, span_str(meant_otherwise[i]));
    if (is_taken)
        key_error(loader, cursor, "header",
                  "%s: means something else already; use a name like "
                  "X-Operation-Id",
                  name.ptr);
    else if (route->key.from == KEY_FROM_HEADER && header_same_cgi_name(name, route->key.name))
        key_error(loader, cursor, "header", "%s: is the header of the key, too", name.ptr);
    if (route->owner_index == ROUTE_NO_OWNER)
        return;
    const struct conf_owner *owner = &loader->conf->owners[route->owner_index];
    if (owner->header.len > 0 && header_same_cgi_name(name, owner->header))
        key_error(loader, cursor, "header", "%s: is the header of the owner %s, too", name.ptr,
                  owner->name.ptr);
}

/* Is one of them the other, or inside it? */
static bool pointers_meet(const struct json_pointer *a, const struct json_pointer *b)
{
    uint32_t least = a->step_count < b->step_count ? a->step_count : b->step_count;
    for (uint32_t i = 0; i < least; i++)
        if (!span_equal(a->steps[i], b->steps[i]))
            return false;
    return true;
}

static bool key_meets(const struct key_source *key, const struct json_pointer *pointer)
{
    if (key->from == KEY_FROM_JSON)
        return pointers_meet(&key->pointer, pointer);
    for (uint32_t i = 0; i < key->part_count; i++)
        if (key->parts[i].from == KEY_FROM_JSON && pointers_meet(&key->parts[i].pointer, pointer))
            return true;
    return false;
}

static void check_id_member(struct loader *loader, const struct cursor *cursor,
                            const struct route_policy *route)
{
    const struct json_pointer *pointer = &route->add_id.pointer;
    if (route->fingerprint.mode != FINGERPRINT_JSON)
        key_error(loader, cursor, "json",
                  "needs fingerprint.mode: json; the body of this route is not read as JSON");
    if (key_meets(&route->key, pointer))
        key_error(loader, cursor, "json",
                  "%s: the key is read there, and a body that has this member is refused",
                  pointer->text.ptr);
    for (uint32_t i = 0; i < route->label_count; i++)
        if (route->labels[i].from == LABEL_FROM_JSON &&
            pointers_meet(&route->labels[i].pointer, pointer))
            key_error(loader, cursor, "json",
                      "%s: the label %s is read there, and a body that has this member is refused",
                      pointer->text.ptr, route->labels[i].name.ptr);
}

void validate_reconcile(struct loader *loader, const struct cursor *route,
                        const struct route_policy *policy)
{
    struct cursor reconcile = cursor_in(route, "reconcile");
    struct cursor add_id = cursor_in(route, "add_operation_id");
    if (reconcile.node != NULL && !is_given(&reconcile, "probe")) {
        check_idle(loader, &reconcile);
    } else if (is_right(&reconcile, "probe")) {
        check_target(loader, &reconcile, policy);
        check_conditions(loader, &reconcile, &policy->probe);
        check_proof(loader, &reconcile, policy);
        check_response(loader, &reconcile, &policy->probe);
    }
    check_quiet(loader, &reconcile, policy);
    if (policy->add_id.to == ADD_ID_HEADER)
        check_id_header(loader, &add_id, policy);
    else if (policy->add_id.to == ADD_ID_JSON)
        check_id_member(loader, &add_id, policy);
}
