/* A receipt as it is kept, and the packed forms of its parts: the evidence of the
 * attempts, the labels, the member digests, a whole stored message. Decoding
 * trusts nothing: a broken blob is GW_CORRUPT, never an assertion. Threads: pure. */
#ifndef RECIBO_STORE_ROW_H
#define RECIBO_STORE_ROW_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/field.h"
#include "policy/admit.h"
#include "policy/classify.h"

#define OPERATION_ID_BYTES 29 /* "op_" and 26 characters */

struct store_identity {
    uint8_t bytes[16]; /* digest of owner, scope and key, each length-prefixed */
};

struct store_row {
    int64_t id; /* of the row; 0: not stored yet */
    char operation_id[OPERATION_ID_BYTES + 1];
    struct store_identity identity;
    struct span owner, scope, key; /* compared as bytes, beside the digest */
    struct span route;             /* name; scope may be wider */
    struct receipt receipt;
    int64_t holder;     /* who leased it, by the store's number; 0: nobody, or the one process that
                         * owns the store */
    bool lease_is_dead; /* its holder is gone: an earlier life of this process, or another gateway
                         * that was not heard of in time */
    bool lease_is_foreign; /* another gateway holds it, and lives */
    struct fingerprint print;
    struct span print_mode; /* text of the way it was compared */
    struct span members;    /* packed digests: members_encode() */
    struct span method, target;
    struct span labels; /* packed: labels_encode() */
    int64_t created_ms, updated_ms;
    uint32_t repeats;          /* asked again since it is unknown */
    int64_t last_repeat_ms;    /* 0: never */
    uint8_t end;               /* enum attempt_end of the last attempt; END_none */
    uint16_t status;           /* of the last attempt's answer; 0: none came */
    struct span attempts;      /* packed: attempts_encode() */
    struct span request;       /* packed message, as evidence; empty: not kept or not loaded */
    int64_t evidence_until_ms; /* when the request may be dropped; 0: there is none */
    struct span answer;        /* packed message to replay; empty: none or not loaded */
    bool answer_kept;          /* there is an answer to replay, loaded or not */
    struct span kept;    /* packed message, whole, to be run later; empty: none or not loaded */
    int64_t promised_ms; /* when a caller was told 202; 0: never, or it is over */
    int64_t window_ms;   /* when the window of its attempts opened; 0: none did */
    uint32_t window_attempts; /* attempts in it */
    int64_t retry_ms;         /* while it is free: no attempt before; 0: no such bound */
    struct span claimed_by;   /* the person who is on it, "token:ana"; empty: nobody */
    int64_t claimed_ms;       /* 0: nobody */
    uint8_t probe;            /* enum probe_result of the last probe */
    uint32_t probe_count;     /* since it is unknown */
    int64_t probe_due_ms;     /* when to ask the upstream next; 0: not by itself */
    struct span probes;       /* packed: probes_encode() */
};

/* What one sending left behind (SPEC 4). */
struct attempt_record {
    uint32_t number; /* 1.. */
    uint64_t token;
    int64_t started_ms, sent_ms, ended_ms; /* wall; sent_ms 0: no byte left */
    uint8_t end;                           /* enum attempt_end */
    uint8_t basis;                         /* enum attempt_basis */
    uint16_t status;
    uint64_t bytes_out, bytes_in;
    struct span upstream;  /* "127.0.0.1:9000" */
    struct span reason;    /* what decided, in words: "status 503 is in the unknown list" */
    uint32_t line;         /* of the configuration; 0: a default */
    struct span trace_id;  /* 32 hex digits, or empty */
    struct span conf_hash; /* 16 hex digits */
};
#define STORE_ATTEMPTS_MAX 16 /* kept per receipt; the oldest after the first gives way */

/* What asking the upstream brought (SPEC 4). */
enum probe_result {
    PROBE_NONE,     /* not asked yet */
    PROBE_EXECUTED, /* executed_when fits */
    PROBE_ABSENT,   /* absent_when fits */
    PROBE_UNCLEAR,  /* neither fits, or both */
    PROBE_FAILED,   /* no whole answer */
    PROBE_RESULT_COUNT,
};
const char *probe_result_name(enum probe_result result); /* "executed" */
struct probe_record {
    int64_t at_ms;
    uint8_t result; /* enum probe_result */
    uint8_t end;    /* enum attempt_end */
    uint16_t status;
    struct span by;     /* "route", or the actor who asked for it */
    struct span target; /* that was asked: method and target */
    struct span reason; /* in words: which condition fitted */
};
#define STORE_PROBES_MAX 16 /* kept per receipt; the oldest gives way */

struct label {
    struct span name, value;
};
struct member_digest {
    struct span pointer;
    uint8_t mac[8];
};

/* A whole message: status 0 for a request. */
struct stored_message {
    uint16_t status;
    bool body_kept; /* false: only status and fields; body_bytes says how long it was */
    uint64_t body_bytes;
    struct http_field *fields;
    uint32_t field_count;
    struct span body;
};

/* Encoders append to `out`; false: out of its maximum. */
bool attempts_encode(struct gw_buf *out, const struct attempt_record *attempts, uint32_t count);
bool probes_encode(struct gw_buf *out, const struct probe_record *probes, uint32_t count);
bool labels_encode(struct gw_buf *out, const struct label *labels, uint32_t count);
bool members_encode(struct gw_buf *out, const struct member_digest *members, uint32_t count);
bool message_encode(struct gw_buf *out, const struct stored_message *message);
/* Decoders put arrays into the arena; spans point into `from`. */
GW_MUST_CHECK enum gw_status attempts_decode(struct arena *arena, struct span from,
                                             struct attempt_record **ret, uint32_t *ret_count);
GW_MUST_CHECK enum gw_status probes_decode(struct arena *arena, struct span from,
                                           struct probe_record **ret, uint32_t *ret_count);
GW_MUST_CHECK enum gw_status labels_decode(struct arena *arena, struct span from,
                                           struct label **ret, uint32_t *ret_count);
GW_MUST_CHECK enum gw_status members_decode(struct arena *arena, struct span from,
                                            struct member_digest **ret, uint32_t *ret_count);
GW_MUST_CHECK enum gw_status message_decode(struct arena *arena, struct span from,
                                            struct stored_message *ret);

/* Everything but the bodies, spans into the arena; false: the arena is full. */
GW_MUST_CHECK bool row_copy(struct arena *arena, const struct store_row *from,
                            struct store_row *ret);
/* May anybody put the lapse of this lease on record? By its time it ends for its own holder
 * alone, whose clock wrote that time: others go by what is heard of the holder. */
bool row_lease_is_over(const struct store_row *row, int64_t now_ms);
/* May this row come from a disk, or go to one? Looks at every field; used before
 * a write and after a read. */
GW_MUST_CHECK enum gw_status row_check(const struct store_row *row, struct gw_error *err);

#endif
