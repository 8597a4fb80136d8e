/* YAML text -> a tree of nodes with places. The strict half of YAML only: no
 * anchors, aliases, tags, directives, tabs or second documents, and no typing:
 * every scalar is text. Threads: pure. */
#ifndef RECIBO_CONF_YAML_H
#define RECIBO_CONF_YAML_H

#include "base/arena.h"
#include "conf/findings.h"

#define YAML_TEXT_BYTES_MAX ((size_t)1 << 20)
#define YAML_DEPTH_MAX      16
#define YAML_NODES_MAX      100000
#define YAML_MEMBERS_MAX    1024 /* of one mapping */

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml_node {
    enum yaml_kind kind;
    bool is_quoted; /* a scalar in quotes, or a block scalar */
    bool is_bad;    /* a finding was reported; nobody should believe it */
    uint32_t row;   /* of the table of fields, once checked */
    uint32_t line, column;
    uint32_t name_line, name_column;
    uint32_t index;   /* in its parent, from 0 */
    uint32_t count;   /* of children */
    struct span text; /* scalar; NUL-terminated */
    struct span name; /* member of a mapping; NUL-terminated */
    struct yaml_node *parent, *child, *last, *next;
};

/* Reads one document into the arena. Findings go to `findings`; GW_INVALID: the
 * text is no tree at all. On GW_OK there may be findings, too. *ret is NULL for
 * an empty document. */
GW_MUST_CHECK enum gw_status yaml_read(struct arena *arena, struct span text,
                                       struct findings *findings, struct yaml_node **ret);

/* The member of that name; NULL: none, or not a mapping. */
struct yaml_node *yaml_member(const struct yaml_node *map, struct span name);
/* The node after this one in the order of the file; into its children only if `down`. */
struct yaml_node *yaml_next(const struct yaml_node *node, const struct yaml_node *root, bool down);

#define YAML_PATH_BYTES 160
/* "routes[2].match.path"; `more` is added at the end, NULL: nothing. */
void yaml_path(const struct yaml_node *node, const char *more, char ret_path[YAML_PATH_BYTES]);

#endif
