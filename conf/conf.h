/* The configuration: YAML text -> one immutable snapshot. Flows keep the snapshot
 * they began with. Every error of a file is reported at once, each with its place.
 * Threads: a loaded snapshot is read-only and counted; any thread may hold it. */
#ifndef RECIBO_CONF_CONF_H
#define RECIBO_CONF_CONF_H

#include "base/buf.h"
#include "conf/jwk.h"
#include "policy/route.h"

struct conf_network {
    uint8_t address[16]; /* IPv4 as v4-mapped IPv6 */
    uint8_t prefix_bits; /* of the 128 */
    struct span owner;   /* owners of kind network; else empty */
    struct span text;    /* as written */
};
/* Does one of the networks hold this address (v4-mapped form)? The longest prefix; NULL: none. */
const struct conf_network *conf_network_find(const struct conf_network *networks, uint32_t count,
                                             const uint8_t address[16]);

enum conf_owner_kind {
    OWNER_API_KEY,
    OWNER_BASIC,
    OWNER_HEADER,
    OWNER_NETWORK,
    OWNER_STATIC,
    OWNER_JWT,
};
struct conf_owner_key {
    struct span owner;
    uint8_t sha256[32];
};
struct conf_owner_user {
    struct span name, owner; /* owner: default the name */
    struct span hash;        /* crypt(3), NUL-terminated in memory */
};
/* Whose tokens are taken, and by which keys (STANDARDS AUTH-7, AUTH-8). */
struct conf_jwt {
    struct span issuer, audience;
    struct span type;    /* of the header's typ; empty: any */
    uint32_t algorithms; /* bits 1 << enum gw_signature_algorithm */
    int64_t leeway_ms;
    struct jwk_set keys; /* as the file was when the configuration was read */
};
struct conf_owner {
    struct span name;
    enum conf_owner_kind kind;
    struct span header; /* api_key, header */
    struct span scheme; /* api_key in Authorization: "Bearer"; empty: the bare value */
    struct span realm;  /* basic; default "recibo" */
    const struct conf_owner_key *keys;
    uint32_t key_count;
    const struct conf_owner_user *users;
    uint32_t user_count;
    const struct conf_network *networks; /* network: ranges and owners */
    uint32_t network_count;
    const struct conf_network *trusted; /* header: the proxies that may set it */
    uint32_t trusted_count;
    struct span owner;          /* static */
    const struct conf_jwt *jwt; /* jwt */
    uint32_t line;
};

enum admin_right {
    ADMIN_READ = 1 << 0,
    ADMIN_EVIDENCE = 1 << 1,
    ADMIN_SETTLE = 1 << 2,
    ADMIN_CONTROL = 1 << 3,
};
struct conf_token {
    struct span name;
    uint32_t rights; /* enum admin_right */
    uint8_t sha256[32];
};

/* Paths are absolute or as the process sees them, and NUL-terminated; empty: none. */
struct conf_certificate {
    struct span certificate, key;
};
struct conf_tls {
    const struct conf_certificate *certificates; /* the first one is shown if no name fits */
    uint32_t certificate_count;
    struct span client_ca; /* empty: callers are asked for no certificate */
    bool client_required;
};

struct conf_address {
    bool is_unix;
    struct span text; /* as written: "127.0.0.1:8080", "unix:/run/recibo/admin.sock" */
    struct span host; /* without brackets; or the path of the socket */
    uint16_t port;    /* 0: any free one (tests) */
    uint32_t line;
    const struct conf_tls *tls; /* NULL: plain */
};

struct conf_limits {
    uint32_t connections; /* of callers */
    uint32_t head_bytes, headers, target_bytes;
    int64_t head_time_ms, body_time_ms, idle_time_ms;
    uint64_t body_rate_min;   /* bytes a second, once a body has taken longer than a second */
    uint64_t bodies;          /* bytes of bodies of guarded routes held at once */
    uint64_t memory_max;      /* worst case, checked when loading */
    uint64_t answer_body_max; /* an answer beyond it is END_answer_too_large */
    uint32_t late_max;        /* lost calls that are still listened to */
    uint32_t waiters;         /* repeats that wait for a first call */
    uint32_t store_queue;     /* operations waiting for the store */
};

