/* How a route finds out what became of a lost call: the probe, what its answers say,
 * and where the API gets the operation id from. It must never let a template through
 * that cannot be filled in. */
#include "conf/loader.h"

/* Where the template is wrong, in the file if its text stands there as it was written. */
static void template_error(struct loader *loader, const struct yaml_node *node,
                           const struct template_fault *fault)
{
    node_error(loader, node, "%s: column %u: %s", node->text.ptr, fault->column, fault->text);
}

static void load_probe(struct loader *loader, const struct cursor *reconcile,
                       struct probe_policy *probe)
{
    struct cursor cursor = cursor_in(reconcile, "probe");
    struct setting path = setting_get(&cursor, "path");
    struct template_fault fault;
    if (path.from != FROM_FILE)
        return;
    struct template_part *parts = loader_take(loader, TEMPLATE_PARTS_MAX, sizeof(*parts));
    if (parts == NULL)
        return;
    probe->line = path.node->line;
    probe->target.text = path.text;
    probe->target.parts = parts;
    if (!template_parse(path.text, parts, TEMPLATE_PARTS_MAX, &probe->target.part_count, &fault))
        template_error(loader, path.node, &fault);
}

static bool load_condition(struct loader *loader, const struct cursor *reconcile, const char *name,
                           struct answer_rule *rule)
{
    struct cursor cursor = cursor_in(reconcile, name);
    return cursor.node != NULL && load_conditions(loader, cursor.node, rule);
}

static void load_response(struct loader *loader, const struct cursor *reconcile,
                          struct probe_policy *probe)
{
    struct cursor cursor = cursor_in(reconcile, "response");
    if (cursor.node == NULL)
        return;
    probe->answer_status = (uint16_t)cursor_number(&cursor, "status");
    struct cursor body = cursor_in(&cursor, "body");
    struct setting from = setting_get(&body, "from");
    if (from.from == FROM_FILE)
        probe->answer_has_body = load_pointer(loader, from.text, &probe->answer_body);
}

static void load_add_id(struct loader *loader, const struct cursor *route, struct add_id_policy *to)
{
    struct cursor cursor = cursor_in(route, "add_operation_id");
    struct setting header = setting_get(&cursor, "header"), json = setting_get(&cursor, "json");
    if (cursor.node == NULL || header.is_bad || json.is_bad)
        return;
    if ((header.from == FROM_FILE) == (json.from == FROM_FILE)) {
        key_error(loader, &cursor, NULL, "give exactly one of header and json");
    } else if (header.from == FROM_FILE) {
        to->to = ADD_ID_HEADER;
        to->header = header.text;
    } else if (load_pointer(loader, json.text, &to->pointer)) {
        to->to = ADD_ID_JSON;
    }
}

void load_reconcile(struct loader *loader, const struct cursor *route, struct route_policy *ret)
{
    struct cursor cursor = cursor_in(route, "reconcile");
    struct probe_policy *probe = &ret->probe;
    load_probe(loader, &cursor, probe);
    probe->has_executed = load_condition(loader, &cursor, "executed_when", &probe->executed);
    probe->has_absent = load_condition(loader, &cursor, "absent_when", &probe->absent);
    load_response(loader, &cursor, probe);
    probe->absent_is_proof = cursor_word(&cursor, "absent_is", 0) == 1;
    probe->every_ms = cursor_number(&cursor, "every");
    probe->attempts_max = (uint32_t)cursor_number(&cursor, "attempts");
    probe->is_on = probe->target.part_count > 0 && (probe->has_executed || probe->has_absent);
    load_add_id(loader, route, &ret->add_id);
}
