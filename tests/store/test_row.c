/* Packed parts of a row: what goes in comes out, and nothing that a disk may hold
 * does harm. */
#include "store/plan.h"
#include "store/row_pack.h"
#include "tests/store/fixture.h"

#define KINDS 6 /* of packed parts */

/* A generator of our own: the same numbers on every machine. */
static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Short, long, empty; any bytes. */
static struct span random_span(uint64_t *seed, struct arena *arena)
{
    size_t len = (size_t)(next_random(seed) % 4 == 0 ? 0 : next_random(seed) % 200);
    char *ptr = arena_take(arena, len + 1);
    assert_non_null(ptr);
    for (size_t i = 0; i < len; i++)
        ptr[i] = (char)next_random(seed);
    return span_of(ptr, len);
}

/* Numbers of every length. */
static uint64_t random_number(uint64_t *seed)
{
    return next_random(seed) >> (next_random(seed) % 64);
}

static struct attempt_record random_attempt(uint64_t *seed, struct arena *arena)
{
    return (struct attempt_record){
        .number = (uint32_t)random_number(seed),
        .token = random_number(seed),
        .started_ms = (int64_t)random_number(seed),
        .sent_ms = (int64_t)(random_number(seed) / 2),
        .ended_ms = (int64_t)(random_number(seed) / 2),
        .end = (uint8_t)(next_random(seed) % END_COUNT),
        .basis = (uint8_t)(next_random(seed) % BASIS_COUNT),
        .status = (uint16_t)(next_random(seed) % 2 == 0 ? 0 : 100 + next_random(seed) % 500),
        .bytes_out = random_number(seed),
        .bytes_in = random_number(seed),
        .upstream = random_span(seed, arena),
        .reason = random_span(seed, arena),
        .line = (uint32_t)random_number(seed),
        .trace_id = random_span(seed, arena),
        .conf_hash = random_span(seed, arena),
    };
}

static void assert_same_attempt(const struct attempt_record *a, const struct attempt_record *b)
{
    assert_int_equal(a->number, b->number);
    assert_true(a->token == b->token);
    assert_true(a->started_ms == b->started_ms);
    assert_true(a->sent_ms == b->sent_ms);
    assert_true(a->ended_ms == b->ended_ms);
    assert_int_equal(a->end, b->end);
    assert_int_equal(a->basis, b->basis);
    assert_int_equal(a->status, b->status);
    assert_true(a->bytes_out == b->bytes_out);
    assert_true(a->bytes_in == b->bytes_in);
    assert_span(a->upstream, b->upstream);
    assert_span(a->reason, b->reason);
    assert_int_equal(a->line, b->line);
    assert_span(a->trace_id, b->trace_id);
    assert_span(a->conf_hash, b->conf_hash);
}

/* Attempts come back as they were; of more than the maximum the first and the
 * newest stay. */
static void attempts_round_trip(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (unsigned round = 0; round < 300; round++) {
        struct arena *arena = arena_new((size_t)1 << 20);
        struct attempt_record in[STORE_ATTEMPTS_MAX + 4], *out;
        uint32_t count = (uint32_t)(next_random(&seed) % (GW_COUNT(in) + 1)), got;
        struct gw_buf buf;
        gw_buf_init(&buf, 1 << 20);
        for (uint32_t i = 0; i < count; i++)
            in[i] = random_attempt(&seed, arena);
        assert_true(attempts_encode(&buf, in, count));
        assert_int_equal(attempts_decode(arena, gw_buf_span(&buf), &out, &got), GW_OK);
        assert_int_equal(got, count < STORE_ATTEMPTS_MAX ? count : STORE_ATTEMPTS_MAX);
        for (uint32_t i = 0; i < got; i++)
            assert_same_attempt(&out[i], &in[i == 0 ? 0 : count - got + i]);
        assert_true(attempts_are_sound(gw_buf_span(&buf)));
        gw_buf_fini(&buf);
        arena_free(arena);
    }
}

