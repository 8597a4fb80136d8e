/* Local effects: what a route does in Recibo's own database. It must never let a
 * statement through whose words already say that it cannot be run. */
#include "conf/loader.h"

bool route_is_local(const struct cursor *route)
{
    return yaml_member(route->node, SPAN("local")) != NULL;
}

/* ---- accept ---- */

static uint32_t type_of(const struct yaml_node *word)
{
    /* In the order of the words in the table of keys. */
    static const uint32_t types[] = {ACCEPT_STRING, ACCEPT_INTEGER, ACCEPT_NUMBER, ACCEPT_BOOLEAN,
                                     ACCEPT_NULL,   ACCEPT_STRING,  ACCEPT_NUMBER};
    uint32_t row = field_find("routes[].local.accept.types.*[]");
    bool later;
    uint32_t index = field_word_find(field_at(row)->words, word->text, &later);
    gw_assert(index < GW_COUNT(types)); /* the check of the schema has seen it */
    return types[index];
}

static uint32_t types_of(const struct yaml_node *node)
{
    uint32_t types = 0;
    if (node->kind == YAML_SCALAR)
        return type_of(node);
    for (const struct yaml_node *item = node->child; item != NULL; item = item->next)
        types |= item->is_bad ? 0 : type_of(item);
    return types;
}

static void load_types(struct loader *loader, const struct cursor *accept,
                       struct accept_member *members, uint32_t count)
{
    uint32_t named;
    const struct yaml_node *node = cursor_items(accept, "types", &named);
    for (; node != NULL; node = items_next(node)) {
        uint32_t i = 0;
        while (i < count && !span_equal(members[i].name, node->name))
            i++;
        if (i == count)
            node_error(loader, node, "there is no such member in accept.members");
        else
            members[i].types = types_of(node);
    }
}

static bool is_taken(const struct local_policy *local, uint32_t count, struct span name)
{
    for (uint32_t i = 0; i < count; i++)
        if (span_equal(local->names[i], name))
            return true;
    return false;
}

/* The names of all parameters: those of every effect, then the members. */
static void load_members(struct loader *loader, const struct cursor *accept,
                         struct local_policy *local)
{
    uint32_t count;
    const struct yaml_node *item = cursor_items(accept, "members", &count);
    struct accept_member *members = loader_take(loader, count + 1, sizeof(*members));
    struct span *names = loader_take(loader, count + LOCAL_PARAMETER_COUNT, sizeof(*names));
    if (members == NULL || names == NULL)
        return;
    local->names = names;
    for (uint32_t i = 0; i < LOCAL_PARAMETER_COUNT; i++)
        names[local->name_count++] = local_parameter_names[i];
    local->accept.members = members;
    for (; item != NULL && local->accept.member_count < ACCEPT_MEMBERS_MAX;
         item = items_next(item)) {
        if (is_taken(local, LOCAL_PARAMETER_COUNT, item->text)) {
            node_error(loader, item,
                       "%s: is what every statement may name already; it does not "
                       "come from the body",
                       item->text.ptr);
            continue;
        }
        if (is_taken(local, local->name_count, item->text)) {
            node_error(loader, item, "%s: is given twice", item->text.ptr);
            continue;
        }
        members[local->accept.member_count++] =
            (struct accept_member){.name = item->text, .types = ACCEPT_STRING};
        names[local->name_count++] = item->text;
    }
    load_types(loader, accept, members, local->accept.member_count);
}

void load_local(struct loader *loader, const struct cursor *route, struct route_policy *ret)
{
    struct cursor cursor = cursor_in(route, "local");
    if (cursor.node == NULL)
        return;
    struct local_policy *local = loader_take(loader, 1, sizeof(*local));
    if (local == NULL)
        return;
    struct cursor accept = cursor_in(&cursor, "accept");
    local->line = cursor_line(&cursor);
    for (uint32_t i = 0; i < ret->index; i++)
        local->index += loader->conf->routes.routes[i].local != NULL;
    local->setup = cursor_text(&cursor, "setup");
    local->statement = cursor_text(&cursor, "statement");
    local->status = (uint16_t)cursor_number(&cursor, "status");
    local->time_max_ms = cursor_number(&cursor, "time_max");
    local->takes_json = yaml_member(cursor.node, SPAN("accept")) != NULL;
    load_members(loader, &accept, local);
    local->uses_body = local_uses(local, local_parameter_names[LOCAL_BODY]);
    ret->local = local;
    ret->breaker.is_on = false; /* nothing is sent that could be stopped */
}

/* ---- judged together ---- */

static void check_statement(struct loader *loader, const struct cursor *cursor,
                            const struct local_policy *local)
{
    struct span word;
    char shown[SHOWN_BYTES];
    if (setting_get(cursor, "statement").from != FROM_FILE)
        return;
    enum sql_fault fault = local_check_statement(local, &word);
    value_shown(word, shown);
    switch (fault) {
    case SQL_FAULT_NONE:
        break;
    case SQL_FAULT_EMPTY:
        key_error(loader, cursor, "statement", "holds no statement");
        break;
    case SQL_FAULT_BROKEN:
        key_error(loader, cursor, "statement", "a quote or a comment in it does not end");
        break;
    case SQL_FAULT_VERB:
        key_error(loader, cursor, "statement",
                  "%s: must be one INSERT, UPDATE or DELETE with RETURNING", shown);
        break;
    case SQL_FAULT_SEVERAL:
        key_error(loader, cursor, "statement",
                  "%s: something follows the first statement; there can be only one", shown);
        break;
    case SQL_FAULT_RETURNING:
        key_error(loader, cursor, "statement",
                  "has no RETURNING; the row that it returns is the answer");
        break;
    case SQL_FAULT_ROLLBACK:
        key_error(loader, cursor, "statement",
                  "%s: would take back the operations of others too; write ABORT, which takes "
                  "back this one",
                  shown);
        break;
    case SQL_FAULT_PARAMETER:
        key_error(loader, cursor, "statement",
                  "%s: no value is given for this parameter; there are :owner, :operation_id, "
                  ":key, :body and the members of accept",
                  shown);
        break;
    }
}

