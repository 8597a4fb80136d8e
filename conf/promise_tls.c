/* What is said over TLS, and what is verified, in plain words (`recibo check`). */
#include "conf/promise.h"

static void put_span(struct gw_buf *out, struct span text)
{
    (void)gw_buf_add(out, text); /* a buffer that is full is marked; the caller looks at the end */
}

static void put(struct gw_buf *out, const char *text)
{
    put_span(out, span_str(text));
}

static void promise_callers(const struct conf_address *listener, struct gw_buf *out)
{
    const struct conf_tls *tls = listener->tls;
    put_span(out, listener->text);
    put(out, " speaks TLS 1.2 or later; ");
    if (tls->client_ca.len == 0)
        put(out, "callers are asked for no certificate.\n");
    else if (tls->client_required)
        put(out, "callers without a certificate of client_ca are refused in the handshake.\n");
    else
        put(out, "callers may show a certificate of client_ca, and are let in without one.\n");
}

static void promise_upstream(const struct upstream_policy *upstream, struct gw_buf *out)
{
    put(out, "Upstream ");
    put_span(out, upstream->name);
    put(out, " is spoken to over TLS; its certificate must be for ");
    put_span(out, upstream->tls.name);
    put(out, upstream->tls.ca.len > 0 ? " and from tls.ca.\n"
                                      : " and from an authority of this system.\n");
}

void promise_tls(const struct conf *conf, struct gw_buf *out)
{
    for (uint32_t i = 0; i < conf->listen_count; i++)
        if (conf->listen[i].tls != NULL)
            promise_callers(&conf->listen[i], out);
    if (conf->has_admin && conf->admin.tls != NULL)
        put(out, "The operator's plane speaks TLS 1.2 or later.\n");
    for (uint32_t i = 0; i < conf->upstream_count; i++)
        if (conf->upstreams[i].tls.is_on)
            promise_upstream(&conf->upstreams[i], out);
}
