/* One pass over the events of libyaml, with a stack of where it is; what is of no interest is
 * skipped whole, however deep it goes. */
#include "conf/openapi.h"

#include <yaml.h>

#define DEPTH_MAX   8 /* of what is of interest */
#define SKIPPED_MAX 500

enum place {
    AT_ROOT,
    AT_INFO,
    AT_SERVERS,
    AT_SERVER,
    AT_PATHS,
    AT_PATH,
    AT_OPERATION,
    AT_PARAMETERS,
    AT_PARAMETER,
    AT_NOTHING, /* of no interest */
};

struct level {
    enum place place;
    bool is_map;
    struct span key; /* of a mapping, waiting for its value; ptr NULL: none */
};

struct parameter {
    struct span name, in, reference;
    bool required;
};

struct reading {
    yaml_parser_t parser;
    struct arena *arena;
    struct openapi *openapi;
    struct level levels[DEPTH_MAX];
    uint32_t depth;
    uint64_t skipped; /* depth below what is of no interest; 0: it is of interest */
    struct span path;
    uint32_t path_begin; /* the path's first operation */
    struct parameter parameter;
    struct parameter path_key; /* of all operations of the path */
    bool has_version, is_swagger, has_paths, no_memory, is_over;
};

static bool is_word(struct span text, const char *word)
{
    return text.ptr != NULL && span_equal(text, span_str(word));
}

/* "POST" of "post"; ptr NULL: not one that changes something. */
static struct span method_of(struct span key)
{
    static const struct {
        const char *word, *method;
    } known[] = {{"post", "POST"}, {"put", "PUT"}, {"patch", "PATCH"}, {"delete", "DELETE"}};
    for (size_t i = 0; i < GW_COUNT(known); i++)
        if (is_word(key, known[i].word))
            return span_str(known[i].method);
    return span_of(NULL, 0);
}

static enum place place_below(const struct reading *reading, bool is_map)
{
    const struct level *top = &reading->levels[reading->depth - 1];
    switch (top->place) {
    case AT_ROOT:
        return is_word(top->key, "paths") && is_map      ? AT_PATHS
               : is_word(top->key, "info") && is_map     ? AT_INFO
               : is_word(top->key, "servers") && !is_map ? AT_SERVERS
                                                         : AT_NOTHING;
    case AT_SERVERS:
        return is_map ? AT_SERVER : AT_NOTHING;
    case AT_PATHS:
        return is_map && top->key.len > 0 && top->key.ptr[0] == '/' ? AT_PATH : AT_NOTHING;
    case AT_PATH:
        return is_map && method_of(top->key).ptr != NULL    ? AT_OPERATION
               : !is_map && is_word(top->key, "parameters") ? AT_PARAMETERS
                                                            : AT_NOTHING;
    case AT_OPERATION:
        return !is_map && is_word(top->key, "parameters") ? AT_PARAMETERS : AT_NOTHING;
    case AT_PARAMETERS:
        return is_map ? AT_PARAMETER : AT_NOTHING;
    case AT_INFO:
    case AT_SERVER:
    case AT_PARAMETER:
    case AT_NOTHING:
        break;
    }
    return AT_NOTHING;
}

static void begin_operation(struct reading *reading, struct span method, size_t line)
{
    struct openapi *openapi = reading->openapi;
    if (openapi->count == OPENAPI_OPERATIONS_MAX) {
        openapi->is_cut = true;
        return;
    }
    openapi->operations[openapi->count++] = (struct openapi_operation){.method = method,
                                                                       .path = reading->path,
                                                                       .id = {"", 0},
                                                                       .key_name = {"", 0},
                                                                       .line = (uint32_t)line + 1};
}

