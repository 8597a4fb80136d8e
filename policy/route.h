/* What the owner of a route promised about its upstream, and which route a target
 * belongs to. Filled by conf/, never changed after loading. Pure. */
#ifndef RECIBO_POLICY_ROUTE_H
#define RECIBO_POLICY_ROUTE_H

#include "base/base.h"
#include "policy/backoff.h"
#include "policy/canonical.h"
#include "policy/json.h"
#include "policy/local.h"
#include "policy/template.h"

/* A set of the status codes 100..599. */
struct status_set {
    uint64_t bits[8]; /* bit (status - 100) */
};
static inline bool status_set_has(const struct status_set *set, uint16_t status)
{
    return status >= 100 && status < 600 &&
           (set->bits[(status - 100) / 64] >> ((status - 100) % 64) & 1) != 0;
}
static inline bool status_set_is_empty(const struct status_set *set)
{
    uint64_t any = 0;
    for (size_t i = 0; i < GW_COUNT(set->bits); i++)
        any |= set->bits[i];
    return any == 0;
}
static inline void status_set_add(struct status_set *set, uint16_t status)
{
    gw_assert(status >= 100 && status < 600);
    set->bits[(status - 100) / 64] |= (uint64_t)1 << ((status - 100) % 64);
}

enum route_mode { ROUTE_ENFORCE, ROUTE_PASS, ROUTE_OBSERVE };
const char *route_mode_name(enum route_mode mode); /* "enforce" */
enum route_method {
    METHOD_GET = 1 << 0,
    METHOD_HEAD = 1 << 1,
    METHOD_POST = 1 << 2,
    METHOD_PUT = 1 << 3,
    METHOD_PATCH = 1 << 4,
    METHOD_DELETE = 1 << 5,
    METHOD_OPTIONS = 1 << 6,
};
uint32_t route_method_bit(struct span method); /* 0: not one of these */

/* ---- path patterns: /x exact, a trailing "/" "*" a prefix, {name} one segment ---- */
enum route_segment_kind { SEGMENT_LITERAL, SEGMENT_PARAM, SEGMENT_REST };
struct route_segment {
    enum route_segment_kind kind;
    struct span text; /* the literal, or the parameter's name */
};

/* ---- where the key comes from (SPEC 2) ---- */
enum key_from {
    KEY_FROM_HEADER,
    KEY_FROM_JSON,
    KEY_FROM_FORM,
    KEY_FROM_PATH,
    KEY_FROM_ALL,
    KEY_FROM_CONTENT, /* the fingerprint is the key (ADR 0020) */
};
struct key_grammar {
    uint32_t bytes_min, bytes_max; /* after unquoting; default 1..255 (KEY-9) */
    bool strict;                   /* only the quoted form (KEY-22) */
    bool uuid;                     /* format: uuid (KEY-12) */
    struct span pattern;           /* glob with * and ?; empty: any (KEY-23) */
    struct span extra;             /* further bytes allowed in the bare form (KEY-5) */
};
struct key_source {
    enum key_from from;
    struct span name;            /* header, form or path parameter */
    struct json_pointer pointer; /* KEY_FROM_JSON */
    bool required;
    struct key_grammar grammar;
    const struct key_source *parts; /* KEY_FROM_ALL: two or more, none of them ALL */
    uint32_t part_count;
    /* KEY_FROM_CONTENT: how long after its outcome the same content is the same operation, */
    int64_t window_ms;
    bool only_undelivered; /* ... and only until its answer has reached its caller */
};

struct fingerprint_policy {
    enum fingerprint_mode mode;
    struct canonical_options body;
    const struct span *headers; /* names whose values take part, lower case (FPR-4) */
    uint32_t header_count;
    struct span
        mode_text; /* "json/1 ignore=/client_time": stored with the receipt (FPR-2, JSON-12) */
};

enum label_from { LABEL_FROM_JSON, LABEL_FROM_HEADER, LABEL_FROM_FORM, LABEL_FROM_PATH };
struct label_policy {
    struct span name; /* "order" */
    enum label_from from;
    struct span source; /* header, form or path name */
    struct json_pointer pointer;
};
#define ROUTE_LABELS_MAX  8
#define LABEL_VALUE_BYTES 64

