/* What the steps of one load share: the tree, the arena, the findings, and how a
 * step reads a value: from the file, else from a preset, else from the table.
 * Threads: one at a time; a setting may be read later, too, for the tree lives as
 * long as the snapshot. */
#ifndef RECIBO_CONF_LOADER_H
#define RECIBO_CONF_LOADER_H

#include <stdatomic.h>

#include "base/arena.h"
#include "conf/conf.h"
#include "conf/fields.h"
#include "conf/findings.h"
#include "conf/values.h"
#include "conf/yaml.h"

#define CONF_ARENA_BYTES_MAX ((size_t)64 << 20)
#define CONF_SCALAR_BYTES    65536 /* of a value after ${NAME} was put in */

/* A snapshot with what it stands on. */
struct conf_box {
    GW_TAG(conf_box);
#define CONF_BOX_TAG 0x434f4e46u
    struct conf conf;
    atomic_uint references;
    struct arena *arena;
    const struct yaml_node *root;
    struct conf *carried; /* a reference: what was carried over lies in it; NULL: nothing */
};
const struct conf_box *conf_box_of(const struct conf *conf);

typedef const char *conf_environment_fn(const char *name);

/* One secret of the file, to find the same one under two owners. */
struct credential {
    struct credential *next;
    const uint8_t *sha256;
    struct span owner;
    const struct yaml_node *node; /* the entry of keys */
};

struct loader {
    struct arena *arena;
    struct findings findings;
    struct yaml_node *root;
    struct conf *conf;
    conf_environment_fn *environment; /* NULL: there is none */
    struct span folder;               /* of the file; empty: relative paths stay as they are */
    struct credential *credentials;
    uint32_t credential_count;
    bool may_read_files;
    bool no_memory;
};

struct conf_source {
    struct span text;
    const char *name;
    struct span folder;
    conf_environment_fn *environment;
    bool may_read_files;
};
/* conf_load and conf_parse are made of this. */
GW_MUST_CHECK enum gw_status conf_build(const struct conf_source *source, struct conf **ret_conf,
                                        struct conf_report *ret_report);

/* Zeroed room for `count` things; NULL notes that memory is out. */
void *loader_take(struct loader *loader, size_t count, size_t bytes);

/* A mapping in the file, or one that is not there and has defaults only. */
struct cursor {
    const struct yaml_node *node; /* NULL: not in the file */
    uint32_t row;
    struct span preset;             /* of the route; empty: none */
    const struct yaml_node *parent; /* nearest mapping that is in the file: for messages */
};
struct cursor cursor_root(const struct yaml_node *root);
/* The mapping `name` in it. */
struct cursor cursor_in(const struct cursor *cursor, const char *name);
/* An entry of a NAMED or an item of a LIST. */
struct cursor cursor_of(const struct yaml_node *node, struct span preset);

enum setting_from { FROM_NOTHING, FROM_FILE, FROM_PRESET, FROM_DEFAULT };
struct setting {
    uint32_t row;
    enum setting_from from;       /* NOTHING: no value, or one that is computed */
    struct span text;             /* scalars */
    const struct yaml_node *node; /* FROM_FILE */
    bool is_bad;                  /* the file's value was refused: do not judge by it */
};
struct setting setting_get(const struct cursor *cursor, const char *name);
int64_t setting_number(const struct setting *setting); /* 0: no value */
bool setting_bool(const struct setting *setting);
/* Index of the word; `otherwise` without a value. */
uint32_t setting_word(const struct setting *setting, uint32_t otherwise);
/* Shorthands. */
int64_t cursor_number(const struct cursor *cursor, const char *name);
int64_t number_or(const struct cursor *cursor, const char *name, int64_t otherwise);
bool cursor_bool(const struct cursor *cursor, const char *name);
uint32_t cursor_word(const struct cursor *cursor, const char *name, uint32_t otherwise);
struct span cursor_text(const struct cursor *cursor, const char *name); /* empty: none */
/* First good item or entry of a list or NAMED; NULL: none. */
const struct yaml_node *cursor_items(const struct cursor *cursor, const char *name,
                                     uint32_t *ret_count);
const struct yaml_node *items_next(const struct yaml_node *item);

/* ---- findings at a place ---- */
void node_error(struct loader *loader, const struct yaml_node *node, const char *fmt, ...)
    GW_PRINTF(3, 4);
/* At the key `name` of the mapping, or where it is missing, at the mapping. */
void key_error(struct loader *loader, const struct cursor *cursor, const char *name,
               const char *fmt, ...) GW_PRINTF(4, 5);
