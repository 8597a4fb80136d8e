/* The system that the tests' own gateway, tests/recibo-trouble, runs on: memory that
 * runs out at the n-th call and a disk that refuses the store's writes, when a test
 * says so. It must never act by itself, and it lies in no other program.
 *
 * RECIBO_TROUBLE names a file of TROUBLE_WORDS numbers that the test and this process
 * share (tests/lib/trouble.py writes it). What the program and its libraries ask the
 * system for comes through here, since the linker prefers an executable's functions to
 * those of a library. Without the variable all of it is passed on. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FRAMES_MAX 48
#define PATH_BYTES 4096

enum trouble_word {
    TROUBLE_FIRST,  /* the first allocation that fails, counted from one; 0: nothing is counted */
    TROUBLE_LAST,   /* the last one that fails */
    TROUBLE_CALLS,  /* how many were asked for since FIRST was set */
    TROUBLE_STRUCK, /* how many of them failed */
    TROUBLE_LEAST,  /* smaller allocations are neither counted nor failed */
    TROUBLE_SPARED, /* bit i: the i-th of the fragile libraries gets what it asks for */
    TROUBLE_DISK,   /* the errno of every write to the store; 0: they are made */
    TROUBLE_DENIED, /* how many writes got it */
    TROUBLE_WORDS,
};

/* Set once, before main(): without it this process is like any other. */
static _Atomic uint64_t *shared;

/* Where memory really comes from: a sanitizer's allocator if there is one. */
void *__interceptor_malloc(size_t bytes) __attribute__((weak));
void *__interceptor_calloc(size_t count, size_t bytes) __attribute__((weak));
void *__interceptor_realloc(void *ptr, size_t bytes) __attribute__((weak));
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *ptr, size_t bytes);

/* The dynamic linker keeps what it asks for where a leak checker does not look; asked
 * through this file it is not recognised. */
const char *__lsan_default_suppressions(void)
{
    return "leak:_dl_map_object_deps\n";
}

/* OpenSSL's digests cannot say that they failed in a way that the caller could live on
 * with, and evhttp follows the pointer that it did not get. */
static const char *const fragile[] = {"libcrypto.so", "libevent_extra"};

/* The bit of the fragile library that the file is, or 0. */
static uint64_t bit_of(const char *name)
{
    for (size_t i = 0; i < sizeof(fragile) / sizeof(fragile[0]); i++)
        if (strstr(name, fragile[i]) != NULL)
            return UINT64_C(1) << i;
    return 0;
}

/* Who asks: the caller of malloc() and who called it, up to the program itself. */
static bool is_spared(void *caller, void *const *frames, int count)
{
    Dl_info own, info;
    int i = 0;
    uint64_t spared = atomic_load(&shared[TROUBLE_SPARED]);
    if (spared == 0 || dladdr(fragile, &own) == 0)
        return false;
    while (i < count && frames[i] != caller)
        i++;
    for (; i < count; i++) {
        if (dladdr(frames[i], &info) == 0 || info.dli_fbase == own.dli_fbase)
            return false;
        if ((bit_of(info.dli_fname) & spared) != 0)
            return true;
    }
    return false;
}

static void say_where(uint64_t number, void *const *frames, int count)
{
    char line[64];
    int len = snprintf(line, sizeof(line), "trouble: allocation %llu fails\n",
                       (unsigned long long)number);
    ssize_t written = write(STDERR_FILENO, line, len > 0 ? (size_t)len : 0);
    (void)written; /* nobody may be listening */
    backtrace_symbols_fd(frames, count, STDERR_FILENO);
}

/* Is this allocation one of those that fail? */
static bool runs_out(void *caller, size_t bytes)
{
    void *frames[FRAMES_MAX];
    uint64_t first = shared == NULL ? 0 : atomic_load(&shared[TROUBLE_FIRST]);
    if (first == 0 || bytes < atomic_load(&shared[TROUBLE_LEAST]))
        return false;
    uint64_t number = atomic_fetch_add(&shared[TROUBLE_CALLS], 1) + 1;
    if (number < first || number > atomic_load(&shared[TROUBLE_LAST]))
        return false;
    int count = backtrace(frames, FRAMES_MAX);
    if (is_spared(caller, frames, count))
        return false;
    if (atomic_fetch_add(&shared[TROUBLE_STRUCK], 1) == 0)
        say_where(number, frames, count);
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    if (runs_out(__builtin_return_address(0), bytes))
        return NULL;
    return __interceptor_malloc != NULL ? __interceptor_malloc(bytes) : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    if (runs_out(__builtin_return_address(0), count * bytes)) /* only compared: may wrap */
        return NULL;
    return __interceptor_calloc != NULL ? __interceptor_calloc(count, bytes)
                                        : __libc_calloc(count, bytes);
}

void *realloc(void *ptr, size_t bytes)
{
    if (runs_out(__builtin_return_address(0), bytes))
        return NULL;
    return __interceptor_realloc != NULL ? __interceptor_realloc(ptr, bytes)
                                         : __libc_realloc(ptr, bytes);
}

/* Does the descriptor belong to the database or to its log? */
static bool is_of_store(int fd)
{
    char name[64], path[PATH_BYTES];
    (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd); /* it fits */
    ssize_t len = readlink(name, path, sizeof(path) - 1);
    if (len < 0)
        return false;
    path[len] = '\0';
    return strstr(path, "recibo.db") != NULL && strstr(path, "recibo.db.lock") == NULL;
}

static bool is_denied(int fd)
{
    uint64_t why = shared == NULL ? 0 : atomic_load(&shared[TROUBLE_DISK]);
    if (why == 0 || !is_of_store(fd))
        return false;
    atomic_fetch_add(&shared[TROUBLE_DENIED], 1);
    errno = (int)why;
    return true;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset)
{
    return is_denied(fd) ? -1 : (ssize_t)syscall(SYS_pwrite64, fd, bytes, count, offset);
}

int ftruncate64(int fd, off64_t bytes)
{
    return is_denied(fd) ? -1 : (int)syscall(SYS_ftruncate, fd, bytes);
}

__attribute__((constructor)) static void share(void)
{
    void *frames[1];
    const char *path = getenv("RECIBO_TROUBLE");
    if (path == NULL)
        return;
    (void)backtrace(frames, 1); /* its first call allocates: now, and not when memory is out */
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *words = fd < 0 ? MAP_FAILED
                         : mmap(NULL, TROUBLE_WORDS * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                                MAP_SHARED, fd, 0);
    if (words == MAP_FAILED) {
        (void)fprintf(stderr, "trouble: '%s' cannot be shared\n", path); /* nowhere else */
        _exit(125);
    }
    (void)close(fd); /* the mapping stays */
    shared = words;
}
