/* How a route takes back what was carried out. It must never let a template through that
 * cannot be filled in, nor one that is the same for every operation. */
#include "conf/loader.h"

#define NAME_TAIL "/compensation"

/* ---- reading ---- */

static uint32_t by_word(struct span word)
{
    return span_equal(word, SPAN("owner")) ? COMPENSATE_BY_OWNER : COMPENSATE_BY_OPERATOR;
}

static uint32_t load_by(const struct cursor *compensate)
{
    struct setting by = setting_get(compensate, "by");
    uint32_t count, bits = 0;
    if (by.from != FROM_FILE || by.node->kind != YAML_LIST)
        return by_word(by.text);
    for (const struct yaml_node *item = cursor_items(compensate, "by", &count); item != NULL;
         item = items_next(item))
        bits |= by_word(item->text);
    return bits;
}

/* NAME/compensation: no route has a slash in its name. */
static bool make_name(struct loader *loader, struct span name, struct span *ret)
{
    const struct span tail = SPAN(NAME_TAIL);
    char *room = loader_take(loader, name.len + tail.len + 1, 1);
    if (room == NULL)
        return false;
    if (name.len > 0)
        memcpy(room, name.ptr, name.len);
    memcpy(room + name.len, tail.ptr, tail.len);
    *ret = span_of(room, name.len + tail.len);
    return true;
}

/* Sent by what the route says of sending, answers and times; without what it says of its
 * callers' requests. */
static const struct route_policy *derive(struct loader *loader, const struct route_policy *route)
{
    struct route_policy *made = loader_take(loader, 1, sizeof(*made));
    if (made == NULL)
        return NULL;
    *made = *route;
    made->compensate = (struct compensate_policy){0};
    made->is_compensation = true;
    made->methods = 0; /* no request of a caller ever fits it */
    made->scope_gateway = false;
    made->fingerprint =
        (struct fingerprint_policy){.mode = FINGERPRINT_RAW, .mode_text = SPAN("compensation/1")};
    made->label_count = 0;
    made->probe = (struct probe_policy){0};
    if (made->add_id.to == ADD_ID_JSON) /* there is no body */
        made->add_id = (struct add_id_policy){0};
    made->passes_key = false;
    made->dedup_window_ms = 0;
    made->rerun_on_expiry = made->replace_on_change = false;
    /* It waits as long as it takes: who asked for it can cancel it. */
    made->defer.when = DEFER_NEVER;
    made->defer.max_age_ms = INT64_MAX;
    return make_name(loader, route->name, &made->name) ? made : NULL;
}

static void load_target(struct loader *loader, const struct setting *path,
                        struct target_template *target)
{
    struct template_fault fault;
    struct template_part *parts = loader_take(loader, TEMPLATE_PARTS_MAX, sizeof(*parts));
    if (parts == NULL)
        return;
    target->text = path->text;
    target->parts = parts;
    if (!template_parse(path->text, parts, TEMPLATE_PARTS_MAX, &target->part_count, &fault)) {
        target->part_count = 0;
        node_error(loader, path->node, "%s: column %u: %s", path->node->text.ptr, fault.column,
                   fault.text);
    }
}

static bool load_pointers_of_holes(struct loader *loader, struct compensate_policy *policy)
{
    const struct target_template *target = &policy->target;
    struct json_pointer *pointers = loader_take(loader, TEMPLATE_PARTS_MAX, sizeof(*pointers));
    policy->pointers = pointers;
    for (uint32_t i = 0; pointers != NULL && i < target->part_count; i++)
        if (target->parts[i].kind == TEMPLATE_RESPONSE &&
            !load_pointer(loader, target->parts[i].text, &pointers[i]))
            return false;
    return pointers != NULL;
}

void load_compensate(struct loader *loader, const struct cursor *route, struct route_policy *ret)
{
    struct cursor cursor = cursor_in(route, "compensate");
    struct compensate_policy *policy = &ret->compensate;
    struct setting path = setting_get(&cursor, "path");
    if (cursor.node == NULL || path.from != FROM_FILE || ret->mode != ROUTE_ENFORCE ||
        ret->upstream == NULL)
        return;
    policy->line = cursor_line(&cursor);
    policy->by = load_by(&cursor);
    policy->method = cursor_text(&cursor, "method");
    load_target(loader, &path, &policy->target);
    if (policy->target.part_count > 0 && load_pointers_of_holes(loader, policy))
        policy->route = derive(loader, ret);
}

