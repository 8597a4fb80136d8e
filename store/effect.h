/* Local effects: rows of the operator's own tables in the store's own database, written
 * in the transaction of the receipt that answers for them (SPEC 5). The statements
 * come from the configuration; the store keeps them off its own tables. */
#ifndef RECIBO_STORE_EFFECT_H
#define RECIBO_STORE_EFFECT_H

#include "base/base.h"

enum store_value_kind { STORE_VALUE_NULL, STORE_VALUE_INTEGER, STORE_VALUE_REAL, STORE_VALUE_TEXT };
struct store_value {
    enum store_value_kind kind;
    int64_t integer;
    double real;
    struct span text; /* UTF-8 without a NUL */
};

struct store_effect {
    struct span name;              /* for messages: of the route */
    struct span setup;             /* CREATE TABLE and CREATE INDEX; may be empty */
    struct span statement;         /* one INSERT, UPDATE or DELETE with RETURNING */
    const struct span *parameters; /* names that values are given for, without a colon */
    uint32_t parameter_count;
    uint16_t status;     /* of the answer that the returned row becomes */
    int64_t time_max_ms; /* then it is taken back */
    uint64_t answer_max; /* bytes of its JSON */
};
#define STORE_EFFECTS_MAX           256
#define STORE_EFFECT_PARAMETERS_MAX 64
#define STORE_EFFECT_COLUMNS_MAX    64

/* Why an effect left nothing behind. */
enum effect_refusal {
    EFFECT_DONE, /* it was not refused */
    EFFECT_CHECK,
    EFFECT_NOT_NULL,
    EFFECT_UNIQUE,
    EFFECT_FOREIGN_KEY,
    EFFECT_CONSTRAINT, /* another rule of the table: a type, a trigger */
    EFFECT_NO_ROW,     /* it returned none: it found nothing to change */
    EFFECT_MANY_ROWS,  /* it returned more than the one that an answer has room for */
    EFFECT_UNFIT,      /* its row is no JSON: bytes, a text that is not UTF-8, or too large */
    EFFECT_FAILED,     /* the database could not run it: out.reason says why */
    EFFECT_REFUSAL_COUNT,
};

/* Makes the tables in a database in memory, as two starts one after the other would, and
 * prepares every statement there. No file is touched. */
GW_MUST_CHECK enum gw_status store_effects_check(const struct store_effect *effects, uint32_t count,
                                                 struct gw_error *err);

#endif
