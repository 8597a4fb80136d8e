/* Everything that chance decides comes from the seed, through this file alone. The
 * generator is a published one, xoshiro256** (its state is filled in world.c). */
#include "tests/sim/sim.h"

static uint64_t rotate(uint64_t x, unsigned by)
{
    return (x << by) | (x >> (64 - by));
}

uint64_t draw(struct world *world)
{
    uint64_t *s = world->random;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t draw_below(struct world *world, uint64_t bound)
{
    gw_assert(bound > 0);
    return (draw(world) >> 11) % bound;
}

int64_t draw_between(struct world *world, int64_t a, int64_t b)
{
    gw_assert(a <= b);
    return a + (int64_t)draw_below(world, (uint64_t)(b - a) + 1);
}

bool draw_chance(struct world *world, uint32_t per_mille)
{
    return draw_below(world, 1000) < per_mille;
}

int64_t draw_delay(struct world *world, int64_t max_ms)
{
    int64_t bound = max_ms;
    if (draw_chance(world, 700))
        bound = max_ms / 20 < 5 ? (max_ms < 5 ? max_ms : 5) : max_ms / 20;
    return draw_between(world, 0, bound);
}
