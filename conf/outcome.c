/* What answers mean: the two lists and the rules. It must never leave a status in
 * both lists. */
#include <stdio.h>

#include "conf/loader.h"

/* In the list of the unknown a class 5xx leaves out what says that nothing ran. */
static void leave_out(struct status_set *set, uint16_t status)
{
    set->bits[(status - 100) / 64] &= ~((uint64_t)1 << ((status - 100) % 64));
}

static void add_status(struct status_set *set, struct span text, bool is_unknown_list)
{
    struct status_set own = {{0}};
    bool is_class;
    const char *fault = value_status(text, &own, &is_class);
    if (fault != NULL)
        return; /* was reported */
    if (is_class && is_unknown_list) {
        leave_out(&own, 501);
        leave_out(&own, 505);
    }
    for (size_t i = 0; i < GW_COUNT(set->bits); i++)
        set->bits[i] |= own.bits[i];
}

/* Returns the line of the file, 0 for a default. */
static uint32_t load_statuses(const struct cursor *cursor, const char *name, struct status_set *set)
{
    bool is_unknown_list = strcmp(name, "unknown") == 0;
    struct setting setting = setting_get(cursor, name);
    if (setting.from == FROM_FILE && setting.node->kind == YAML_LIST) {
        uint32_t count;
        for (const struct yaml_node *item = cursor_items(cursor, name, &count); item != NULL;
             item = items_next(item))
            add_status(set, item->text, is_unknown_list);
        return setting.node->name_line;
    }
    struct span rest = setting.text, item;
    while (value_next_item(&rest, &item))
        add_status(set, item, is_unknown_list);
    return setting.from == FROM_FILE ? setting.node->name_line : 0;
}

static void subtract(struct status_set *from, const struct status_set *what)
{
    for (size_t i = 0; i < GW_COUNT(from->bits); i++)
        from->bits[i] &= ~what->bits[i];
}

/* A list of the file wins over the default of the other; two of the file must not meet. */
static void part_lists(struct loader *loader, const struct cursor *cursor,
                       struct outcome_policy *outcome)
{
    bool refused_given = outcome->refused_line != 0, unknown_given = outcome->unknown_line != 0;
    if (!refused_given || !unknown_given) {
        subtract(refused_given ? &outcome->unknown : &outcome->refused,
                 refused_given ? &outcome->refused : &outcome->unknown);
        return;
    }
    for (uint16_t status = 100; status < 600; status++) {
        if (!status_set_has(&outcome->refused, status) ||
            !status_set_has(&outcome->unknown, status))
            continue;
        key_error(loader, cursor, "unknown",
                  "%u: is in refused (line %u), too; an answer means one thing", status,
                  outcome->refused_line);
        return;
    }
}

static void load_rule_headers(struct loader *loader, const struct cursor *cursor,
                              struct answer_rule *rule)
{
    uint32_t count;
    const struct yaml_node *item = cursor_items(cursor, "header", &count);
    struct rule_header *headers = loader_take(loader, count + 1, sizeof(*headers));
    if (headers == NULL)
        return;
    rule->headers = headers;
    for (; item != NULL; item = items_next(item))
        headers[rule->header_count++] = (struct rule_header){item->name, item->text};
}

static void load_rule_json(struct loader *loader, const struct cursor *cursor,
                           struct answer_rule *rule)
{
    static const char *const words[] = {NULL, "exists", "absent", "empty"};
    uint32_t count;
    const struct yaml_node *item = cursor_items(cursor, "json", &count);
    struct rule_json *conditions = loader_take(loader, count + 1, sizeof(*conditions));
    if (conditions == NULL)
        return;
    rule->json = conditions;
    for (; item != NULL; item = items_next(item)) {
        struct rule_json *condition = &conditions[rule->json_count];
        condition->test = RULE_EQUALS;
        condition->text = item->text;
        condition->string_only = item->is_quoted;
        for (size_t i = 1; i < GW_COUNT(words) && !item->is_quoted; i++)
            if (span_equal(item->text, span_str(words[i])))
                condition->test = (enum rule_test)i;
        if (!item->is_quoted && item->text.len == 0)
            node_error(loader, item,
                       "nothing is given; write a value, \"\" for an empty string, or "
                       "exists, absent or empty");
        if (!load_pointer(loader, item->name, &condition->pointer))
            return;
        rule->json_count++;
    }
}

bool load_conditions(struct loader *loader, const struct yaml_node *node, struct answer_rule *rule)
{
    struct cursor cursor = cursor_of(node, span_of(NULL, 0));
    rule->line = node->line;
    rule->has_status = yaml_member(node, SPAN("status")) != NULL;
    (void)load_statuses(&cursor, "status", &rule->status); /* the rule has its own line */
    load_rule_headers(loader, &cursor, rule);
    load_rule_json(loader, &cursor, rule);
    rule->media_type = cursor_text(&cursor, "media_type");
    rule->text = cursor_text(&cursor, "text");
    uint32_t means = yaml_member(node, SPAN("means")) != NULL;
    if (node->count != means)
        return true;
    node_error(loader, node,
               "a rule without a condition fits every answer; give at least one of "
               "status, header, media_type, json, text");
    return false;
}

static void load_rule(struct loader *loader, const struct yaml_node *node, struct answer_rule *rule)
{
    struct cursor cursor = cursor_of(node, span_of(NULL, 0));
    (void)load_conditions(loader, node, rule); /* what is wrong was reported */
    rule->means = (enum answer_means)cursor_word(&cursor, "means", MEANS_UNKNOWN);
}

void load_outcome(struct loader *loader, const struct cursor *route, struct outcome_policy *outcome)
{
    struct cursor cursor = cursor_in(route, "outcome");
    uint32_t count;
    outcome->refused_line = load_statuses(&cursor, "refused", &outcome->refused);
    outcome->unknown_line = load_statuses(&cursor, "unknown", &outcome->unknown);
    part_lists(loader, &cursor, outcome);
    const struct yaml_node *item = cursor_items(&cursor, "rules", &count);
    struct answer_rule *rules = loader_take(loader, count + 1, sizeof(*rules));
    if (rules == NULL)
        return;
    outcome->rules = rules;
    for (; item != NULL && !loader->no_memory; item = items_next(item))
        load_rule(loader, item, &rules[outcome->rule_count++]);
}