static struct probe_record random_probe(uint64_t *seed, struct arena *arena)
{
    return (struct probe_record){
        .at_ms = (int64_t)random_number(seed),
        .result = (uint8_t)(next_random(seed) % PROBE_RESULT_COUNT),
        .end = (uint8_t)(next_random(seed) % END_COUNT),
        .status = (uint16_t)(next_random(seed) % 2 == 0 ? 0 : 100 + next_random(seed) % 500),
        .by = random_span(seed, arena),
        .target = random_span(seed, arena),
        .reason = random_span(seed, arena),
    };
}

/* Probes come back as they were; of more than the maximum the newest stay. */
static void probes_round_trip(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (unsigned round = 0; round < 300; round++) {
        struct arena *arena = arena_new((size_t)1 << 20);
        struct probe_record in[STORE_PROBES_MAX + 4], *out;
        uint32_t count = (uint32_t)(next_random(&seed) % (GW_COUNT(in) + 1)), got;
        struct gw_buf buf;
        gw_buf_init(&buf, 1 << 20);
        for (uint32_t i = 0; i < count; i++)
            in[i] = random_probe(&seed, arena);
        assert_true(probes_encode(&buf, in, count));
        assert_int_equal(probes_decode(arena, gw_buf_span(&buf), &out, &got), GW_OK);
        assert_int_equal(got, count < STORE_PROBES_MAX ? count : STORE_PROBES_MAX);
        for (uint32_t i = 0; i < got; i++) {
            const struct probe_record *was = &in[count - got + i];
            assert_true(out[i].at_ms == was->at_ms);
            assert_int_equal(out[i].result, was->result);
            assert_int_equal(out[i].end, was->end);
            assert_int_equal(out[i].status, was->status);
            assert_span(out[i].by, was->by);
            assert_span(out[i].target, was->target);
            assert_span(out[i].reason, was->reason);
        }
        assert_true(probes_are_sound(gw_buf_span(&buf)));
        gw_buf_fini(&buf);
        arena_free(arena);
    }
}

/* Each result has a name of its own. */
static void probe_results_have_names(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PROBE_RESULT_COUNT; i++)
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(probe_result_name((enum probe_result)i),
                                    probe_result_name((enum probe_result)j));
    assert_string_equal(probe_result_name(PROBE_EXECUTED), "executed");
}

/* Labels and member digests come back as they were. */
static void labels_and_members_round_trip(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (unsigned round = 0; round < 300; round++) {
        struct arena *arena = arena_new((size_t)1 << 20);
        struct label labels[8], *labels_out;
        struct member_digest members[32], *members_out;
        uint32_t label_count = (uint32_t)(next_random(&seed) % 9), labels_got, members_got;
        uint32_t member_count = (uint32_t)(next_random(&seed) % 33);
        struct gw_buf buf;
        gw_buf_init(&buf, 1 << 20);
        for (uint32_t i = 0; i < label_count; i++)
            labels[i] = (struct label){random_span(&seed, arena), random_span(&seed, arena)};
        assert_true(labels_encode(&buf, labels, label_count));
        assert_int_equal(labels_decode(arena, gw_buf_span(&buf), &labels_out, &labels_got), GW_OK);
        assert_int_equal(labels_got, label_count);
        struct label_step step = {0};
        for (uint32_t i = 0; i < label_count; i++) {
            struct label label;
            assert_span(labels_out[i].name, labels[i].name);
            assert_span(labels_out[i].value, labels[i].value);
            assert_true(labels_next(gw_buf_span(&buf), &step, &label));
            assert_span(label.value, labels[i].value);
        }
        assert_false(labels_next(gw_buf_span(&buf), &step, &labels[0]));
        gw_buf_clear(&buf);
        for (uint32_t i = 0; i < member_count; i++) {
            uint64_t mac = next_random(&seed);
            members[i].pointer = random_span(&seed, arena);
            memcpy(members[i].mac, &mac, sizeof(mac));
        }
        assert_true(members_encode(&buf, members, member_count));
        assert_int_equal(members_decode(arena, gw_buf_span(&buf), &members_out, &members_got),
                         GW_OK);
        assert_int_equal(members_got, member_count);
        for (uint32_t i = 0; i < member_count; i++) {
            assert_span(members_out[i].pointer, members[i].pointer);
            assert_memory_equal(members_out[i].mac, members[i].mac, 8);
        }
        gw_buf_fini(&buf);
        arena_free(arena);
    }
}

