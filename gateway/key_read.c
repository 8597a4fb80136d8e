/* Finds the key where the route says it is. It decides nothing on a request: what a
 * missing or a bad key means is said by whoever asks. */
#include "gateway/key_read.h"

#include "base/text.h"

#define KEY_LINES_MAX 4 /* two are one too many; the rest makes no difference */

enum key_verdict key_read_header(struct flow *flow, const struct key_source *source,
                                 struct span *ret_key, struct key_fault *ret_fault)
{
    struct span lines[KEY_LINES_MAX];
    uint32_t count = 0;
    size_t longest = 1;
    const struct http_field *field = NULL;
    for (uint32_t from = 0;
         count < KEY_LINES_MAX && (field = http_head_find(flow->head, source->name, from)) != NULL;
         from = (uint32_t)(field - flow->head->fields) + 1) {
        lines[count++] = field->value;
        longest = field->value.len > longest ? field->value.len : longest;
    }
    char *room = arena_take(flow->arena, longest);
    size_t len = 0;
    if (room == NULL) {
        *ret_fault = (struct key_fault){"The key could not be read: the request is too large."};
        return KEY_INVALID;
    }
    enum key_verdict verdict =
        key_from_lines(&source->grammar, lines, count, room, &len, ret_fault);
    *ret_key = span_of(room, len);
    return verdict;
}

/* As with two header lines: the upstream may read the other field of that name (KEY-6). */
static bool form_has_it_twice(struct flow *flow, const struct parsed_body *body, struct span name)
{
    struct span content = gw_buf_span(&flow->body);
    uint32_t first = body->is_form ? form_find(content, body->pairs, body->pair_count, name) : 0;
    return body->is_form && first != JSON_NONE &&
           form_find(content, body->pairs + first + 1, body->pair_count - first - 1, name) !=
               JSON_NONE;
}

static enum key_verdict key_of_content(struct flow *flow, const struct key_source *source,
                                       const struct parsed_body *body, struct span *ret_key,
                                       struct key_fault *ret_fault)
{
    bool is_string = true, found = false;
    if (source->from == KEY_FROM_JSON)
        found = print_json_text(flow, body, &source->pointer, ret_key, &is_string);
    else if (source->from == KEY_FROM_FORM)
        found = print_form_text(flow, body, source->name, ret_key);
    else
        found = print_path_text(flow, source->name, ret_key);
    if (!found) {
        *ret_fault = (struct key_fault){
            "The route takes the key from the request's content, and it is not there."};
        return KEY_MISSING;
    }
    if (source->from == KEY_FROM_FORM && form_has_it_twice(flow, body, source->name)) {
        *ret_fault = (struct key_fault){"The form has the field of the key more than once."};
        return KEY_INVALID;
    }
    if (!is_string) {
        *ret_fault = (struct key_fault){"The key in the body must be a JSON string."};
        return KEY_INVALID;
    }
    return key_from_text(&source->grammar, *ret_key, ret_fault);
}

enum key_verdict key_read_part(struct flow *flow, const struct key_source *source,
                               const struct parsed_body *body, struct span *ret_key,
                               struct key_fault *ret_fault)
{
    return source->from == KEY_FROM_HEADER ? key_read_header(flow, source, ret_key, ret_fault)
                                           : key_of_content(flow, source, body, ret_key, ret_fault);
}

/* Length-prefixed, so that no two lists of parts give one key. */
static enum key_verdict key_of_all(struct flow *flow, const struct parsed_body *body,
                                   struct span *ret_key, struct key_fault *ret_fault)
{
    const struct key_source *source = &flow->route->key;
    struct span whole = SPAN("");
    for (uint32_t i = 0; i < source->part_count; i++) {
        struct span part;
        enum key_verdict verdict = key_read_part(flow, &source->parts[i], body, &part, ret_fault);
        if (verdict != KEY_OK)
            return verdict;
        whole = arena_print(flow->arena, "%.*s%zu:%.*s", (int)whole.len, whole.ptr, part.len,
                            (int)part.len, part.ptr);
    }
    *ret_key = whole;
    return KEY_OK;
}

enum key_verdict key_read_content(struct flow *flow, const struct parsed_body *body,
                                  struct span *ret_key, struct key_fault *ret_fault)
{
    const struct key_source *source = &flow->route->key;
    return source->from == KEY_FROM_ALL ? key_of_all(flow, body, ret_key, ret_fault)
                                        : key_read_part(flow, source, body, ret_key, ret_fault);
}

struct span key_of_print(struct flow *flow)
{
    char digits[2 * sizeof(flow->print.bytes) + 1];
    gw_hex(flow->print.bytes, sizeof(flow->print.bytes), digits);
    return arena_print(flow->arena, "%s", digits); /* who claims it asks whether it is whole */
}

bool key_is_left_out(const struct flow *flow)
{
    const struct key_source *source = &flow->route->key;
    return source->from == KEY_FROM_HEADER && !source->required &&
           http_head_find(flow->head, source->name, 0) == NULL;
}

enum problem key_find_place_of_id(struct flow *flow, const struct parsed_body *body,
                                  struct span *ret_detail)
{
    const struct json_pointer *pointer = &flow->route->add_id.pointer;
    if (flow->route->add_id.to != ADD_ID_JSON)
        return PROBLEM_NONE;
    switch (splice_find(body->is_json ? &body->doc : NULL, pointer, &flow->splice)) {
    case SPLICE_READY:
        return PROBLEM_NONE;
    case SPLICE_NO_OBJECT:
        *ret_detail =
            arena_print(flow->arena,
                        "On this route Recibo adds the member %.*s to the body, and there "
                        "is no JSON object for it. Nothing was sent.",
                        (int)pointer->text.len, pointer->text.ptr);
        break;
    case SPLICE_TAKEN:
        *ret_detail = arena_print(flow->arena,
                                  "The body has the member %.*s already; on this route Recibo adds "
                                  "it. Nothing was sent. Leave the member out.",
                                  (int)pointer->text.len, pointer->text.ptr);
        break;
    }
    return PROBLEM_BODY_INVALID;
}
