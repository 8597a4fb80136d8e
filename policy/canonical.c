/* The canonical form of JSON and of raw bodies. Must never fold two bodies that
 * could mean different things: numbers keep their spelling, arrays their order. */
#include "policy/canonical.h"

#include "policy/canonical_writer.h"
#include "policy/json_order.h"

#define MEMBER_LEVELS 2 /* how deep members are named */

const char *fingerprint_mode_name(enum fingerprint_mode mode)
{
    static const char *const names[FINGERPRINT_MODE_COUNT] = {
        [FINGERPRINT_JSON] = "json",
        [FINGERPRINT_FORM] = "form",
        [FINGERPRINT_RAW] = "raw",
        [FINGERPRINT_MULTIPART] = "multipart",
    };
    gw_assert(mode < FINGERPRINT_MODE_COUNT);
    return names[mode];
}

void canonical_raw(struct span body, const struct canonical_sink *sink)
{
    struct canonical_writer writer;
    canonical_init(&writer, sink);
    canonical_tag(&writer, 'R');
    canonical_text(&writer, body);
    canonical_flush(&writer);
}

/* A container whose children are being written. */
struct json_frame {
    uint32_t child;    /* the next to write; JSON_NONE */
    uint32_t position; /* of that child in an array, counting what is left out */
    bool is_object;
    bool is_member; /* writer_end is due when the container is whole */
};

struct json_walk {
    const struct json_doc *doc;
    uint32_t *links; /* JSON_LEFT_OUT marks, and the sorted order of members */
    struct canonical_writer *writer;
    uint32_t depth;
    uint32_t level; /* how many levels of members lie above the value walked */
    struct canonical_path paths[MEMBER_LEVELS + 1];
    struct json_frame frames[JSON_DEPTH_MAX];
};

static void mark_ignored(const struct json_doc *doc, const struct canonical_options *options,
                         uint32_t *links);
static uint32_t find_kept(const struct json_walk *walk, const struct json_pointer *pointer);
static void write_tree(struct json_walk *walk, uint32_t root);
static bool write_value(struct json_walk *walk, uint32_t node, bool is_member);

void canonical_json(const struct json_doc *doc, const struct canonical_options *options,
                    uint32_t *order, const struct canonical_sink *sink)
{
    struct canonical_writer writer;
    struct json_walk walk;
    gw_assert(doc->node_count > 0);
    gw_assert(options != NULL && order != NULL);
    canonical_init(&writer, sink);
    walk.doc = doc;
    walk.links = order;
    walk.writer = &writer;
    mark_ignored(doc, options, order);
    canonical_tag(&writer, 'J');
    if (options->only_count == 0) {
        canonical_tag(&writer, 'a');
        walk.level = 0;
        path_init(&walk.paths[0]);
        write_tree(&walk, order[0] == JSON_LEFT_OUT ? JSON_NONE : 0);
        canonical_flush(&writer);
        return;
    }
    canonical_tag(&writer, 'o');
    canonical_number(&writer, options->only_count);
    walk.level = 1;
    for (uint32_t i = 0; i < options->only_count; i++) {
        path_init(&walk.paths[1]);
        path_pointer(&walk.paths[1], options->only[i].text);
        bool is_member = writer_begin(&writer, &walk.paths[1]);
        write_tree(&walk, find_kept(&walk, &options->only[i]));
        if (is_member)
            writer_end(&writer);
    }
    canonical_flush(&writer);
}

static void mark_ignored(const struct json_doc *doc, const struct canonical_options *options,
                         uint32_t *links)
{
    memset(links, 0, doc->node_count * sizeof(*links)); /* no mark by chance */
    for (uint32_t i = 0; i < options->ignore_count; i++) {
        uint32_t node = json_find(doc, &options->ignore[i]);
        if (node != JSON_NONE)
            links[node] = JSON_LEFT_OUT;
    }
}

/* The node of an `only` pointer, unless it or something around it is ignored. */
static uint32_t find_kept(const struct json_walk *walk, const struct json_pointer *pointer)
{
    uint32_t node = 0;
    for (uint32_t i = 0; i < pointer->step_count && walk->links[node] != JSON_LEFT_OUT; i++) {
        node = json_step(walk->doc, node, pointer->steps[i]);
        if (node == JSON_NONE)
            return JSON_NONE;
    }
    return walk->links[node] == JSON_LEFT_OUT ? JSON_NONE : node;
}

static void write_string(struct canonical_writer *writer, struct span raw, bool has_escapes)
{
    if (!has_escapes) {
        canonical_text(writer, raw);
        return;
    }
    struct canonical_length length;
    canonical_length_init(&length);
    json_decode(raw, true, canonical_length_put, &length);
    canonical_number(writer, length.bytes);
    json_decode(raw, true, canonical_put, writer);
}

