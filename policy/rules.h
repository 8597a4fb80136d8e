/* Does an answer fit a rule of the route? Every condition given must hold. Pure. */
#ifndef RECIBO_POLICY_RULES_H
#define RECIBO_POLICY_RULES_H

#include "policy/classify.h"

bool rule_fits(const struct answer_rule *rule, const struct answer_view *answer);
/* Does any rule of the list look into the body as JSON? Then the caller parses it. */
bool rules_want_json(const struct answer_rule *rules, uint32_t count);
/* * any run of bytes, ? one byte, everything else itself. No pattern takes more steps
 * than glob.len * text.len: it never goes back past the last star. */
bool glob_fits(struct span glob, struct span text, bool ignore_case);

#endif