static void open_level(struct reading *reading, bool is_map, size_t line)
{
    if (reading->skipped > 0) {
        reading->skipped++;
        return;
    }
    enum place place = AT_ROOT;
    if (reading->depth > 0)
        place = place_below(reading, is_map);
    else if (!is_map)
        place = AT_NOTHING;
    if (place == AT_NOTHING) {
        reading->skipped = 1;
        return;
    }
    gw_assert(reading->depth < DEPTH_MAX);
    struct span key =
        reading->depth == 0 ? span_of(NULL, 0) : reading->levels[reading->depth - 1].key;
    reading->has_paths = reading->has_paths || place == AT_PATHS;
    if (place == AT_PATH) {
        reading->path = key;
        reading->path_begin = reading->openapi->count;
        reading->path_key = (struct parameter){.name = {NULL, 0}};
    } else if (place == AT_OPERATION) {
        begin_operation(reading, method_of(key), line);
    } else if (place == AT_PARAMETER) {
        reading->parameter = (struct parameter){.name = {NULL, 0}};
    }
    reading->levels[reading->depth++] = (struct level){.place = place, .is_map = is_map};
}

/* Does a name, or the last part of a reference, speak of idempotency? */
static bool speaks_of_key(struct span text)
{
    static const char word[] = "idempoten";
    for (size_t at = 0; text.ptr != NULL && at + sizeof(word) - 1 <= text.len; at++)
        if (span_equal_nocase(span_of(text.ptr + at, sizeof(word) - 1), span_str(word)))
            return true;
    return false;
}

static void set_key(struct openapi_operation *operation, const struct parameter *key)
{
    if (key->name.ptr == NULL || operation->key_name.len > 0)
        return;
    operation->key_name = key->name;
    operation->key_is_required = key->required;
}

static void end_parameter(struct reading *reading)
{
    struct parameter *parameter = &reading->parameter;
    bool is_header = is_word(parameter->in, "header") && speaks_of_key(parameter->name);
    if (!is_header && speaks_of_key(parameter->reference)) {
        parameter->name = SPAN("Idempotency-Key"); /* what stands elsewhere is not looked up */
        is_header = true;
    }
    if (!is_header)
        return;
    /* Two levels up: the operation, or the path with all its operations. */
    bool is_of_path = reading->levels[reading->depth - 3].place == AT_PATH;
    if (is_of_path)
        reading->path_key = *parameter;
    else if (reading->openapi->count > reading->path_begin && !reading->openapi->is_cut)
        set_key(&reading->openapi->operations[reading->openapi->count - 1], parameter);
}

static void take_value(struct reading *reading)
{
    if (reading->depth > 0)
        reading->levels[reading->depth - 1].key = span_of(NULL, 0);
}

static void close_level(struct reading *reading)
{
    if (reading->skipped > 0) {
        if (--reading->skipped == 0)
            take_value(reading);
        return;
    }
    gw_assert(reading->depth > 0);
    enum place place = reading->levels[reading->depth - 1].place;
    if (place == AT_PARAMETER)
        end_parameter(reading);
    if (place == AT_PATH)
        for (uint32_t i = reading->path_begin; i < reading->openapi->count; i++)
            set_key(&reading->openapi->operations[i], &reading->path_key);
    reading->depth--;
    take_value(reading);
}

static void note_scalar(struct reading *reading, struct span key, struct span value)
{
    struct openapi *openapi = reading->openapi;
    switch (reading->levels[reading->depth - 1].place) {
    case AT_ROOT:
        reading->has_version = reading->has_version || (is_word(key, "openapi") && value.len > 1 &&
                                                        value.ptr[0] == '3' && value.ptr[1] == '.');
        reading->is_swagger = reading->is_swagger || is_word(key, "swagger");
        break;
    case AT_INFO:
        if (is_word(key, "title"))
            openapi->title = value;
        break;
    case AT_SERVER:
        if (is_word(key, "url") && openapi->server.len == 0)
            openapi->server = value;
        break;
    case AT_PATH:
        openapi->references += is_word(key, "$ref");
        break;
    case AT_OPERATION:
        if (is_word(key, "operationId") && openapi->count > reading->path_begin && !openapi->is_cut)
            openapi->operations[openapi->count - 1].id = value;
        break;
    case AT_PARAMETER:
        if (is_word(key, "name"))
            reading->parameter.name = value;
        else if (is_word(key, "in"))
            reading->parameter.in = value;
        else if (is_word(key, "$ref"))
            reading->parameter.reference = value;
        else if (is_word(key, "required"))
            reading->parameter.required = is_word(value, "true");
        break;
    case AT_SERVERS:
    case AT_PATHS:
    case AT_PARAMETERS:
    case AT_NOTHING:
        break;
    }
}