static struct stored_message random_message(uint64_t *seed, struct arena *arena,
                                            struct http_field *fields)
{
    struct stored_message message = {.status = (uint16_t)(200 + next_random(seed) % 300),
                                     .body_kept = next_random(seed) % 2 == 0,
                                     .body_bytes = random_number(seed),
                                     .fields = fields,
                                     .field_count = (uint32_t)(next_random(seed) % 20)};
    for (uint32_t i = 0; i < message.field_count; i++)
        fields[i] = (struct http_field){random_span(seed, arena), random_span(seed, arena)};
    if (message.body_kept)
        message.body = random_span(seed, arena);
    return message;
}

/* A message comes back as it was: every field, every byte, its order. */
static void messages_round_trip(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (unsigned round = 0; round < 300; round++) {
        struct arena *arena = arena_new((size_t)1 << 20);
        struct http_field fields[20];
        struct stored_message in = random_message(&seed, arena, fields), out;
        struct gw_buf buf;
        gw_buf_init(&buf, 1 << 20);
        assert_true(message_encode(&buf, &in));
        assert_true(message_is_sound(gw_buf_span(&buf)));
        assert_int_equal(message_decode(arena, gw_buf_span(&buf), &out), GW_OK);
        assert_int_equal(out.status, in.status);
        assert_int_equal(out.body_kept, in.body_kept);
        assert_true(out.body_bytes == in.body_bytes);
        assert_span(out.body, in.body);
        assert_int_equal(out.field_count, in.field_count);
        for (uint32_t i = 0; i < in.field_count; i++) {
            assert_span(out.fields[i].name, in.fields[i].name);
            assert_span(out.fields[i].value, in.fields[i].value);
        }
        gw_buf_fini(&buf);
        arena_free(arena);
    }
}

/* In the order of encode_kind(). */
static void check_all(struct span from, bool ret[KINDS])
{
    ret[0] = attempts_are_sound(from);
    ret[1] = labels_are_sound(from);
    ret[2] = members_are_sound(from);
    ret[3] = message_is_sound(from);
    ret[4] = probes_are_sound(from);
    ret[5] = plan_items_are_sound(from);
}

/* Runs every decoder over the bytes in a block of their exact size, so that a
 * sanitizer sees the first byte too far. Returns how many found them sound. */
static unsigned decode_all(struct span bytes)
{
    struct arena *arena = arena_new((size_t)1 << 20);
    char *exact = malloc(bytes.len + (bytes.len == 0));
    struct attempt_record *attempts;
    struct label *labels;
    struct member_digest *members;
    struct stored_message message;
    struct probe_record *probes;
    struct plan_item *items;
    uint32_t count;
    unsigned sound = 0;
    assert_non_null(exact);
    if (bytes.len > 0)
        memcpy(exact, bytes.ptr, bytes.len);
    struct span from = span_of(exact, bytes.len);
    enum gw_status results[] = {attempts_decode(arena, from, &attempts, &count),
                                labels_decode(arena, from, &labels, &count),
                                members_decode(arena, from, &members, &count),
                                message_decode(arena, from, &message),
                                probes_decode(arena, from, &probes, &count),
                                plan_items_decode(arena, from, &items, &count)};
    bool checks[KINDS];
    check_all(from, checks);
    checks[3] = checks[3] && from.len > 0;
    for (size_t i = 0; i < GW_COUNT(results); i++) {
        assert_true(results[i] == GW_OK || results[i] == GW_CORRUPT);
        assert_int_equal(results[i] == GW_OK, checks[i]);
        sound += results[i] == GW_OK;
    }
    free(exact);
    arena_free(arena);
    return sound;
}

