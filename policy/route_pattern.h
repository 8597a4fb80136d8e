/* What route.c and route_pattern.c share about the shape of a route's pattern. Pure. */
#ifndef RECIBO_POLICY_ROUTE_PATTERN_H
#define RECIBO_POLICY_ROUTE_PATTERN_H

#include "policy/route.h"

/* Does the upstream take /A for /a? */
bool route_ignores_case(const struct route_policy *route);
/* Without the empty last segment where a trailing slash makes no difference. */
uint32_t route_effective_count(const struct route_policy *route);
/* Below 0: a is the more specific one, above 0: b; 0: they have the same shape.
 * Literal before parameter before end before rest, left to right. */
int route_specificity(const struct route_policy *a, const struct route_policy *b);

#endif
