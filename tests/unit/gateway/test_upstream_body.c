/* A body is the same bytes in memory and in a file, never more memory than
 * allowed, and leaves no name behind. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/upstream/upstream.h"
#include "tests/lib/testlib.h"

static int make_dir(void **state)
{
    char path[] = "/tmp/recibo-body-XXXXXX";
    if (mkdtemp(path) == NULL)
        return -1;
    *state = strdup(path);
    return *state == NULL ? -1 : 0;
}

static int remove_dir(void **state)
{
    int status = rmdir(*state); /* fails if anything was left in it */
    free(*state);
    return status;
}

static void assert_file_holds(int file, const char *expected, size_t len)
{
    char *text = malloc(len + 1);
    assert_int_equal(pread(file, text, len + 1, 0), len);
    assert_memory_equal(text, expected, len);
    free(text);
}

static void test_memory_then_file(void **state)
{
    /* Up to memory_max in memory, one byte more and all of it is in the file. */
    struct body body;
    body_init(&body, 8);
    assert_int_equal(body_add(&body, SPAN("01234567"), *state), GW_OK);
    assert_int_equal(body.file, -1);
    assert_int_equal(body.bytes, 8);
    assert_true(span_equal(gw_buf_span(&body.memory), SPAN("01234567")));
    assert_int_equal(body_add(&body, SPAN("8"), *state), GW_OK);
    assert_true(body.file >= 0);
    assert_int_equal(body.memory.len, 0);
    assert_int_equal(body_add(&body, SPAN("9abc"), *state), GW_OK);
    assert_int_equal(body.bytes, 13);
    assert_file_holds(body.file, "0123456789abc", 13);
    body_fini(&body);
    assert_int_equal(body.file, -1);
    assert_int_equal(body.bytes, 0);
}

static void test_cuts_do_not_matter(void **state)
{
    /* Pieces of every size give the same file. */
    char text[1000];
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('a' + i % 23);
    for (size_t piece = 1; piece < sizeof(text); piece += 37) {
        struct body body;
        body_init(&body, 100);
        for (size_t at = 0; at < sizeof(text); at += piece) {
            size_t len = sizeof(text) - at < piece ? sizeof(text) - at : piece;
            assert_int_equal(body_add(&body, span_of(text + at, len), *state), GW_OK);
        }
        assert_int_equal(body.bytes, sizeof(text));
        assert_file_holds(body.file, text, sizeof(text));
        body_fini(&body);
    }
}

static void test_file_is_private_and_nameless(void **state)
{
    /* Nobody can find the file, and it does not outlive the process. */
    struct body body;
    struct stat stat;
    body_init(&body, 0);
    assert_int_equal(body_add(&body, SPAN(""), *state), GW_OK);
    assert_int_equal(body.file, -1);
    assert_int_equal(body_add(&body, SPAN("x"), *state), GW_OK);
    assert_int_equal(fstat(body.file, &stat), 0);
    assert_int_equal(stat.st_nlink, 0);
    assert_int_equal(stat.st_mode & 0777, 0600);
    assert_true(fcntl(body.file, F_GETFD) & FD_CLOEXEC);
    DIR *dir = opendir(*state);
    int names = 0;
    while (readdir(dir) != NULL)
        names++;
    closedir(dir);
    assert_int_equal(names, 2); /* . and .. */
    body_fini(&body);
}

static void test_no_disk(void **state)
{
    /* A directory that is not there, and a disk that is full, are errors; what was kept stays. */
    (void)state;
    struct body body;
    body_init(&body, 4);
    assert_int_equal(body_add(&body, SPAN("abcd"), "/nonexistent"), GW_OK);
    assert_int_equal(body_add(&body, SPAN("e"), "/nonexistent"), GW_IO);
    assert_int_equal(body_add(&body, SPAN("e"), NULL), GW_IO);
    assert_int_equal(body.bytes, 4);
    assert_int_equal(body.file, -1);
    assert_true(span_equal(gw_buf_span(&body.memory), SPAN("abcd")));
    body_fini(&body);

    body_init(&body, 0);
    body.file = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(body.file >= 0);
    assert_int_equal(body_add(&body, SPAN("e"), "/tmp"), GW_IO);
    assert_int_equal(body.bytes, 0);
    body_fini(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory_then_file, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_cuts_do_not_matter, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_file_is_private_and_nameless, make_dir, remove_dir),
        cmocka_unit_test(test_no_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