/* ---- what an answer means (policy/rules.h evaluates) ---- */
enum answer_means { MEANS_REFUSED, MEANS_UNKNOWN, MEANS_COMPLETED };
enum rule_test { RULE_EQUALS, RULE_EXISTS, RULE_ABSENT, RULE_EMPTY };
struct rule_json {
    struct json_pointer pointer;
    enum rule_test test;
    struct span text; /* RULE_EQUALS: a literal or number as written, or a string's content */
    bool string_only; /* the configuration quoted it: only a JSON string can be equal */
};
struct rule_header {
    struct span name;
    struct span glob; /* * any run, ? one byte; the whole value, case kept */
};
struct answer_rule {
    bool has_status;
    struct status_set status;
    const struct rule_header *headers;
    uint32_t header_count;
    struct span media_type; /* glob, parameters ignored; empty: any */
    const struct rule_json *json;
    uint32_t json_count;
    struct span text; /* the body contains this; empty: any */
    enum answer_means means;
    uint32_t line; /* of the configuration file */
};
struct outcome_policy {
    struct status_set refused, unknown;  /* disjoint */
    uint32_t refused_line, unknown_line; /* 0: the default */
    const struct answer_rule *rules;     /* the first that fits decides, before the lists */
    uint32_t rule_count;
};

/* ---- asking the upstream what became of a lost call (SPEC 4; policy/probe.h judges) ---- */
struct probe_policy {
    bool is_on;
    uint32_t line;                 /* of the configuration file */
    struct target_template target; /* of the GET, after the prefix of the upstream's url */
    bool has_executed, has_absent;
    struct answer_rule executed, absent; /* their `means` does not count */
    uint16_t answer_status;              /* what to replay when it ran; 0: nothing */
    bool answer_has_body;
    struct json_pointer answer_body; /* where in the probe's answer its body stands */
    bool absent_is_proof;            /* absent_is: proof */
    int64_t every_ms;
    uint32_t attempts_max;
};

/* ---- telling the upstream the operation id ---- */
enum add_id_to { ADD_ID_NOWHERE, ADD_ID_HEADER, ADD_ID_JSON };
struct add_id_policy {
    enum add_id_to to;
    struct span header;          /* ADD_ID_HEADER */
    struct json_pointer pointer; /* ADD_ID_JSON: at least one step; its parent is an object */
};

/* ---- trying again, now or later (SPEC 3; policy/retry.h decides) ---- */
struct retry_policy {
    bool is_on;                    /* the route has a section `retry` */
    bool when_not_sent;            /* ... after a proof that nothing was sent */
    bool when_rules;               /* ... after any answer that a rule refused */
    struct status_set when;        /* ... after a refused answer with one of these */
    uint32_t line;                 /* of retry.when; 0: the default */
    uint32_t attempts_max;         /* in one window, callers' repeats included */
    int64_t within_ms;             /* the window; the next repeat after it opens a new one */
    struct backoff_policy backoff; /* promised operations take it without a section, too */
    int64_t wait_at_most_ms;       /* nearer than this, the caller waits */
};
enum defer_when { DEFER_NEVER, DEFER_PREFER, DEFER_ALWAYS };
struct defer_policy {
    enum defer_when when;
    int64_t max_age_ms;   /* from the promise on; then it is given up */
    uint32_t concurrency; /* runs under way at one time */
};

struct breaker_policy {
    bool is_on;
    uint32_t unknowns;      /* opens at this many ... */
    uint32_t share_percent; /* ... if they are at least this share of the operations */
    int64_t overdue_ms;     /* an attempt without an answer byte after this counts too */
    int64_t in_ms;          /* the window */
};

/* ---- taking back what was carried out (SPEC 3; policy/compensate.h judges) ---- */
enum compensate_by { COMPENSATE_BY_OPERATOR = 1 << 0, COMPENSATE_BY_OWNER = 1 << 1 };
struct compensate_policy {
    uint32_t line; /* of the configuration file */
    uint32_t by;   /* enum compensate_by: who may ask for it */
    struct span method;
    struct target_template target;       /* after the prefix of the upstream's url */
    const struct json_pointer *pointers; /* one a part; those of TEMPLATE_RESPONSE count */
    /* How it is sent: the route's own policy without what speaks of its requests, under the
     * name NAME/compensation, which no route can have. NULL: there is no compensation. */
    const struct route_policy *route;
};

enum credentials_mode { CREDENTIALS_PASS, CREDENTIALS_STRIP };
enum path_case { PATH_CASE_SENSITIVE, PATH_CASE_INSENSITIVE };
enum connection_reuse { REUSE_CHECKED, REUSE_NEVER };

/* Paths are absolute or as the process sees them, and NUL-terminated; empty: none. */
struct upstream_tls {
    bool is_on;       /* an https url */
    struct span name; /* that the certificate must be for: a name, or an address in digits */
    struct span ca, certificate, key;
};

struct upstream_policy {
    struct span name;
    uint32_t index;   /* as that of a route */
    struct span host; /* name or address to connect to */
    uint16_t port;
    struct span authority;   /* of the url: what Host says unless preserved */
    bool host_preserve;      /* pass the caller's Host on */
    struct span host_header; /* `host: NAME`; empty: the authority of the url */
    struct span path_prefix; /* of the url, without a trailing slash; usually empty */
    struct upstream_tls tls;
    enum path_case path_case;
    /* The seven timeouts, ms. send, first_byte and idle are times without progress. */
    int64_t connect_ms, tls_ms, send_ms, first_byte_ms, idle_ms, answer_ms, late_ms;
    uint32_t connections_max; /* per process, shared out over the workers */
    enum connection_reuse reuse;
    int64_t connection_idle_ms; /* older kept connections are not used for guarded calls */
};

