/* Guards the two commands that make secrets and their digests: what they print fits
 * what they were given, and what they refuse they refuse without printing a secret. */
#include <crypt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/text.h"
#include "gateway/commands/commands.h"
#include "tests/lib/testlib.h"

#define TEXT_MAX  8192
#define WORDS_MAX 8

typedef int command_fn(int argc, char **argv);

struct outcome {
    int code;
    char out[TEXT_MAX], err[TEXT_MAX];
};

static int open_temporary(void)
{
    char path[] = "/tmp/recibo-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    return fd;
}

static void read_back(int fd, char ret_text[TEXT_MAX])
{
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    ssize_t got = read(fd, ret_text, TEXT_MAX - 1);
    assert_true(got >= 0);
    ret_text[got] = '\0';
}

/* Runs a command with files for its three streams. */
static void run(command_fn *command, struct span input, const char *const *words,
                struct outcome *ret)
{
    int files[3], saved[3], argc = 0;
    char *argv[WORDS_MAX + 1] = {NULL};
    for (; words[argc] != NULL; argc++) {
        assert_true(argc < WORDS_MAX);
        argv[argc] = strdup(words[argc]);
    }
    (void)fflush(stdout); /* cmocka's own lines stay out of the files */
    (void)fflush(stderr);
    for (int i = 0; i < 3; i++) {
        files[i] = open_temporary();
        saved[i] = dup(i);
    }
    assert_int_equal(write(files[0], input.ptr, input.len), (ssize_t)input.len);
    assert_int_equal(lseek(files[0], 0, SEEK_SET), 0);
    for (int i = 0; i < 3; i++)
        (void)dup2(files[i], i); /* a failure shows in what is read back */
    ret->code = command(argc, argv);
    (void)fflush(stdout);
    (void)fflush(stderr);
    for (int i = 0; i < 3; i++)
        (void)dup2(saved[i], i);
    read_back(files[1], ret->out);
    read_back(files[2], ret->err);
    for (int i = 0; i < 3; i++) {
        (void)close(files[i]); /* unlinked temporaries */
        (void)close(saved[i]);
    }
    for (int i = 0; i < argc; i++)
        free(argv[i]);
}

#define RUN(command, input, ret, ...)                                                              \
    run((command), (input), (const char *const[]){__VA_ARGS__, NULL}, (ret))

static void digest_line(struct span secret, char ret_text[66])
{
    uint8_t digest[GW_SHA256_BYTES];
    gw_sha256_once(secret, digest);
    gw_hex(digest, sizeof(digest), ret_text);
    memcpy(ret_text + 64, "\n", 2);
}

/* Guards that one line end is no part of the key, and everything else is. */
static void test_hash_key(void **state)
{
    (void)state;
    static const char *const inputs[] = {"a key", "a key\n", "a key\r\n"};
    struct outcome got;
    char want[66];
    digest_line(SPAN("a key"), want);
    for (size_t i = 0; i < GW_COUNT(inputs); i++) {
        RUN(command_hash_key, span_str(inputs[i]), &got, "hash-key");
        assert_int_equal(got.code, EXIT_DONE);
        assert_string_equal(got.out, want);
        assert_string_equal(got.err, "");
    }
    RUN(command_hash_key, SPAN("a key\n"), &got, "hash-key", "--json");
    assert_int_equal(got.code, EXIT_DONE);
    json_t *root = json_loads(got.out, 0, NULL);
    assert_int_equal(memcmp(json_string_value(json_object_get(root, "sha256")), want, 64), 0);
    json_decref(root);
}

/* Guards what no caller could send as a key, and the bound at both sides of it. */
static void test_hash_key_refusals(void **state)
{
    (void)state;
    static const char *const bad[] = {"",   "\n", "\r\n", "a\nb\n", "a\n\n",
                                      " a", "a ", "a\tb", "\x7f"};
    struct outcome got;
    for (size_t i = 0; i < GW_COUNT(bad); i++) {
        RUN(command_hash_key, span_str(bad[i]), &got, "hash-key");
        assert_int_equal(got.code, EXIT_FAILED);
        assert_string_equal(got.out, "");
        assert_string_not_equal(got.err, "");
    }
    RUN(command_hash_key, SPAN("a\0b"), &got, "hash-key");
    assert_int_equal(got.code, EXIT_FAILED);
    char longest[4100], want[66];
    memset(longest, 'a', sizeof(longest));
    longest[4096] = '\n';
    digest_line(span_of(longest, 4096), want);
    RUN(command_hash_key, span_of(longest, 4097), &got, "hash-key");
    assert_int_equal(got.code, EXIT_DONE);
    assert_string_equal(got.out, want);
    longest[4096] = 'a';
    for (size_t len = 4097; len <= sizeof(longest); len++) {
        RUN(command_hash_key, span_of(longest, len), &got, "hash-key");
        assert_int_equal(got.code, EXIT_FAILED);
    }
}

