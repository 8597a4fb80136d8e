/* The memory backend as several gateways share it: who is there, and until when, by one
 * clock. What a database with a table of holders does, in the order in which it does it; a
 * row never changes because its holder was forgotten. It must never give a number twice. */
#include "store/memory.h"

static size_t find(const struct memory_store *m, int64_t holder)
{
    size_t i = 0;
    while (i < m->holder_count && m->holders[i].id != holder)
        i++;
    return i;
}

void memory_share(struct store_backend *backend, struct gw_clock *clock)
{
    struct memory_store *m = (struct memory_store *)backend;
    gw_assert(m->clock == NULL && clock != NULL);
    m->clock = clock;
    backend->is_shared = true;
    m->holder_next = 1;
}

bool memory_holder_lives(const struct memory_store *m, int64_t holder)
{
    return find(m, holder) < m->holder_count;
}

void memory_view(const struct memory_store *m, struct store_row *row)
{
    if (!m->base.is_shared || !receipt_is_leased(row->receipt.state))
        return;
    row->lease_is_dead = row->lease_is_dead || !memory_holder_lives(m, row->holder);
    row->lease_is_foreign = !row->lease_is_dead && row->holder != m->base.holder;
}

enum gw_status memory_may_write(const struct memory_store *m, struct gw_error *err)
{
    if (!m->base.is_shared || memory_holder_lives(m, m->base.holder))
        return GW_OK;
    return gw_error_set(err, GW_BUSY,
                        "the other gateways took this one for gone, since it was not heard of; it "
                        "joins again with its next heart-beat");
}

static void forget_the_lapsed(struct memory_store *m, int64_t now_ms)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->holder_count; i++)
        if (m->holders[i].until_ms > now_ms)
            m->holders[kept++] = m->holders[i];
    m->holder_count = kept;
}

enum gw_status memory_beat(struct store_backend *backend, int64_t hold_ms, struct store_beat *ret,
                           struct gw_error *err)
{
    struct memory_store *m = (struct memory_store *)backend;
    gw_assert(backend->is_shared && m->journal_count == 0);
    int64_t now_ms = m->clock->wall_ms(m->clock);
    size_t at = find(m, backend->holder);
    if (at == MEMORY_HOLDERS_MAX)
        return gw_error_set(err, GW_LIMIT, "%d gateways share this store already",
                            MEMORY_HOLDERS_MAX);
    if (at == m->holder_count) {
        m->holders[m->holder_count++] = (struct memory_holder){.id = m->holder_next};
        backend->holder = m->holder_next++;
    }
    struct memory_holder *own = &m->holders[at];
    if (own->until_ms <= now_ms)
        own->since_ms = now_ms;
    own->until_ms = now_ms + hold_ms;
    *ret = (struct store_beat){.holder = own->id, .now_ms = now_ms};
    if (now_ms - own->since_ms >= hold_ms)
        forget_the_lapsed(m, now_ms);
    return GW_OK;
}

void memory_leave(struct store_backend *backend)
{
    struct memory_store *m = (struct memory_store *)backend;
    size_t at = find(m, backend->holder);
    if (at < m->holder_count)
        m->holders[at] = m->holders[--m->holder_count];
    backend->holder = 0;
}