static void check_setup(struct loader *loader, const struct cursor *cursor,
                        const struct local_policy *local)
{
    struct span word;
    char shown[SHOWN_BYTES];
    if (setting_get(cursor, "setup").from != FROM_FILE)
        return;
    enum sql_fault fault = local_check_setup(local->setup, &word);
    value_shown(word, shown);
    if (fault == SQL_FAULT_VERB)
        key_error(loader, cursor, "setup",
                  "%s: only CREATE TABLE and CREATE INDEX may stand here, with IF NOT EXISTS, for "
                  "they are run at every start",
                  shown);
    else if (fault == SQL_FAULT_PARAMETER)
        key_error(loader, cursor, "setup", "%s: there are no parameters here", shown);
    else if (fault == SQL_FAULT_ROLLBACK)
        key_error(loader, cursor, "setup",
                  "%s: would take back the operations of others too; write ABORT", shown);
    else if (fault != SQL_FAULT_NONE)
        key_error(loader, cursor, "setup", "a quote or a comment in it does not end");
}

static void check_unused(struct loader *loader, const struct cursor *cursor,
                         const struct local_policy *local)
{
    struct cursor accept = cursor_in(cursor, "accept");
    for (uint32_t i = 0; i < local->accept.member_count; i++)
        if (!local_uses(local, local->accept.members[i].name))
            key_warning(loader, &accept, "members",
                        "%s: is taken from the body, but the statement does not name it: it is "
                        "not kept",
                        local->accept.members[i].name.ptr);
}

/* What speaks of sending has no meaning where nothing is sent. */
static const char *const wrong_keys[] = {"upstream",   "retry",
                                         "defer",      "outcome",
                                         "reconcile",  "add_operation_id",
                                         "compensate", "upstream_idempotency"};
static const char *const idle_keys[] = {"credentials", "breaker", "on_pending", "evidence",
                                        "on_changed_after_release"};

static bool is_among(const char *const *keys, size_t count, struct span key)
{
    for (size_t i = 0; i < count; i++)
        if (span_equal(key, span_str(keys[i])))
            return true;
    return false;
}

bool route_key_concerns_local(struct span key)
{
    return !is_among(wrong_keys, GW_COUNT(wrong_keys), key) &&
           !is_among(idle_keys, GW_COUNT(idle_keys), key);
}

static void check_neighbours(struct loader *loader, const struct cursor *route)
{
    for (const struct yaml_node *node = route->node->child; node != NULL; node = node->next) {
        if (is_among(wrong_keys, GW_COUNT(wrong_keys), node->name))
            key_error(loader, route, node->name.ptr,
                      "cannot stand beside local: the effect is in Recibo's own database, and "
                      "nothing is sent");
        else if (is_among(idle_keys, GW_COUNT(idle_keys), node->name))
            key_warning(loader, route, node->name.ptr,
                        "has no effect: the effect is local, and nothing is sent");
    }
}

static void check_surroundings(struct loader *loader, const struct cursor *route,
                               const struct route_policy *policy)
{
    struct cursor root = cursor_root(loader->root);
    struct cursor store = cursor_in(&root, "store"), key = cursor_in(route, "key");
    struct cursor fingerprint = cursor_in(route, "fingerprint");
    bool is_form = policy->fingerprint.mode == FINGERPRINT_FORM ||
                   policy->fingerprint.mode == FINGERPRINT_MULTIPART;
    if (policy->mode != ROUTE_ENFORCE && !setting_get(route, "mode").is_bad)
        key_error(loader, route, "mode",
                  "must be enforce beside local: there is no upstream that "
                  "a request could pass to");
    if (!setting_get(&store, "kind").is_bad &&
        !span_equal(loader->conf->store_kind, SPAN("sqlite")))
        key_error(loader, route, "local",
                  "needs store.kind: sqlite; the effect is a row beside "
                  "the receipt");
    if (!policy->key.required && !setting_get(&key, "required").is_bad)
        key_error(loader, &key, "required",
                  "must be true beside local: a request without a key "
                  "could pass to nobody");
    if (policy->local->takes_json && is_form && !setting_get(&fingerprint, "mode").is_bad)
        key_error(loader, &fingerprint, "mode",
                  "must be json or raw beside local.accept, which "
                  "takes a JSON body");
}

void validate_local(struct loader *loader, const struct cursor *route,
                    const struct route_policy *policy)
{
    struct cursor cursor = cursor_in(route, "local");
    check_neighbours(loader, route);
    check_surroundings(loader, route, policy);
    check_setup(loader, &cursor, policy->local);
    check_statement(loader, &cursor, policy->local);
    check_unused(loader, &cursor, policy->local);
}
