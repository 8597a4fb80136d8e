/* The codes and tokens that the process makes itself, and what names a person. */
#include "gateway/admin/access.h"
#include "gateway/admin/caller.h"
#include "gateway/admin/sessions.h"
#include "tests/lib/testlib.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct session_holder ana = {
    .name = {"ana", 3}, .actor = {"token:ana", 9}, .rights = ADMIN_READ | ADMIN_SETTLE};

static struct sessions *sessions_new(void)
{
    struct sessions *sessions = calloc(1, sizeof(*sessions));
    assert_non_null(sessions);
    return sessions;
}

static void test_a_code_is_good_once(void **state)
{
    /* Property: a code turns into a token with its holder's rights and actor, once. */
    struct sessions *sessions = sessions_new();
    char code[SESSION_TEXT_BYTES], token[SESSION_TEXT_BYTES];
    (void)state;
    sessions_issue(sessions, &ana, 1000, code);
    assert_null(sessions_find(sessions, span_str(code), 1000));
    const struct session *page = sessions_redeem(sessions, span_str(code), 1000, token);
    assert_non_null(page);
    assert_true(span_equal(session_name(page), ana.name));
    assert_true(span_equal(session_actor(page), ana.actor));
    assert_int_equal(page->rights, ana.rights);
    assert_null(sessions_redeem(sessions, span_str(code), 1000, token));
    assert_non_null(sessions_find(sessions, span_str(token), 1000));
    assert_null(sessions_redeem(sessions, span_str(token), 1000, code));
    free(sessions);
}

static void test_their_time_ends(void **state)
{
    /* Property: a code lives for a minute and a page for twelve hours, and not a tick longer. */
    struct sessions *sessions = sessions_new();
    char code[SESSION_TEXT_BYTES], token[SESSION_TEXT_BYTES];
    (void)state;
    sessions_issue(sessions, &ana, 5, code);
    assert_null(sessions_redeem(sessions, span_str(code), 5 + SESSION_CODE_MS, token));
    sessions_issue(sessions, &ana, 5, code);
    assert_non_null(sessions_redeem(sessions, span_str(code), 4 + SESSION_CODE_MS, token));
    int64_t from = 4 + SESSION_CODE_MS;
    assert_non_null(sessions_find(sessions, span_str(token), from + SESSION_PAGE_MS - 1));
    assert_null(sessions_find(sessions, span_str(token), from + SESSION_PAGE_MS));
    free(sessions);
}

/* Somebody of that number. */
static struct session_holder person(int number, char room[32])
{
    (void)snprintf(room, 32, "token:%d", number); /* fits */
    return (struct session_holder){
        .name = span_str(room), .actor = span_str(room), .rights = ADMIN_READ};
}

static void test_they_are_bounded(void **state)
{
    /* Property: beyond the bound the one that ends first gives way, no other. */
    struct sessions *sessions = sessions_new();
    char codes[SESSION_CODES_MAX + 1][SESSION_TEXT_BYTES], token[SESSION_TEXT_BYTES];
    char first[SESSION_TEXT_BYTES], second[SESSION_TEXT_BYTES], room[32];
    (void)state;
    for (int i = 0; i <= SESSION_CODES_MAX; i++) {
        const struct session_holder holder = person(i, room);
        sessions_issue(sessions, &holder, 100 + i, codes[i]);
    }
    assert_null(sessions_redeem(sessions, span_str(codes[0]), 200, token));
    for (int i = 1; i <= SESSION_CODES_MAX; i++)
        assert_non_null(sessions_redeem(sessions, span_str(codes[i]), 200, token));
    memset(sessions, 0, sizeof(*sessions));
    for (int i = 0; i <= SESSION_PAGES_MAX; i++) {
        const struct session_holder holder = person(i, room);
        sessions_issue(sessions, &holder, 100 + i, codes[0]);
        assert_non_null(sessions_redeem(sessions, span_str(codes[0]), 100 + i,
                                        i == 0   ? first
                                        : i == 1 ? second
                                                 : token));
    }
    assert_null(sessions_find(sessions, span_str(first), 200));
    assert_non_null(sessions_find(sessions, span_str(second), 200));
    assert_non_null(sessions_find(sessions, span_str(token), 200));
    free(sessions);
}

static void test_nobody_pushes_out_others(void **state)
{
    /* Property: an actor's new code ends his last one, and his many pages his own oldest; what
     * others have stays, however often he asks. */
    struct sessions *sessions = sessions_new();
    char room[32], theirs[SESSION_TEXT_BYTES], page[SESSION_TEXT_BYTES], token[SESSION_TEXT_BYTES];
    char old[SESSION_TEXT_BYTES], code[SESSION_TEXT_BYTES], first[SESSION_TEXT_BYTES];
    const struct session_holder other = person(1, room);
    (void)state;
    sessions_issue(sessions, &other, 10, code);
    assert_non_null(sessions_redeem(sessions, span_str(code), 10, page));
    sessions_issue(sessions, &other, 10, theirs);
    sessions_issue(sessions, &ana, 20, old);
    for (int i = 0; i < 2 * SESSION_PAGES_MAX; i++) {
        sessions_issue(sessions, &ana, 20 + i, old);
        sessions_issue(sessions, &ana, 20 + i, code);
        assert_null(sessions_redeem(sessions, span_str(old), 20 + i, token));
        assert_non_null(sessions_redeem(sessions, span_str(code), 20 + i, i == 0 ? first : token));
        assert_true((sessions_find(sessions, span_str(first), 20 + i) != NULL) ==
                    (i < SESSION_PAGES_EACH));
    }
    assert_non_null(sessions_find(sessions, span_str(page), 300));
    assert_non_null(sessions_redeem(sessions, span_str(theirs), 300, token));
    free(sessions);
}