/* One packed part of each kind, one after the other. */
static void encode_kind(unsigned kind, uint64_t *seed, struct arena *arena, struct gw_buf *buf)
{
    struct attempt_record attempts[2] = {random_attempt(seed, arena), random_attempt(seed, arena)};
    struct label labels[2] = {{SPAN("order"), random_span(seed, arena)}, {SPAN("a"), SPAN("")}};
    struct member_digest member = {random_span(seed, arena), {0}};
    struct http_field fields[20];
    struct stored_message message = random_message(seed, arena, fields);
    struct probe_record probes[2] = {random_probe(seed, arena), random_probe(seed, arena)};
    struct plan_item items[2] = {{1, UINT32_MAX, PLAN_REFUSED}, {INT64_MAX, 1, PLAN_OPEN}};
    if (kind == 0)
        assert_true(attempts_encode(buf, attempts, 2));
    else if (kind == 1)
        assert_true(labels_encode(buf, labels, 2));
    else if (kind == 2)
        assert_true(members_encode(buf, &member, 1));
    else if (kind == 3)
        assert_true(message_encode(buf, &message));
    else if (kind == 4)
        assert_true(probes_encode(buf, probes, 2));
    else
        assert_true(plan_items_encode(buf, items, 2));
}

/* A part that was cut short anywhere, or goes on behind its end, is refused. */
static void cut_parts_are_refused(void **state)
{
    (void)state;
    uint64_t seed = 4;
    for (unsigned round = 0; round < 60; round++) {
        struct arena *arena = arena_new((size_t)1 << 20);
        struct gw_buf buf;
        gw_buf_init(&buf, 1 << 20);
        encode_kind(round % KINDS, &seed, arena, &buf);
        assert_true(decode_all(gw_buf_span(&buf)) >= 1);
        /* From one byte on: none at all is an empty list. */
        for (size_t len = 1; len < buf.len; len++) {
            struct span cut = span_of(buf.ptr, len);
            bool sound[KINDS];
            check_all(cut, sound);
            (void)decode_all(cut);
            assert_false(sound[round % KINDS]);
        }
        assert_true(gw_buf_byte(&buf, 0));
        bool longer[KINDS];
        check_all(gw_buf_span(&buf), longer);
        assert_false(longer[round % KINDS]);
        gw_buf_fini(&buf);
        arena_free(arena);
    }
}

/* No flipped bit makes a decoder read where nothing is, or believe a count. */
static void flipped_bits_do_no_harm(void **state)
{
    (void)state;
    uint64_t seed = 5;
    unsigned refused = 0;
    for (unsigned round = 0; round < 60; round++) {
        struct arena *arena = arena_new((size_t)1 << 20);
        struct gw_buf buf;
        gw_buf_init(&buf, 1 << 20);
        encode_kind(round % KINDS, &seed, arena, &buf);
        for (size_t bit = 0; bit < buf.len * 8; bit++) {
            buf.ptr[bit / 8] = (char)(buf.ptr[bit / 8] ^ (1 << (bit % 8)));
            refused += decode_all(gw_buf_span(&buf)) == 0;
            buf.ptr[bit / 8] = (char)(buf.ptr[bit / 8] ^ (1 << (bit % 8)));
        }
        gw_buf_fini(&buf);
        arena_free(arena);
    }
    assert_true(refused > 0);
}

/* Counts and lengths beyond what is there are refused before memory is spent. */
static void lies_about_length_are_refused(void **state)
{
    (void)state;
    static const char *const lies[] = {
        "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",     /* 2^64 - 1 items */
        "\x01\x10",                                         /* 16 items, no byte */
        "\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", /* a very long name */
        "\x01\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", /* a number that never ends */
        "\x01\x81",                                         /* ... or breaks off */
        "\x02\x01\x01a\x01b",                               /* another version */
    };
    for (size_t i = 0; i < GW_COUNT(lies); i++)
        assert_int_equal(decode_all(span_str(lies[i])), 0);
    assert_int_equal(decode_all(span_of("\x01\x81\x00\x01\x61\x01\x62", 7)), 0);
}

/* A full buffer is reported, not cut. */
static void full_buffers_are_reported(void **state)
{
    (void)state;
    struct label label = {SPAN("name"), SPAN("0123456789")};
    struct gw_buf buf;
    gw_buf_init(&buf, 10);
    assert_false(labels_encode(&buf, &label, 1));
    gw_buf_fini(&buf);
}

