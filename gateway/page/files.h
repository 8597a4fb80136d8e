/* The files of the page, as they were when this binary was built. Their text lies in
 * page/ as plain HTML, CSS and modules; embed.cmake turns it into data. Threads: any. */
#ifndef RECIBO_GATEWAY_PAGE_FILES_H
#define RECIBO_GATEWAY_PAGE_FILES_H

#include "base/base.h"

struct page_file {
    const char *name; /* "index.html" */
    const char *type; /* for Content-Type */
    const char *etag; /* with its quotes; changes with the content */
    const unsigned char *bytes;
    size_t len;
};

/* NULL: there is no such file. */
const struct page_file *page_file(struct span name);

#endif
