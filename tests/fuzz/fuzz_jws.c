/* Signed objects and sets of keys from any bytes: up to the first NUL a set, behind it an
 * object. A set that is read holds only keys that fit their algorithms; an object without a
 * signature by one of them is never taken. */
#include "gateway/owners/jws.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX   ((size_t)16 << 10)
#define ARENA_BYTES ((size_t)8 << 20)

static void check_set(const struct jwk_set *set)
{
    gw_assert(set->count <= JWK_SET_KEYS_MAX);
    for (uint32_t i = 0; i < set->count; i++) {
        const struct jwk *key = &set->keys[i];
        gw_assert(key->algorithms != 0 && key->algorithms >> GW_SIGNATURE_COUNT == 0);
        for (uint32_t a = 0; a < GW_SIGNATURE_COUNT; a++)
            gw_assert((key->algorithms >> a & 1) == 0 ||
                      gw_signature_fits((enum gw_signature_algorithm)a, &key->key));
    }
}

/* By a set without keys nothing is signed. */
static void check_object(struct arena *arena, struct span text)
{
    const struct jwk_set none = {0};
    const struct jws_policy policy = {.keys = &none, .algorithms = UINT32_MAX};
    struct span payload = SPAN("untouched");
    gw_assert(!jws_open(&policy, arena, text, &payload));
    gw_assert(span_equal(payload, SPAN("untouched")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX)
        return 0;
    struct arena *arena = arena_new(ARENA_BYTES);
    gw_assert(arena != NULL);
    const char *text = (const char *)data;
    size_t len = size == 0 ? 0 : strnlen(text, size);
    struct span object = len < size ? span_of(text + len + 1, size - len - 1) : SPAN("");
    struct jwk_set set = {0};
    struct jwk_fault fault;
    struct span payload;
    if (jwk_set_read(arena, span_of(text, len), &set, &fault)) {
        check_set(&set);
        const struct jws_policy policy = {.keys = &set, .algorithms = UINT32_MAX};
        bool is_open = jws_open(&policy, arena, object, &payload);
        gw_assert(!is_open || set.count > 0);
    } else {
        gw_assert(fault.text == NULL || fault.offset <= len);
    }
    check_object(arena, object);
    arena_free(arena);
    return 0;
}