static void test_nothing_else_is_good(void **state)
{
    /* Property: an empty, a cut, a longer or a zeroed secret opens nothing. */
    struct sessions *sessions = sessions_new();
    char code[SESSION_TEXT_BYTES], token[SESSION_TEXT_BYTES];
    (void)state;
    const struct span zeros = SPAN("\0\0\0\0");
    assert_null(sessions_find(sessions, SPAN(""), 0));
    assert_null(sessions_find(sessions, zeros, -1));
    assert_null(sessions_redeem(sessions, SPAN(""), 0, token));
    sessions_issue(sessions, &ana, 0, code);
    struct span right = span_str(code);
    assert_null(sessions_redeem(sessions, span_of(code, right.len - 1), 0, token));
    assert_null(sessions_redeem(sessions, span_of(code, right.len + 1), 0, token));
    assert_non_null(sessions_redeem(sessions, right, 0, token));
    free(sessions);
}

static void test_long_names_are_cut(void **state)
{
    /* Property: a name longer than its room is cut and never runs over. */
    struct sessions *sessions = sessions_new();
    char code[SESSION_TEXT_BYTES], token[SESSION_TEXT_BYTES], text[1000];
    (void)state;
    memset(text, 'x', sizeof(text));
    const struct session_holder holder = {.name = span_of(text, sizeof(text)),
                                          .actor = span_of(text, sizeof(text)),
                                          .rights = ADMIN_READ};
    sessions_issue(sessions, &holder, 0, code);
    const struct session *page = sessions_redeem(sessions, span_str(code), 0, token);
    assert_non_null(page);
    assert_int_equal(session_name(page).len, SESSION_NAME_BYTES);
    assert_int_equal(session_actor(page).len, SESSION_ACTOR_BYTES);
    free(sessions);
}

static void test_persons(void **state)
{
    /* Property: a person's name is text of some length, without control characters. */
    char text[CALLER_PERSON_BYTES_MAX + 1];
    (void)state;
    memset(text, 'x', sizeof(text));
    assert_true(caller_person_is_sound(SPAN("anna")));
    assert_true(caller_person_is_sound(SPAN("Anna M\xc3\xbcller <anna@example.org>")));
    assert_true(caller_person_is_sound(span_of(text, CALLER_PERSON_BYTES_MAX)));
    assert_false(caller_person_is_sound(span_of(text, CALLER_PERSON_BYTES_MAX + 1)));
    assert_false(caller_person_is_sound(SPAN("")));
    assert_false(caller_person_is_sound(SPAN("an\na")));
    assert_false(caller_person_is_sound(SPAN("an\0a")));
    assert_false(caller_person_is_sound(SPAN("an\x7f")));
    assert_false(caller_person_is_sound(SPAN("an\xff")));
    assert_false(caller_person_is_sound(SPAN("an\xc3")));
}

static void test_peers(void **state)
{
    /* Property: the kernel names the peer of a Unix socket; what is no socket has none. */
    struct caller_peer peer;
    int pair[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    caller_look(pair[0], &peer);
    assert_true(peer.has_uid);
    assert_false(peer.has_address);
    assert_int_equal(peer.uid, geteuid());
    (void)close(pair[0]); /* nothing was written */
    (void)close(pair[1]);
    caller_look(-1, &peer);
    assert_false(peer.has_uid || peer.has_address);
    caller_look(STDIN_FILENO, &peer);
    assert_false(peer.has_uid && peer.has_address);
}

static void test_hosts_for_links(void **state)
{
    /* Property: only what is a host name or an address gets into a link. */
    (void)state;
    assert_true(access_host_is_plain(SPAN("localhost:8081")));
    assert_true(access_host_is_plain(SPAN("127.0.0.1")));
    assert_true(access_host_is_plain(SPAN("[::1]:8081")));
    assert_false(access_host_is_plain(SPAN("")));
    assert_false(access_host_is_plain(SPAN("a b")));
    assert_false(access_host_is_plain(SPAN("a/#code=x")));
    assert_false(access_host_is_plain(SPAN("user@host")));
    assert_false(access_host_is_plain(SPAN("\"><script>")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_code_is_good_once),
        cmocka_unit_test(test_their_time_ends),
        cmocka_unit_test(test_they_are_bounded),
        cmocka_unit_test(test_nobody_pushes_out_others),
        cmocka_unit_test(test_nothing_else_is_good),
        cmocka_unit_test(test_long_names_are_cut),
        cmocka_unit_test(test_persons),
        cmocka_unit_test(test_peers),
        cmocka_unit_test(test_hosts_for_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