/* From a child of an array on, the first that is not left out. */
static void frame_settle(const struct json_walk *walk, struct json_frame *frame)
{
    while (frame->child != JSON_NONE && walk->links[frame->child] == JSON_LEFT_OUT) {
        frame->child = walk->doc->nodes[frame->child].next;
        frame->position++;
    }
}

static void frame_advance(const struct json_walk *walk, struct json_frame *frame)
{
    if (frame->is_object) {
        frame->child = walk->links[frame->child];
        return;
    }
    frame->child = walk->doc->nodes[frame->child].next;
    frame->position++;
    frame_settle(walk, frame);
}

static void open_container(struct json_walk *walk, uint32_t node, bool is_member)
{
    const struct json_node *container = &walk->doc->nodes[node];
    bool is_object = container->kind == JSON_KIND_OBJECT;
    uint32_t count = 0;
    for (uint32_t i = container->child; i != JSON_NONE; i = walk->doc->nodes[i].next)
        count += walk->links[i] != JSON_LEFT_OUT;
    canonical_tag(walk->writer, is_object ? '{' : '[');
    canonical_number(walk->writer, count);
    gw_assert(walk->depth < JSON_DEPTH_MAX); /* json_parse allows no deeper document */
    struct json_frame *frame = &walk->frames[walk->depth++];
    frame->is_object = is_object;
    frame->is_member = is_member;
    frame->position = 0;
    if (is_object)
        frame->child = json_order_members(walk->doc, node, walk->links);
    else {
        frame->child = container->child;
        frame_settle(walk, frame);
    }
}

/* Begins the member that the next child of a container is, if it is to be named. */
static bool begin_child(struct json_walk *walk, const struct json_frame *frame)
{
    uint32_t level = walk->level + walk->depth;
    if (level > MEMBER_LEVELS || !canonical_has_room(walk->writer))
        return false;
    const struct json_node *node = &walk->doc->nodes[frame->child];
    struct canonical_path *path = &walk->paths[level];
    *path = walk->paths[level - 1];
    if (frame->is_object) {
        struct canonical_name name;
        canonical_name_init(&name);
        json_decode(json_name(walk->doc, frame->child), node->name_has_escapes != 0,
                    canonical_name_put, &name);
        path_step(path, &name);
    } else
        path_number(path, '/', frame->position);
    return writer_begin(walk->writer, path);
}

static void write_child(struct json_walk *walk)
{
    struct json_frame *frame = &walk->frames[walk->depth - 1];
    uint32_t node = frame->child;
    bool is_member = begin_child(walk, frame);
    if (frame->is_object)
        write_string(walk->writer, json_name(walk->doc, node),
                     walk->doc->nodes[node].name_has_escapes != 0);
    frame_advance(walk, frame);
    bool is_whole = write_value(walk, node, is_member);
    if (is_whole && is_member)
        writer_end(walk->writer);
}

/* The children are taken one by one, each node once. */
static void write_tree(struct json_walk *walk, uint32_t root)
{
    walk->depth = 0;
    if (root == JSON_NONE) {
        canonical_tag(walk->writer, '-');
        return;
    }
    (void)write_value(walk, root, false); /* the loop does what is left of it */
    while (walk->depth > 0) {
        const struct json_frame *frame = &walk->frames[walk->depth - 1];
        if (frame->child != JSON_NONE) {
            write_child(walk);
            continue;
        }
        walk->depth--;
        if (frame->is_member)
            writer_end(walk->writer);
    }
}

/* Whole for a scalar; of a container only the beginning: then false. */
static bool write_value(struct json_walk *walk, uint32_t node, bool is_member)
{
    const struct json_node *value = &walk->doc->nodes[node];
    switch ((enum json_kind)value->kind) {
    case JSON_KIND_NULL:
        canonical_tag(walk->writer, 'n');
        return true;
    case JSON_KIND_FALSE:
        canonical_tag(walk->writer, 'f');
        return true;
    case JSON_KIND_TRUE:
        canonical_tag(walk->writer, 't');
        return true;
    case JSON_KIND_NUMBER:
        canonical_tag(walk->writer, '#');
        canonical_text(walk->writer, json_value(walk->doc, node));
        return true;
    case JSON_KIND_STRING:
        canonical_tag(walk->writer, '"');
        write_string(walk->writer, json_value(walk->doc, node), value->has_escapes != 0);
        return true;
    case JSON_KIND_ARRAY:
    case JSON_KIND_OBJECT:
        break;
    }
    open_container(walk, node, is_member);
    return false;
}
