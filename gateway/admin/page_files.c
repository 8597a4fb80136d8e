/* Gives a browser the files of the page. They hold no data and need no token; what
 * the page shows it asks for like anybody else. Must never serve anything that is not
 * part of the binary, and never let a page of another origin run or frame it. */
#include "gateway/admin/call.h"

#include "gateway/admin/connections.h"
#include "gateway/admin/plane.h"
#include "gateway/http1/http1.h"
#include "gateway/page/files.h"

#include <event2/buffer.h>
#include <event2/http.h>

#include <stdio.h>

/* No inline script and no markup from text: whatever a stored body says, it stays text. */
#define PAGE_POLICY                                                                                \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "                \
    "img-src 'self' data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; "          \
    "require-trusted-types-for 'script'"

static bool is_main(const struct page_file *file)
{
    return span_equal(span_str(file->name), SPAN("index.html"));
}

/* "a", W/"a" and lists of them: a tag is quoted, so that a plain search cannot err. */
static bool is_known(const struct call *call, const struct page_file *file)
{
    uint32_t count;
    struct span seen = call_request_header(call, "If-None-Match", &count);
    struct span tag = span_str(file->etag);
    for (size_t at = 0; count == 1 && at + tag.len <= seen.len; at++)
        if (memcmp(seen.ptr + at, tag.ptr, tag.len) == 0)
            return true;
    return false;
}

static void add_headers(struct call *call, const struct page_file *file, bool has_content)
{
    char length[24];
    (void)snprintf(length, sizeof(length), "%zu", file->len); /* at most 20 digits */
    call_header(call, "Content-Type", file->type);
    if (has_content)
        call_header(call, "Content-Length", length);
    call_header(call, "ETag", file->etag);
    /* A newer binary has other files under the same names: always asked for again. */
    call_header(call, "Cache-Control", is_main(file) ? "no-store" : "no-cache");
    call_header(call, "X-Content-Type-Options", "nosniff");
    call_header(call, "X-Frame-Options", "DENY");
    call_header(call, "Referrer-Policy", "no-referrer");
    call_header(call, "Cross-Origin-Opener-Policy", "same-origin");
    call_header(call, "Cross-Origin-Resource-Policy", "same-origin");
    call_header(call, "Content-Security-Policy", PAGE_POLICY);
    if (call->is_head)
        call_header(call, "Connection", "close");
}

static void send_file(struct call *call, const struct page_file *file)
{
    struct evbuffer *out = evbuffer_new();
    bool is_same = !is_main(file) && is_known(call, file);
    bool sends_body = !is_same && !call->is_head;
    call->status = is_same ? 304 : 200;
    /* The bytes outlive every call: they are part of the binary. */
    if (out == NULL ||
        (sends_body && evbuffer_add_reference(out, file->bytes, file->len, NULL, NULL) != 0)) {
        if (out != NULL)
            evbuffer_free(out);
        call_problem(call, ADMIN_OVERLOADED, "Out of memory.");
        return;
    }
    add_headers(call, file, !is_same);
    connections_answering(call->admin->connections, call->request);
    evhttp_send_reply(call->request, call->status, http1_reason(call->status).ptr,
                      sends_body ? out : NULL);
    evbuffer_free(out);
    call->request = NULL; /* evhttp frees it */
    call->is_answered = true;
}

void call_page_file(struct call *call)
{
    bool is_root = span_equal(call->path, SPAN("/"));
    const struct page_file *file = page_file(is_root ? SPAN("index.html") : call->parameter);
    if (file == NULL || is_root != is_main(file)) { /* the page has one address */
        call_problem(call, ADMIN_NOT_FOUND, "The page has no such file.");
        return;
    }
    send_file(call, file);
}