enum conf_log_format { CONF_LOG_TEXT, CONF_LOG_JSON };

struct conf {
    struct span file; /* its name */
    char hash[17];    /* of the text, 16 hex digits: in evidence and log */
    const struct conf_address *listen;
    uint32_t listen_count;
    bool has_admin;
    struct conf_address admin;
    const struct conf_token *tokens;
    uint32_t token_count;
    struct span actor_header; /* admin.actor_header; empty: none */
    const struct conf_network *actor_from;
    uint32_t actor_from_count;
    struct span store_kind,
        store_path; /* path: absolute, or relative to the file's folder made absolute */
    const struct conf_owner *owners;
    uint32_t owner_count;
    const struct upstream_policy *upstreams;
    uint32_t upstream_count;
    struct route_table routes;
    struct conf_limits limits;
    enum conf_log_format log_format;
    uint32_t log_level; /* enum gw_log_level */
    bool log_access;
    uint32_t workers;
    int64_t drain_ms;
    const struct conf_network *trusted_proxies;
    uint32_t trusted_proxy_count;
    struct span problem_base; /* "urn:recibo:problem:" or the configured base with its "/" */
    struct span own_prefix;   /* "/.recibo/" ; empty: off */
    struct span via_name;     /* pseudonym in Via (FWD-3) */
    int64_t settle_delay_ms;  /* before many operations are called not executed */
};

/* All findings of one load. Warnings do not stop it. */
struct conf_finding {
    bool is_warning;
    uint32_t line, column; /* 0: of the whole file */
    uint16_t path_at,
        message_at; /* where the path and what follows it begin in text; equal: no path */
    char text[504]; /* file:line:column: path: value: rule */
};
#define CONF_FINDINGS_MAX 100
struct conf_report {
    struct conf_finding *findings; /* freed by conf_report_fini */
    uint32_t count;
    bool cut; /* there were more than CONF_FINDINGS_MAX */
};
void conf_report_fini(struct conf_report *report);

/* `environment` looks up ${NAME}; NULL: getenv. On GW_OK *ret_conf has one reference. */
GW_MUST_CHECK enum gw_status conf_load(const char *path, struct conf **ret_conf,
                                       struct conf_report *ret_report);
/* The address of the operator's plane, as written, with ${NAME} put in, and with https://
 * before it if it speaks TLS. Nothing else of
 * the file is judged, so that a client needs neither the server's environment nor its
 * secrets. Not GW_OK: the report says why, its errors first. */
GW_MUST_CHECK enum gw_status conf_load_admin_address(const char *path, struct gw_buf *ret_address,
                                                     struct conf_report *ret_report);
/* No files are read and no environment: tests and fuzzers. */
GW_MUST_CHECK enum gw_status conf_parse(struct span text, const char *name, struct conf **ret_conf,
                                        struct conf_report *ret_report);
struct conf *conf_ref(struct conf *conf);
void conf_unref(struct conf *conf); /* NULL is fine */

/* Worst-case memory of this configuration, bytes; `check` prints how it is made up. */
uint64_t conf_memory_worst(const struct conf *conf);
/* Of that, what one worker may hold of the bodies of observed exchanges; 0: none is. */
#define OBSERVED_BYTES       ((uint64_t)8 << 20) /* at least */
#define OBSERVED_BATCH_BYTES ((uint64_t)1 << 20) /* gathered for the store */
uint64_t conf_observed_bytes(const struct conf *conf);
/* The parts of that sum, a line each. */
void conf_memory_explain(const struct conf *conf, struct gw_buf *out);

/* The effective configuration, each value with its source line or "default". */
void conf_show(const struct conf *conf, struct gw_buf *out);
/* The same as a JSON array of {path, value, line (or null), source}. */
void conf_show_json(const struct conf *conf, struct gw_buf *out);
/* The promise of each route in plain words (`recibo check`). */
void conf_promise(const struct conf *conf, struct gw_buf *out);
/* That of one of its routes; only while indices are those of the file. */
void conf_promise_route(const struct conf *conf, const struct route_policy *route,
                        struct gw_buf *out);
/* docs/config.md, printed from fields.def. */
void conf_print_reference(struct gw_buf *out);

#endif