void key_warning(struct loader *loader, const struct cursor *cursor, const char *name,
                 const char *fmt, ...) GW_PRINTF(4, 5);
uint32_t cursor_line(const struct cursor *cursor);

/* ---- the steps of a load, in their order ---- */
void schema_check(struct loader *loader);
/* Instead of schema_check(): admin.address alone. There is a mapping `admin`. */
void schema_check_admin_address(struct loader *loader);
void load_owners(struct loader *loader);
void load_admin(struct loader *loader);
void load_upstreams(struct loader *loader);
void load_routes(struct loader *loader);
void load_outcome(struct loader *loader, const struct cursor *route, struct outcome_policy *ret);
void load_retry(struct loader *loader, const struct cursor *route, struct route_policy *ret);
/* status, header, media_type, json and text of a rule; false: it has none of them. */
bool load_conditions(struct loader *loader, const struct yaml_node *node, struct answer_rule *rule);
void load_compensate(struct loader *loader, const struct cursor *route, struct route_policy *ret);
void load_reconcile(struct loader *loader, const struct cursor *route, struct route_policy *ret);
void load_key(struct loader *loader, const struct cursor *route, struct route_policy *ret);
/* Of an entry of kind jwt; NULL: no memory. */
const struct conf_jwt *load_jwt(struct loader *loader, const struct cursor *entry);
/* Against the rest of the route, when that is read. */
void validate_key(struct loader *loader, const struct cursor *cursor,
                  const struct route_policy *route);
void load_local(struct loader *loader, const struct cursor *route, struct route_policy *ret);
void load_fingerprint(struct loader *loader, const struct cursor *route, struct route_policy *ret);
void load_labels(struct loader *loader, const struct cursor *route, struct route_policy *ret);
void load_process(struct loader *loader);
/* The section `tls` of a listener or of the operator's plane; NULL: there is none. */
const struct conf_tls *load_tls(struct loader *loader, const struct cursor *listener);
void load_upstream_tls(struct loader *loader, const struct cursor *entry,
                       struct upstream_policy *upstream);
void validate(struct loader *loader);
void validate_routes(struct loader *loader);
void validate_retry(struct loader *loader, const struct cursor *route,
                    const struct route_policy *policy);
void validate_reconcile(struct loader *loader, const struct cursor *route,
                        const struct route_policy *policy);
void validate_compensate(struct loader *loader, const struct cursor *route,
                         const struct route_policy *policy);
void validate_local(struct loader *loader, const struct cursor *route,
                    const struct route_policy *policy);

/* Does a pass route act upon this key of a route? */
bool route_key_concerns_pass(struct span key);
/* Is the effect of this route meant to be local, be it well said or not? */
bool route_is_local(const struct cursor *route);
/* Does a local route act upon this key of a route? */
bool route_key_concerns_local(struct span key);

/* The value that stands where the table says "=...", as it came out; false: none. */
struct effective_of {
    const struct conf *conf;
    const struct route_policy *route; /* NULL: the row is not of a route */
    const struct conf_owner *owner;   /* likewise */
    const struct upstream_policy *upstream;
};
bool effective_print(const struct effective_of *of, uint32_t row, struct gw_buf *out);

/* ---- every value that counts, one by one (show.c) ---- */
struct conf_walked {
    const char *path;
    uint32_t row; /* of the table of fields */
    struct span text;
    uint32_t line; /* 0: not of the file */
    bool is_secret;
};
typedef void conf_walk_fn(const struct conf_walked *walked, void *ctx);
/* Routes are named in the path, "routes[create-order].retention". */
void conf_walk(const struct conf *conf, conf_walk_fn *tell, void *ctx);
/* "GET HEAD OPTIONS" */
void print_methods(uint32_t methods, struct gw_buf *out);

/* A list of ranges. */
const struct conf_network *load_networks(struct loader *loader, const struct cursor *cursor,
                                         const char *name, uint32_t *ret_count);
bool load_pointer(struct loader *loader, struct span text, struct json_pointer *ret);
const struct json_pointer *load_pointers(struct loader *loader, const struct cursor *cursor,
                                         const char *name, uint32_t *ret_count);
/* 64 hex digits from KEY or from the file that KEY_file names; false: an error was reported. */
bool load_digest(struct loader *loader, const struct cursor *cursor, uint8_t ret[32]);
/* The text of KEY or the first line of KEY_file. */
bool load_secret(struct loader *loader, const struct cursor *cursor, const char *name,
                 const char *file_name, struct span *ret);

#endif