/* Guards that the printed hash lets the password in, and that salts are fresh. */
static void test_hash_password(void **state)
{
    (void)state;
    struct outcome one, two;
    struct crypt_data room;
    RUN(command_hash_key, SPAN("pass word\n"), &one, "hash-key", "--basic");
    RUN(command_hash_key, SPAN("pass word\n"), &two, "hash-key", "--basic");
    assert_int_equal(one.code, EXIT_DONE);
    assert_string_not_equal(one.out, two.out);
    one.out[strcspn(one.out, "\n")] = '\0';
    assert_int_equal(one.out[0], '$');
    memset(&room, 0, sizeof(room));
    assert_string_equal(crypt_r("pass word", one.out, &room), one.out);
    assert_string_not_equal(crypt_r("pass wore", one.out, &room), one.out);
    char longer[512];
    memset(longer, 'a', sizeof(longer));
    RUN(command_hash_key, span_of(longer, 512), &one, "hash-key", "--basic");
    assert_int_equal(one.code, EXIT_FAILED);
}

/* Guards that a wrong word is named, but never a word that may be the key. */
static void test_usage(void **state)
{
    (void)state;
    struct outcome got;
    RUN(command_hash_key, SPAN("a"), &got, "hash-key", "--nosuch");
    assert_int_equal(got.code, EXIT_USAGE);
    assert_non_null(strstr(got.err, "--nosuch"));
    assert_non_null(strstr(got.err, "see recibo hash-key --help"));
    RUN(command_hash_key, SPAN("a"), &got, "hash-key", "S3cret");
    assert_int_equal(got.code, EXIT_USAGE);
    assert_null(strstr(got.err, "S3cret"));
    RUN(command_hash_key, SPAN(""), &got, "hash-key", "--help");
    assert_int_equal(got.code, EXIT_DONE);
    assert_non_null(strstr(got.out, "--basic"));
    RUN(command_token, SPAN(""), &got, "token");
    assert_int_equal(got.code, EXIT_USAGE);
    RUN(command_token, SPAN(""), &got, "token", "old");
    assert_int_equal(got.code, EXIT_USAGE);
    assert_non_null(strstr(got.err, "old"));
    RUN(command_token, SPAN(""), &got, "token", "new", "--rights", "read,write");
    assert_int_equal(got.code, EXIT_USAGE);
    assert_non_null(strstr(got.err, "read,write"));
    RUN(command_token, SPAN(""), &got, "token", "new", "--rights", "");
    assert_int_equal(got.code, EXIT_USAGE);
    RUN(command_token, SPAN(""), &got, "token", "new", "--name", "a b");
    assert_int_equal(got.code, EXIT_USAGE);
    RUN(command_token, SPAN(""), &got, "token", "new", "--name");
    assert_int_equal(got.code, EXIT_USAGE);
    assert_string_equal(got.out, "");
    RUN(command_token, SPAN(""), &got, "token", "--help");
    assert_int_equal(got.code, EXIT_DONE);
}

/* Guards that a token fits its digest, is new each time, and that the line for the
 * configuration holds the digest and never the token. */
static void test_token(void **state)
{
    (void)state;
    struct outcome one, two;
    char digest[66];
    RUN(command_token, SPAN(""), &one, "token", "new", "--json", "--name", "ana", "--rights",
        "settle,read,settle");
    RUN(command_token, SPAN(""), &two, "token", "new");
    assert_int_equal(one.code, EXIT_DONE);
    assert_int_equal(two.code, EXIT_DONE);
    json_t *root = json_loads(one.out, 0, NULL);
    assert_non_null(root);
    const char *token = json_string_value(json_object_get(root, "token"));
    assert_int_equal(strlen(token), 55);
    assert_int_equal(strncmp(token, "rt_", 3), 0);
    digest_line(span_str(token), digest);
    digest[64] = '\0';
    assert_string_equal(json_string_value(json_object_get(root, "sha256")), digest);
    assert_string_equal(json_string_value(json_object_get(root, "name")), "ana");
    json_t *words = json_object_get(root, "rights");
    assert_int_equal(json_array_size(words), 2);
    assert_string_equal(json_string_value(json_array_get(words, 0)), "read");
    assert_string_equal(json_string_value(json_array_get(words, 1)), "settle");
    json_decref(root);
    char *second = strstr(two.out, "rt_");
    assert_non_null(second);
    assert_null(strstr(second + 1, "rt_"));
    assert_int_equal(second[55], '\n');
    char other[56] = {0};
    memcpy(other, second, 55);
    assert_null(strstr(one.out, other));
    digest_line(span_of(second, 55), digest);
    digest[64] = '\0';
    char line[160];
    (void)snprintf(line, sizeof(line), "- {name: operator, rights: [read], sha256: \"%s\"}",
                   digest); /* fits */
    assert_non_null(strstr(two.out, line));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_key),      cmocka_unit_test(test_hash_key_refusals),
        cmocka_unit_test(test_hash_password), cmocka_unit_test(test_usage),
        cmocka_unit_test(test_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
