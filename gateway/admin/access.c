/* Decides who may call. Must never accept a name that somebody else can point at
 * this address, and never tell by its time which token was nearly right. */
#include "gateway/admin/access.h"

#include "base/digest.h"
#include "conf/values.h"

#define TOKEN_BYTES_MAX 512

/* Splits "name:port" and "[::1]:port"; false: not a host at all. */
static bool split_host(struct span host, struct span *ret_name, bool *ret_is_bracketed)
{
    size_t end = 0;
    *ret_is_bracketed = host.len > 0 && host.ptr[0] == '[';
    if (*ret_is_bracketed) {
        while (end < host.len && host.ptr[end] != ']')
            end++;
        if (end == host.len)
            return false;
        *ret_name = span_of(host.ptr + 1, end - 1);
        end++;
    } else {
        while (end < host.len && host.ptr[end] != ':')
            end++;
        *ret_name = span_of(host.ptr, end);
    }
    if (ret_name->len == 0)
        return false;
    if (end == host.len)
        return true;
    if (host.ptr[end] != ':')
        return false;
    for (size_t i = end + 1; i < host.len; i++)
        if (host.ptr[i] < '0' || host.ptr[i] > '9')
            return false;
    return true;
}

bool access_host_is_plain(struct span host)
{
    struct span name;
    bool is_bracketed;
    if (!split_host(host, &name, &is_bracketed))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = gw_lower(name.ptr[i]);
        bool fits = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
                    (is_bracketed && c == ':');
        if (!fits)
            return false;
    }
    return true;
}

static bool is_any_address(struct span host)
{
    return span_equal(host, SPAN("0.0.0.0")) || span_equal(host, SPAN("::"));
}

bool access_host_is_ours(const struct conf_address *admin, struct span host)
{
    struct span name;
    bool is_bracketed;
    if (admin->is_unix) /* no page reaches a socket in the file system */
        return true;
    if (admin->tls != NULL) /* a name that is pointed here is not the certificate's */
        return access_host_is_plain(host);
    if (!split_host(host, &name, &is_bracketed))
        return false;
    if (span_equal_nocase(name, SPAN("localhost")) || span_equal_nocase(name, admin->host))
        return true;
    uint8_t address[16];
    if (!value_host_address(name, address))
        return false;
    /* Rebinding needs a name: an address in figures was typed by the caller himself. */
    return value_is_loopback(name) || is_any_address(admin->host);
}

bool access_origin_is_ours(struct span origin, struct span host)
{
    static const struct span schemes[] = {{"http://", 7}, {"https://", 8}};
    for (size_t i = 0; i < GW_COUNT(schemes); i++) {
        size_t len = schemes[i].len;
        if (origin.len > len && span_equal(span_of(origin.ptr, len), schemes[i]))
            return span_equal_nocase(span_of(origin.ptr + len, origin.len - len), host);
    }
    return false;
}

const struct conf_token *access_token(const struct conf *conf, struct span text)
{
    uint8_t digest[GW_SHA256_BYTES];
    const struct conf_token *found = NULL;
    if (text.len == 0 || text.len > TOKEN_BYTES_MAX)
        return NULL;
    gw_sha256_once(text, digest);
    for (uint32_t i = 0; i < conf->token_count; i++)
        if (gw_equal_constant_time(digest, conf->tokens[i].sha256, sizeof(digest)))
            found = &conf->tokens[i];
    return found;
}

struct span access_bearer(struct span authorization)
{
    static const struct span scheme = {"Bearer ", 7};
    if (authorization.len <= scheme.len ||
        !span_equal_nocase(span_of(authorization.ptr, scheme.len), scheme))
        return span_of("", 0);
    struct span token = span_of(authorization.ptr + scheme.len, authorization.len - scheme.len);
    while (token.len > 0 && token.ptr[0] == ' ')
        token = span_of(token.ptr + 1, token.len - 1);
    return token;
}

bool access_is_json(struct span content_type)
{
    static const struct span json = {"application/json", 16};
    size_t end = 0;
    while (end < content_type.len && content_type.ptr[end] != ';')
        end++;
    while (end > 0 && (content_type.ptr[end - 1] == ' ' || content_type.ptr[end - 1] == '\t'))
        end--;
    return span_equal_nocase(span_of(content_type.ptr, end), json);
}

const char *access_right_name(enum admin_right right)
{
    switch (right) {
    case ADMIN_READ:
        return "read";
    case ADMIN_EVIDENCE:
        return "evidence";
    case ADMIN_SETTLE:
        return "settle";
    case ADMIN_CONTROL:
        return "control";
    }
    return "";
}

void access_print_rights(uint32_t rights, struct gw_buf *out)
{
    static const enum admin_right all[] = {ADMIN_READ, ADMIN_EVIDENCE, ADMIN_SETTLE, ADMIN_CONTROL};
    const char *between = "";
    for (size_t i = 0; i < GW_COUNT(all); i++)
        if ((rights & (uint32_t)all[i]) != 0) {
            (void)gw_buf_print(out, "%s%s", between,
                               access_right_name(all[i])); /* marked if it fails */
            between = ", ";
        }
}
