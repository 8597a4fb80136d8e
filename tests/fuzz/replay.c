/* Replays files or folders of files through a fuzz target with any compiler. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_BYTES_MAX (1 << 22)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        (void)fprintf(stderr, "cannot open %s\n", path);
        return 1;
    }
    uint8_t *data = malloc(INPUT_BYTES_MAX);
    size_t len = data == NULL ? 0 : fread(data, 1, INPUT_BYTES_MAX, file);
    (void)fclose(file); /* read only */
    /* Exactly as long as the input, so that a sanitizer sees the first byte too far. */
    uint8_t *exact = malloc(len == 0 ? 1 : len);
    if (data == NULL || exact == NULL) {
        free(data);
        free(exact);
        return 1;
    }
    memcpy(exact, data, len);
    free(data);
    (void)LLVMFuzzerTestOneInput(exact, len); /* a finding aborts */
    free(exact);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0, count = 0;
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        if (dir == NULL) {
            failed |= replay_file(argv[i]);
            count++;
            continue;
        }
        for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
            char path[4096];
            if (entry->d_name[0] == '.')
                continue;
            (void)snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name); /* short names */
            failed |= replay_file(path);
            count++;
        }
        (void)closedir(dir); /* read only */
    }
    (void)printf("%d inputs replayed\n", count);
    return failed || count == 0;
}
