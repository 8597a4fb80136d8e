/* Finds a file of the page by its whole name. It knows no paths: nothing outside the
 * binary can be asked for. */
#include "gateway/page/files.h"

/* Made by embed.cmake: page_<NAME> for each file, and PAGE_FILE rows. */
#include "gateway/page/embedded.h"

static const struct page_file files[] = {
#define PAGE_FILE(name, type, etag, bytes) {name, type, etag, bytes, sizeof(bytes)},
    PAGE_FILES
#undef PAGE_FILE
};

const struct page_file *page_file(struct span name)
{
    for (size_t i = 0; i < GW_COUNT(files); i++)
        if (span_equal(name, span_str(files[i].name)))
            return &files[i];
    return NULL;
}
