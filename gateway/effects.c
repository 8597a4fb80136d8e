/* From routes to effects. It must never change what the configuration says. */
#include "gateway/effects.h"

#include <stdlib.h>

static struct store_effect effect_of(const struct route_policy *route)
{
    const struct local_policy *local = route->local;
    return (struct store_effect){.name = route->name,
                                 .setup = local->setup,
                                 .statement = local->statement,
                                 .parameters = local->names,
                                 .parameter_count = local->name_count,
                                 .status = local->status,
                                 .time_max_ms = local->time_max_ms,
                                 .answer_max = route->replay_body_max};
}

struct store_effect *effects_new(const struct conf *conf, uint32_t *ret_count)
{
    const struct route_table *table = &conf->routes;
    *ret_count = 0;
    for (uint32_t i = 0; i < table->count; i++)
        *ret_count += table->routes[i].local != NULL;
    if (*ret_count == 0)
        return NULL;
    struct store_effect *effects = calloc(*ret_count, sizeof(*effects));
    for (uint32_t i = 0; effects != NULL && i < table->count; i++) {
        if (table->routes[i].local == NULL)
            continue;
        gw_assert(table->routes[i].local->index < *ret_count);
        effects[table->routes[i].local->index] = effect_of(&table->routes[i]);
    }
    return effects;
}

enum gw_status effects_check(const struct conf *conf, struct gw_error *err)
{
    uint32_t count;
    struct store_effect *effects = effects_new(conf, &count);
    if (effects == NULL && count > 0)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    enum gw_status status = store_effects_check(effects, count, err);
    free(effects);
    return status;
}
