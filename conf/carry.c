/* What a reload cannot take up, and so must keep. The new snapshot borrows it from the one
 * that the process began with; it must never borrow from one in between, or a long chain of
 * reloads would keep them all. */
#include "conf/changes.h"
#include "conf/loader.h"

static bool same_names(const struct local_policy *a, const struct local_policy *b)
{
    if (a->name_count != b->name_count)
        return false;
    for (uint32_t i = 0; i < a->name_count; i++)
        if (!span_equal(a->names[i], b->names[i]))
            return false;
    return true;
}

static bool same_effect(const struct route_policy *a, const struct route_policy *b)
{
    const struct local_policy *left = a->local, *right = b->local;
    return span_equal(left->setup, right->setup) && span_equal(left->statement, right->statement) &&
           left->status == right->status && left->time_max_ms == right->time_max_ms &&
           a->replay_body_max == b->replay_body_max && same_names(left, right);
}

/* The store has prepared the statements of the first snapshot, by their index there. */
static enum gw_status carry_effects(struct conf *conf, const struct conf *first,
                                    struct gw_error *err)
{
    for (uint32_t i = 0; i < conf->routes.count; i++) {
        const struct route_policy *route = &conf->routes.routes[i];
        if (route->local == NULL)
            continue;
        const struct route_policy *before = route_by_name(&first->routes, route->name);
        if (before == NULL || before->local == NULL || !same_effect(route, before))
            return gw_error_set(err, GW_INVALID,
                                "%.*s:%u: routes[%.*s].local: a new or changed local effect is "
                                "prepared when Recibo starts: restart it",
                                (int)conf->file.len, conf->file.ptr, route->line,
                                (int)route->name.len, route->name.ptr);
        ((struct local_policy *)(uintptr_t)route->local)->index = before->local->index;
    }
    return GW_OK;
}

/* Its contexts were made when the process began, and a name without one would be plain. */
static bool same_tls(const struct upstream_tls *a, const struct upstream_tls *b)
{
    return a->is_on == b->is_on && span_equal(a->name, b->name) && span_equal(a->ca, b->ca) &&
           span_equal(a->certificate, b->certificate) && span_equal(a->key, b->key);
}

static enum gw_status check_tls(const struct conf *conf, const struct conf *first,
                                struct gw_error *err)
{
    for (uint32_t i = 0; i < conf->upstream_count; i++) {
        const struct upstream_policy *upstream = &conf->upstreams[i], *before = NULL;
        for (uint32_t k = 0; k < first->upstream_count; k++)
            if (span_equal(first->upstreams[k].name, upstream->name))
                before = &first->upstreams[k];
        if (upstream->tls.is_on && (before == NULL || !same_tls(&upstream->tls, &before->tls)))
            return gw_error_set(err, GW_INVALID,
                                "%.*s: upstreams.%.*s: https to an upstream that is new, or whose "
                                "tls has changed, is prepared when Recibo starts: restart it",
                                (int)conf->file.len, conf->file.ptr, (int)upstream->name.len,
                                upstream->name.ptr);
    }
    return GW_OK;
}

enum gw_status conf_carry_over(struct conf *conf, struct conf *first, struct gw_error *err)
{
    struct conf_box *box = (struct conf_box *)(uintptr_t)conf_box_of(conf);
    gw_assert(box->carried == NULL);
    gw_assert(conf_box_of(first)->carried == NULL);
    enum gw_status status = check_tls(conf, first, err);
    if (status == GW_OK)
        status = carry_effects(conf, first, err);
    if (status != GW_OK)
        return status;
    box->carried = conf_ref(first);
    conf->listen = first->listen;
    conf->listen_count = first->listen_count;
    conf->has_admin = first->has_admin;
    conf->admin = first->admin;
    conf->store_kind = first->store_kind;
    conf->store_path = first->store_path;
    conf->limits = first->limits;
    conf->log_format = first->log_format;
    conf->log_level = first->log_level;
    conf->workers = first->workers;
    uint64_t worst = conf_memory_worst(conf);
    if (worst > conf->limits.memory_max)
        return gw_error_set(err, GW_INVALID,
                            "%.*s: its routes and upstreams with the limits that this process "
                            "began with take %llu bytes at worst, and limits.memory_max is %llu: "
                            "restart Recibo, or lower their bounds",
                            (int)conf->file.len, conf->file.ptr, (unsigned long long)worst,
                            (unsigned long long)conf->limits.memory_max);
    return GW_OK;
}
