/* A local effect as the configuration says it: the statements, what they may name, and
 * what can be seen of them without a database (SPEC 5). Pure. */
#ifndef RECIBO_POLICY_LOCAL_H
#define RECIBO_POLICY_LOCAL_H

#include "policy/accept.h"

/* What every statement may name besides the members: :owner, :operation_id, :key, :body. */
enum local_parameter {
    LOCAL_OWNER,
    LOCAL_OPERATION_ID,
    LOCAL_KEY,
    LOCAL_BODY,
    LOCAL_PARAMETER_COUNT,
};
extern const struct span local_parameter_names[LOCAL_PARAMETER_COUNT];
#define LOCAL_VALUES_MAX (LOCAL_PARAMETER_COUNT + ACCEPT_MEMBERS_MAX)

struct local_policy {
    uint32_t line;         /* of the configuration file */
    uint32_t index;        /* among the effects of the configuration */
    struct span setup;     /* statements run once at the start; may be empty */
    struct span statement; /* one, with RETURNING */
    uint16_t status;       /* of the answer */
    int64_t time_max_ms;   /* a statement that takes longer is taken back */
    bool takes_json;       /* there is `accept` */
    bool uses_body;        /* the statement names :body */
    struct accept_policy accept;
    const struct span *names; /* of all parameters: the four, then the members */
    uint32_t name_count;
};

enum sql_fault {
    SQL_FAULT_NONE,
    SQL_FAULT_EMPTY,
    SQL_FAULT_BROKEN,    /* a quote or a comment does not end */
    SQL_FAULT_VERB,      /* it does not begin with what is allowed */
    SQL_FAULT_SEVERAL,   /* more than one statement */
    SQL_FAULT_RETURNING, /* there is no RETURNING */
    SQL_FAULT_ROLLBACK,  /* the word that would take back the work of others */
    SQL_FAULT_PARAMETER, /* one that no value is given for */
};
/* Looks at the words alone; *ret_word is the one that is wrong, where there is one. */
enum sql_fault local_check_statement(const struct local_policy *local, struct span *ret_word);
enum sql_fault local_check_setup(struct span setup, struct span *ret_word);
/* Does the statement name this parameter (without its colon)? */
bool local_uses(const struct local_policy *local, struct span name);

#endif