static void see_scalar(struct reading *reading, const yaml_event_t *event)
{
    struct span text;
    if (reading->skipped > 0 || reading->depth == 0)
        return;
    struct level *top = &reading->levels[reading->depth - 1];
    if (!top->is_map)
        return;
    if (!arena_copy(reading->arena,
                    span_of((const char *)event->data.scalar.value, event->data.scalar.length),
                    &text)) {
        reading->no_memory = true;
        return;
    }
    if (text.ptr == NULL)
        text = SPAN("");
    if (top->key.ptr == NULL) {
        top->key = text;
        return;
    }
    note_scalar(reading, top->key, text);
    top->key = span_of(NULL, 0);
}

static void see_alias(struct reading *reading)
{
    if (reading->skipped > 0 || reading->depth == 0)
        return;
    struct level *top = &reading->levels[reading->depth - 1];
    if (top->place == AT_PATHS || (top->place == AT_PATH && method_of(top->key).ptr != NULL))
        reading->openapi->references++;
    /* As a key it is none that is known. */
    top->key = top->key.ptr == NULL && top->is_map ? SPAN("") : span_of(NULL, 0);
}

static void see(struct reading *reading, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_MAPPING_START_EVENT:
        open_level(reading, true, event->start_mark.line);
        break;
    case YAML_SEQUENCE_START_EVENT:
        open_level(reading, false, event->start_mark.line);
        break;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        close_level(reading);
        break;
    case YAML_SCALAR_EVENT:
        see_scalar(reading, event);
        break;
    case YAML_ALIAS_EVENT:
        see_alias(reading);
        break;
    case YAML_DOCUMENT_END_EVENT:
    case YAML_STREAM_END_EVENT:
        reading->is_over = true; /* what follows is another document */
        break;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_START_EVENT:
        break;
    }
}

static enum gw_status read_events(struct reading *reading, struct gw_error *err)
{
    /* The text is bounded, and so is the number of its events. */
    while (!reading->is_over) {
        yaml_event_t event;
        if (!yaml_parser_parse(&reading->parser, &event))
            return gw_error_set(err, GW_INVALID, "line %zu, column %zu: %s",
                                reading->parser.problem_mark.line + 1,
                                reading->parser.problem_mark.column + 1,
                                reading->parser.problem == NULL ? "neither JSON nor YAML"
                                                                : reading->parser.problem);
        see(reading, &event);
        yaml_event_delete(&event);
        if (reading->skipped > SKIPPED_MAX)
            return gw_error_set(err, GW_LIMIT, "line %zu: it is nested deeper than %d levels",
                                reading->parser.mark.line + 1, SKIPPED_MAX);
        if (reading->no_memory)
            return gw_error_set(err, GW_NOMEM, "out of memory");
    }
    if (reading->is_swagger)
        return gw_error_set(err, GW_INVALID,
                            "it is Swagger 2; convert it to OpenAPI 3 first, or leave --openapi "
                            "out");
    if (!reading->has_version || !reading->has_paths)
        return gw_error_set(err, GW_INVALID,
                            "it is no OpenAPI description: it has no \"openapi: 3...\" with paths");
    return GW_OK;
}

enum gw_status openapi_read(struct arena *arena, struct span text, struct openapi *ret,
                            struct gw_error *err)
{
    struct reading *reading = arena_take(arena, sizeof(*reading));
    *ret = (struct openapi){.title = {"", 0}, .server = {"", 0}};
    ret->operations = arena_take(arena, OPENAPI_OPERATIONS_MAX * sizeof(*ret->operations));
    if (reading == NULL || ret->operations == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    reading->arena = arena;
    reading->openapi = ret;
    if (!yaml_parser_initialize(&reading->parser))
        return gw_error_set(err, GW_NOMEM, "out of memory");
    yaml_parser_set_input_string(&reading->parser, (const unsigned char *)text.ptr, text.len);
    enum gw_status status = read_events(reading, err);
    yaml_parser_delete(&reading->parser);
    return status;
}