/* One route. Every span and array lives as long as the configuration. */
struct route_policy {
    struct span name;
    uint32_t index; /* in the table; after a reload: the place that the board gave this name. What
                     * is counted goes by it; a compensation counts with its route */
    uint32_t line;  /* of the configuration file */
    enum route_mode mode;
    uint32_t methods; /* enum route_method */
    struct span path; /* as written */
    const struct route_segment *segments;
    uint32_t segment_count;
    bool trailing_slash_same;
    const struct upstream_policy *upstream; /* NULL: the effect is local */
    const struct local_policy *local;       /* NULL: there is an upstream */
    uint32_t owner_index; /* of the owner entry in the configuration; ROUTE_NO_OWNER */
    bool scope_gateway;   /* one key space over all routes (KEY-14) */
    struct key_source key;
    struct fingerprint_policy fingerprint;
    struct label_policy labels[ROUTE_LABELS_MAX];
    uint32_t label_count;
    struct outcome_policy outcome;
    struct breaker_policy breaker;
    struct retry_policy retry;
    struct defer_policy defer;
    struct probe_policy probe;
    struct add_id_policy add_id;
    struct compensate_policy compensate;
    bool is_compensation;    /* it is the `compensate.route` of another one */
    int64_t pending_wait_ms; /* on_pending.wait; 0: 409 at once */
    int64_t retention_ms, tombstone_ms, quiet_ms;
    uint64_t request_body_max, replay_body_max;
    uint32_t route_in_flight_max, owner_in_flight_max;
    enum credentials_mode credentials;
    bool evidence_headers, evidence_body;
    const struct json_pointer *redact;
    uint32_t redact_count;
    int64_t evidence_keep_ms;
    bool rerun_on_expiry;              /* on_expiry: rerun */
    bool replace_on_change;            /* on_changed_after_release: replace */
    bool replay_set_cookie;            /* replay.set_cookie */
    const struct span *replay_headers; /* replay.headers: a list; NULL: all that may be replayed */
    uint32_t replay_header_count;
    bool errors_text;         /* errors: text */
    bool stripe_should_retry; /* Stripe-Should-Retry: false on answers that must not be retried */
    bool passes_key;          /* upstream_idempotency: the key header goes upstream (KEY-21) */
    int64_t dedup_window_ms;  /* so long the upstream remembers a key; 0: passes_key is false */
};
#define ROUTE_NO_OWNER UINT32_MAX

struct route_table {
    const struct route_policy *routes;
    uint32_t count;
    bool guards_observed; /* judge targets as if observed routes were enforced */
};
/* Of operations, so that of compensations too; NULL: it is not configured (any more). */
const struct route_policy *route_by_name(const struct route_table *table, struct span name);
/* The key space of its operations: a part of their identity. */
struct span route_scope(const struct route_policy *route);

/* ---- finding the route (STANDARDS TGT-5..7, TGT-10) ---- */
#define ROUTE_PARAMS_MAX 8
struct route_param {
    struct span name;
    struct span value; /* as received, a view of the path */
};
enum route_verdict {
    ROUTE_FOUND,
    ROUTE_NONE,           /* 404 */
    ROUTE_WRONG_METHOD,   /* 405: the path has routes, none with this method */
    ROUTE_AMBIGUOUS_PATH, /* 400: one reading meets a guarded route, another does not */
};
struct route_match {
    const struct route_policy *route; /* ROUTE_FOUND */
    uint32_t allowed_methods;         /* ROUTE_WRONG_METHOD */
    struct route_param params[ROUTE_PARAMS_MAX];
    uint32_t param_count;
};
/* `path` is the origin-form path and query; the query never takes part. `work`
 * is scratch room of at least 2 * path.len + 2 bytes. */
GW_MUST_CHECK enum route_verdict route_find(const struct route_table *table, struct span method,
                                            struct span path, char *work, size_t work_len,
                                            struct route_match *ret_match);
/* Splits a pattern into segments; false with a static text if it is not one. */
bool route_pattern_parse(struct span path, struct route_segment *segments, uint32_t segments_max,
                         uint32_t *ret_count, const char **ret_fault) GW_MUST_CHECK;
enum route_overlap {
    ROUTES_APART,
    ROUTES_NESTED,    /* one is more specific and wins */
    ROUTES_AMBIGUOUS, /* a target fits both and neither is more specific */
};
/* Of two routes with a common method. */
enum route_overlap route_compare(const struct route_policy *a, const struct route_policy *b);

#endif
