/* Reads /proc. It must never fail a page of metrics. */
#include "gateway/admin/process.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define FDS_MAX 1048576

static uint64_t cpu_ms(void)
{
    struct rusage use;
    if (getrusage(RUSAGE_SELF, &use) != 0)
        return 0;
    return ((uint64_t)use.ru_utime.tv_sec + (uint64_t)use.ru_stime.tv_sec) * 1000 +
           ((uint64_t)use.ru_utime.tv_usec + (uint64_t)use.ru_stime.tv_usec) / 1000;
}

/* The file's first bytes, NUL-terminated; false: not there. */
static bool read_start(const char *path, char *to, size_t size)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    size_t len = fread(to, 1, size - 1, file);
    (void)fclose(file); /* only read */
    to[len] = '\0';
    return len > 0;
}

static uint64_t resident_bytes(void)
{
    char text[128];
    unsigned long long pages = 0;
    long page = sysconf(_SC_PAGESIZE);
    if (!read_start("/proc/self/statm", text, sizeof(text)) ||
        sscanf(text, "%*u %llu", &pages) != 1 || page <= 0)
        return 0;
    return pages * (uint64_t)page;
}

static uint32_t open_fds(void)
{
    uint32_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return 0;
    while (count < FDS_MAX && readdir(folder) != NULL)
        count++;
    (void)closedir(folder);           /* only read */
    return count > 3 ? count - 3 : 0; /* ".", ".." and the folder itself */
}

/* The boot's second and the ticks since: both stand still while the process runs. */
static uint64_t start_ms(void)
{
    char text[8192];
    unsigned long long ticks = 0, boot = 0;
    long each_second = sysconf(_SC_CLK_TCK);
    if (!read_start("/proc/self/stat", text, sizeof(text)) || each_second <= 0)
        return 0;
    const char *after_name = strrchr(text, ')'); /* the name may hold anything */
    if (after_name == NULL ||
        sscanf(after_name,
               ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
               "%*d %*d %llu",
               &ticks) != 1)
        return 0;
    FILE *file = fopen("/proc/stat", "re");
    if (file == NULL)
        return 0;
    while (boot == 0 && fgets(text, sizeof(text), file) != NULL)
        (void)sscanf(text, "btime %llu", &boot); /* boot stays 0 on other lines */
    (void)fclose(file);                          /* only read */
    return boot * 1000 + ticks * 1000 / (unsigned long long)each_second;
}

void process_look(struct process_figures *ret)
{
    *ret = (struct process_figures){.cpu_ms = cpu_ms(),
                                    .resident_bytes = resident_bytes(),
                                    .start_ms = start_ms(),
                                    .open_fds = open_fds()};
}
