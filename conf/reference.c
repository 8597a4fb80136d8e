/* docs/config.md out of the table of keys. It must never say what the table does
 * not.
 *
 * Ignored results: a buffer that is full is marked as failed, and whoever prints
 * it looks at that once, at the end. */
#include "conf/fields.h"
#include "conf/loader.h"

static void put(struct gw_buf *out, const char *text)
{
    (void)gw_buf_add(out, span_str(text));
}

static const char *type_name(enum conf_type type)
{
    switch (type) {
    case CONF_MAP:
        return "section";
    case CONF_NAMED:
        return "named entries";
    case CONF_LIST:
        return "list";
    case CONF_LIST_OR_ONE:
        return "list, or one item";
    case CONF_LATER:
        return "not served yet";
    case CONF_BOOL:
        return "true or false";
    case CONF_WORD:
        return "word";
    case CONF_COUNT:
        return "number";
    case CONF_DURATION:
        return "duration";
    case CONF_SIZE:
        return "size";
    case CONF_RATE:
        return "bytes a second";
    case CONF_PERCENT:
        return "share";
    case CONF_TEXT:
    case CONF_EXTRA:
        return "text";
    case CONF_NAME:
        return "name";
    case CONF_OWNER_ID:
        return "owner";
    case CONF_KEY_NAME:
        return "name";
    case CONF_HEADER:
        return "header name";
    case CONF_METHOD:
        return "method";
    case CONF_STATUS:
        return "status";
    case CONF_POINTER:
        return "JSON pointer";
    case CONF_PATTERN:
        return "path pattern";
    case CONF_CONDITION:
        return "condition";
    case CONF_ADDRESS:
        return "address";
    case CONF_CIDR:
        return "address range";
    case CONF_URL:
        return "url";
    case CONF_HOST:
        return "host";
    case CONF_SHA256:
        return "64 hex digits";
    case CONF_CRYPT:
        return "crypt(3) hash";
    case CONF_FILE_NAME:
        return "file";
    case CONF_PROBLEM_BASE:
        return "beginning of a URI";
    case CONF_OWN_PREFIX:
        return "path";
    }
    return "";
}

static void put_range(const struct conf_field *field, struct gw_buf *out)
{
    char low[VALUE_TEXT_BYTES], high[VALUE_TEXT_BYTES];
    enum conf_type type = field->type;
    bool is_number = type == CONF_COUNT || type == CONF_DURATION || type == CONF_SIZE ||
                     type == CONF_RATE || type == CONF_PERCENT;
    bool is_collection = type == CONF_NAMED || type == CONF_LIST || type == CONF_LIST_OR_ONE;
    if (field->max == 0 && !is_number)
        return;
    value_print(is_number ? type : CONF_COUNT, field->min, low);
    value_print(is_number ? type : CONF_COUNT, field->max, high);
    if (field->min == field->max)
        (void)gw_buf_print(out, "%s", low);
    else
        (void)gw_buf_print(out, "%s to %s", low, high);
    put(out, is_collection ? " entries" : is_number ? "" : " bytes");
}

static void put_words(const struct conf_field *field, struct gw_buf *out)
{
    if (field->type != CONF_WORD) {
        bool is_word =
            field->type != CONF_NAMED && field->type != CONF_ADDRESS && field->words[0] != '\0';
        bool later;
        struct span word;
        for (uint32_t i = 0; is_word && (word = field_word(field->words, i, &later)).len > 0; i++)
            (void)gw_buf_print(out, ", or `%.*s`", (int)word.len, word.ptr);
        return;
    }
    for (uint32_t i = 0;; i++) {
        bool later;
        struct span word = field_word(field->words, i, &later);
        if (word.len == 0)
            return;
        (void)gw_buf_print(out, "%s`%.*s`%s", i == 0 ? ": " : ", ", (int)word.len, word.ptr,
                           later ? " (not served yet)" : "");
    }
}

static void put_default(uint32_t row, struct gw_buf *out)
{
    const char *fallback = field_at(row)->fallback;
    if (field_is_required(row))
        put(out, "required");
    else if (fallback == NULL)
        put(out, "");
    else if (field_is_computed(row))
        put(out, fallback + 1);
    else
        (void)gw_buf_print(out, "`%s`", fallback);
}

static void put_row(uint32_t row, struct gw_buf *out)
{
    const struct conf_field *field = field_at(row);
    (void)gw_buf_print(out, "| `%s` | %s", field->path, type_name(field->type));
    put_words(field, out);
    put(out, " | ");
    put_default(row, out);
    put(out, " | ");
    if (field->type != CONF_LATER)
        put_range(field, out);
    (void)gw_buf_print(out, " | %s | %s |\n",
                       field->type == CONF_LATER        ? ""
                       : field->applies == CONF_RESTART ? "restart"
                                                        : "reload",
                       field->doc);
}

static const char head[] =
    "# Configuration\n\n"
    "<!-- Printed from conf/fields.def; a test fails when this file is stale. -->\n\n"
    "One YAML file; JSON is accepted, being YAML. `recibo check -c FILE` reports every error at\n"
    "once as `file:line:column: path: value: rule` and prints what a right file promises.\n"
    "`recibo config show` prints the values that count, each with its line or `default`.\n\n"
    "- Every value is typed by the table below, never by YAML: `no` and `on` are texts, booleans\n"
    "  are `true` and `false` alone. Anchors, aliases, tags, directives, tabs, duplicate keys and\n"
    "  second documents are refused. The file is UTF-8 of at most 1 MiB.\n"
    "- `${NAME}` inside a value is taken from the environment; unset is an error; `$$` is a "
    "dollar.\n"
    "- Secrets can stand in files: `sha256_file`, `hash_file`, relative to the folder of this "
    "file.\n"
    "- Durations: `500ms` `2s` `10m` `24h` `30d`. Sizes: `65536` `64KiB` `1MiB`. Rates: `64/s`.\n"
    "  Shares: `20%`. Statuses: `429`, `500-504`, `5xx`.\n"
    "- `[]` is an item of a list, `.*` an entry with a name of your choice.\n"
    "- A key marked *not served yet* is known and refused; it is never silently ignored.\n"
    "- With exactly one upstream it is every route's; with exactly one owner entry it is every\n"
    "  enforce and observe route's. A pass route has an owner only if it names one.\n"
    "- Without the section `admin` there is no operator's plane, and nobody can settle an unknown\n"
    "  outcome; `check` warns of it.\n\n"
    "The smallest useful file:\n\n"
    "```yaml\n"
    "upstreams: {legacy: {url: \"http://127.0.0.1:9000\"}}\n"
    "owners: {everyone: {kind: static}}\n"
    "routes:\n"
    "  - {name: create-order, match: {path: /orders}, labels: {order: {json: /order_no}}}\n"
    "  - {name: everything-else, mode: pass, match: {path: \"/*\"}}\n"
    "```\n\n"
    "| key | type | default | range | a change needs | meaning |\n"
    "| --- | --- | --- | --- | --- | --- |\n";

void conf_print_reference(struct gw_buf *out)
{
    put(out, head);
    for (uint32_t row = 1; row < field_count(); row++)
        put_row(row, out);
    put(out, "\n## Presets\n\n"
             "`preset: NAME` on a route puts these in place of the defaults; what the route says\n"
             "itself wins.\n\n| preset | key | value |\n| --- | --- | --- |\n");
    struct span preset, key, value;
    for (uint32_t i = 0; preset_at(i, &preset, &key, &value); i++)
        (void)gw_buf_print(out, "| %s | `%s` | `%s` |\n", preset.ptr, key.ptr, value.ptr);
}