/* ---- against the rest of the route ---- */

static bool has_label(const struct route_policy *route, struct span name)
{
    for (uint32_t i = 0; i < route->label_count; i++)
        if (span_equal(route->labels[i].name, name))
            return true;
    return false;
}

static void check_hole(struct loader *loader, const struct cursor *compensate,
                       const struct route_policy *route, const struct template_part *part)
{
    switch (part->kind) {
    case TEMPLATE_OPERATION_ID:
        if (route->add_id.to == ADD_ID_NOWHERE)
            key_error(loader, compensate, "path",
                      "column %u: {operation_id}: the API has never heard of it; add "
                      "add_operation_id to the route, or name what its answer holds",
                      part->column);
        break;
    case TEMPLATE_KEY:
        if (route->key.from == KEY_FROM_HEADER && !route->passes_key)
            key_warning(loader, compensate, "path",
                        "column %u: {key}: the key header is not passed on, so the API knows it "
                        "only if it stands elsewhere in the request, too",
                        part->column);
        break;
    case TEMPLATE_LABEL:
        if (!has_label(route, part->text))
            key_error(loader, compensate, "path",
                      "column %u: {label:%.*s}: the route has no such label", part->column,
                      (int)part->text.len, part->text.ptr);
        break;
    case TEMPLATE_RESPONSE:
        if (route->replay_body_max == 0)
            key_error(loader, compensate, "path",
                      "column %u: {response:%.*s}: replay_body_max is 0, so no answer is kept that "
                      "it could be taken from",
                      part->column, (int)part->text.len, part->text.ptr);
        break;
    case TEMPLATE_TEXT:
    case TEMPLATE_OWNER:
        break;
    }
}

static void check_target(struct loader *loader, const struct cursor *compensate,
                         const struct route_policy *route)
{
    const struct target_template *target = &route->compensate.target;
    if (target->part_count == 0)
        return; /* was reported */
    for (uint32_t i = 0; i < target->part_count; i++)
        check_hole(loader, compensate, route, &target->parts[i]);
    bool tells_apart =
        template_uses(target, TEMPLATE_OPERATION_ID) || template_uses(target, TEMPLATE_KEY) ||
        template_uses(target, TEMPLATE_LABEL) || template_uses(target, TEMPLATE_RESPONSE);
    if (!tells_apart)
        key_error(loader, compensate, "path",
                  "takes back the same for every operation; it needs {response:/POINTER}, "
                  "{operation_id}, {key} or {label:NAME}");
}

/* It is sent when nobody waits, and so without anybody's credentials. */
static bool needs_credentials(const struct loader *loader, const struct route_policy *route)
{
    if (route->owner_index == ROUTE_NO_OWNER || route->credentials == CREDENTIALS_STRIP)
        return false;
    enum conf_owner_kind kind = loader->conf->owners[route->owner_index].kind;
    return kind == OWNER_API_KEY || kind == OWNER_BASIC;
}

static void check_who(struct loader *loader, const struct cursor *compensate,
                      const struct route_policy *route)
{
    const struct conf *conf = loader->conf;
    uint32_t by = route->compensate.by;
    bool may_control = false;
    for (uint32_t i = 0; i < conf->token_count; i++)
        may_control |= (conf->tokens[i].rights & ADMIN_CONTROL) != 0;
    bool is_operated = conf->has_admin && conf->token_count > 0 && !conf->admin.is_unix;
    if ((by & COMPENSATE_BY_OWNER) != 0 && conf->own_prefix.len == 0)
        key_warning(loader, compensate, "by",
                    "owner: own_prefix is off, so there is no address where an owner could ask");
    if ((by & COMPENSATE_BY_OPERATOR) != 0 && is_operated && !may_control)
        key_warning(loader, compensate, "by",
                    "operator: nobody has the right control; add it to a token of admin.tokens");
    if (needs_credentials(loader, route))
        key_warning(loader, compensate, "path",
                    "a compensation is sent without the caller's credentials, which are never "
                    "kept; if the API needs some, it will refuse it. credentials: strip says that "
                    "it needs none");
}

void validate_compensate(struct loader *loader, const struct cursor *route,
                         const struct route_policy *policy)
{
    struct cursor compensate = cursor_in(route, "compensate");
    if (policy->compensate.route == NULL)
        return;
    check_target(loader, &compensate, policy);
    if (!setting_get(&compensate, "by").is_bad)
        check_who(loader, &compensate, policy);
}
