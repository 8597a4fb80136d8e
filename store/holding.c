/* The order of the two stores and the two loads is the whole of it: a reader who meets a
 * change of the number must not take the old number for the newest time. */
#include "store/holding.h"

/* The database read its clock somewhere between the question and the answer. */
static enum holding_said compare_clocks(const struct holding_news *news)
{
    int64_t least_ms = news->wall_ms - news->beat.now_ms;
    int64_t most_ms = least_ms + news->took_ms;
    if (least_ms > STORE_SKEW_MS || most_ms < -STORE_SKEW_MS)
        return HOLDING_FAR;
    return least_ms >= -STORE_SKEW_MS && most_ms <= STORE_SKEW_MS ? HOLDING_RENEWED : HOLDING_SLOW;
}

enum holding_said holding_renew(struct holding *holding, const struct holding_news *news)
{
    enum holding_said said = compare_clocks(news);
    if (atomic_load(&holding->holder) != news->beat.holder) {
        atomic_store(&holding->until_ticks, 0);
        atomic_store(&holding->holder, news->beat.holder);
    }
    if (said == HOLDING_RENEWED)
        atomic_store(&holding->until_ticks, news->asked_ticks + STORE_HOLD_MS - STORE_MARGIN_MS);
    else if (said == HOLDING_FAR)
        atomic_store(&holding->until_ticks, 0);
    return said;
}

bool holding_holds(const struct holding *holding, int64_t holder, int64_t ticks)
{
    int64_t until_ticks = atomic_load(&holding->until_ticks);
    return ticks < until_ticks && atomic_load(&holding->holder) == holder;
}