/* A small arena is told from a broken part. */
static void full_arena_is_no_damage(void **state)
{
    (void)state;
    struct arena *arena = arena_new(1);
    struct label label = {SPAN("name"), SPAN("value")}, *out;
    uint32_t count;
    struct gw_buf buf;
    gw_buf_init(&buf, 100);
    assert_true(labels_encode(&buf, &label, 1));
    assert_int_equal(labels_decode(arena, gw_buf_span(&buf), &out, &count), GW_NOMEM);
    gw_buf_fini(&buf);
    arena_free(arena);
}

/* Every field of a row that can be wrong is looked at, and the operation is named. */
static void unsound_rows_are_refused(void **state)
{
    struct fixture *f = *state;
    struct store_row good = fixture_row(f, "k", 1);
    struct gw_error err = {0};
    enum { FAULTS = 26 };
    struct store_row bad[FAULTS];
    for (unsigned i = 0; i < FAULTS; i++)
        bad[i] = good;
    bad[0].id = -1;
    bad[1].receipt.state = RECEIPT_ABSENT;
    bad[2].receipt.state = RECEIPT_STATE_COUNT;
    bad[3].receipt.marks = RECEIPT_MARKS_ALL + 1;
    bad[4].receipt.lease_until_ms = 0;
    bad[5].receipt.expire_ms = 1;
    bad[6].end = END_COUNT;
    bad[7].status = 99;
    bad[8].status = 1000;
    bad[9].created_ms = -1;
    bad[10].updated_ms = -1;
    bad[11].last_repeat_ms = -1;
    bad[12].evidence_until_ms = -1;
    bad[13].attempts = SPAN("x");
    bad[14].labels = SPAN("x");
    bad[15].members = SPAN("x");
    bad[16].request = SPAN("x");
    bad[17].answer = SPAN("x");
    bad[18].answer = fixture_message(f, SPAN("x"));
    bad[19].lease_is_dead = true;
    bad[19].receipt.state = RECEIPT_UNKNOWN;
    bad[19].receipt.lease_until_ms = 0;
    bad[20].claimed_ms = -1;
    bad[21].probe_due_ms = -1;
    bad[22].probe = PROBE_RESULT_COUNT;
    bad[23].probes = SPAN("x");
    bad[24].claimed_ms = 1;
    bad[25].claimed_by = SPAN("token:ana");
    assert_int_equal(row_check(&good, &err), GW_OK);
    for (unsigned i = 0; i < FAULTS; i++) {
        assert_int_equal(row_check(&bad[i], &err), GW_CORRUPT);
        assert_non_null(strstr(err.text, good.operation_id));
    }
    good.operation_id[5] = '\n';
    assert_int_equal(row_check(&good, &err), GW_CORRUPT);
    assert_null(strchr(err.text, '\n'));
}

/* Too large is a limit, not damage: such bytes may come from outside. */
static void large_rows_are_a_limit(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1);
    struct gw_error err = {0};
    char *huge = calloc(1, ((size_t)1 << 20) + 1);
    row.target = span_of(huge, ((size_t)1 << 20) + 1);
    assert_int_equal(row_check(&row, &err), GW_LIMIT);
    struct store_op op = fixture_claim(&row);
    assert_int_equal(fixture_try(f, &op), GW_LIMIT);
    row.target.len--;
    assert_int_equal(row_check(&row, &err), GW_OK);
    free(huge);
}

int main(void)
{
    char memory[] = "memory";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts_round_trip),
        cmocka_unit_test(probes_round_trip),
        cmocka_unit_test(probe_results_have_names),
        cmocka_unit_test(labels_and_members_round_trip),
        cmocka_unit_test(messages_round_trip),
        cmocka_unit_test(cut_parts_are_refused),
        cmocka_unit_test(flipped_bits_do_no_harm),
        cmocka_unit_test(lies_about_length_are_refused),
        cmocka_unit_test(full_buffers_are_reported),
        cmocka_unit_test(full_arena_is_no_damage),
        cmocka_unit_test_prestate_setup_teardown(unsound_rows_are_refused, fixture_setup,
                                                 fixture_teardown, memory),
        cmocka_unit_test_prestate_setup_teardown(large_rows_are_a_limit, fixture_setup,
                                                 fixture_teardown, memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
