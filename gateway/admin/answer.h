/* The response that an operator gives to be replayed. It is checked as strictly as
 * one that an upstream would give. Threads: the admin's loop. */
#ifndef RECIBO_GATEWAY_ADMIN_ANSWER_H
#define RECIBO_GATEWAY_ADMIN_ANSWER_H

#include "gateway/admin/body.h"

/* Reads `response` at that node into *ret_message; else the call is answered with
 * the reason. */
bool answer_read(struct call *call, const struct json_doc *doc, uint32_t node,
                 struct stored_message *ret_message) GW_MUST_CHECK;
/* What only the route can say: the size of the body, cookies. */
enum answer_fault { ANSWER_FITS, ANSWER_TOO_LARGE, ANSWER_COOKIE };
enum answer_fault answer_fault(const struct route_policy *route,
                               const struct stored_message *message);
/* Answers the call with the reason. */
void answer_refuse(struct call *call, const struct route_policy *route,
                   const struct stored_message *message);

#endif
