/* The sections `tls`: of listeners, of the operator's plane, of upstreams. The files that
 * they name are looked at, so that a certificate that cannot be served is told before the
 * start. It must never keep a key. */
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "base/certificate.h"
#include "conf/loader.h"

#define DAY_BYTES 16 /* "2026-12-31" */

/* The path as the process opens it; empty: not given, or refused already. */
static struct span file_of(struct loader *loader, const struct cursor *cursor, const char *name)
{
    struct setting setting = setting_get(cursor, name);
    if (setting.from != FROM_FILE || setting.is_bad)
        return span_of("", 0);
    bool is_relative = setting.text.ptr[0] != '/' && loader->folder.len > 0;
    struct span path =
        is_relative ? arena_print(loader->arena, "%s/%s", loader->folder.ptr, setting.text.ptr)
                    : arena_print(loader->arena, "%s", setting.text.ptr);
    if (path.len == 0)
        loader->no_memory = true;
    return path.len == 0 ? span_of("", 0) : path;
}

static void print_day(int64_t seconds, char ret[DAY_BYTES])
{
    struct tm parts;
    const time_t at = (time_t)seconds;
    if (gmtime_r(&at, &parts) == NULL || strftime(ret, DAY_BYTES, "%Y-%m-%d", &parts) == 0)
        (void)snprintf(ret, DAY_BYTES, "?"); /* a year beyond what can be said */
}

static void check_times(struct loader *loader, const struct cursor *cursor, const char *name,
                        const struct certificate_facts *facts)
{
    char day[DAY_BYTES];
    const int64_t now_s = (int64_t)time(NULL);
    const char *path = setting_get(cursor, name).text.ptr;
    if (facts->until_s < now_s) {
        print_day(facts->until_s, day);
        key_warning(loader, cursor, name,
                    "%s: expired on %s, and peers refuse it; put a new one in its place", path,
                    day);
    } else if (facts->from_s > now_s) {
        print_day(facts->from_s, day);
        key_warning(loader, cursor, name, "%s: is not valid before %s", path, day);
    }
}

static bool check_certificate(struct loader *loader, const struct cursor *cursor, const char *name,
                              struct span path)
{
    struct certificate_facts facts;
    struct gw_error err = {0};
    if (path.len == 0 || !loader->may_read_files)
        return false;
    if (certificate_look(path.ptr, &facts, &err) != GW_OK) {
        key_error(loader, cursor, name, "%s: %s", setting_get(cursor, name).text.ptr, err.text);
        return false;
    }
    check_times(loader, cursor, name, &facts);
    return true;
}

static void check_key(struct loader *loader, const struct cursor *cursor,
                      const struct conf_certificate *pair)
{
    struct stat info;
    struct gw_error err = {0};
    const char *path = setting_get(cursor, "key").text.ptr;
    if (certificate_look_key(pair->certificate.ptr, pair->key.ptr, &err) != GW_OK)
        key_error(loader, cursor, "key", "%s: %s", path, err.text);
    else if (stat(pair->key.ptr, &info) == 0 && (info.st_mode & S_IROTH) != 0)
        key_warning(loader, cursor, "key",
                    "%s: everybody on this host can read the private key; chmod o-r %s", path,
                    path);
}

static struct conf_certificate load_pair(struct loader *loader, const struct cursor *cursor)
{
    struct conf_certificate pair = {.certificate = file_of(loader, cursor, "certificate"),
                                    .key = file_of(loader, cursor, "key")};
    bool is_read = check_certificate(loader, cursor, "certificate", pair.certificate);
    if (is_read && pair.key.len > 0)
        check_key(loader, cursor, &pair);
    return pair;
}

const struct conf_tls *load_tls(struct loader *loader, const struct cursor *listener)
{
    struct cursor in = cursor_in(listener, "tls");
    if (in.node == NULL)
        return NULL;
    bool is_admin = field_child(in.row, SPAN("certificates")) == FIELD_NONE;
    uint32_t count = 0;
    const struct yaml_node *item = is_admin ? NULL : cursor_items(&in, "certificates", &count);
    struct conf_certificate *pairs = loader_take(loader, count + 1, sizeof(*pairs));
    struct conf_tls *tls = loader_take(loader, 1, sizeof(*tls));
    if (pairs == NULL || tls == NULL)
        return NULL;
    tls->certificates = pairs;
    tls->client_ca = span_of("", 0);
    pairs[tls->certificate_count++] = load_pair(loader, &in);
    for (; item != NULL; item = items_next(item)) {
        struct cursor cursor = cursor_of(item, span_of(NULL, 0));
        pairs[tls->certificate_count++] = load_pair(loader, &cursor);
    }
    if (is_admin)
        return tls;
    tls->client_ca = file_of(loader, &in, "client_ca");
    (void)check_certificate(loader, &in, "client_ca", tls->client_ca); /* it was told */
    tls->client_required = cursor_word(&in, "client_certificate", 0) == 1;
    if (tls->client_required && setting_get(&in, "client_ca").from != FROM_FILE)
        key_error(loader, &in, "client_certificate",
                  "required: needs client_ca, the authorities that such a certificate is from");
    return tls;
}

void load_upstream_tls(struct loader *loader, const struct cursor *entry,
                       struct upstream_policy *upstream)
{
    struct cursor in = cursor_in(entry, "tls");
    struct upstream_tls *tls = &upstream->tls;
    struct span name = in.node == NULL ? span_of("", 0) : cursor_text(&in, "name");
    tls->name = name.len > 0 ? name : upstream->host;
    tls->ca = tls->certificate = tls->key = span_of("", 0);
    if (in.node == NULL)
        return;
    if (!tls->is_on && !setting_get(entry, "url").is_bad)
        key_error(loader, entry, "tls", "needs a url that begins with https://");
    bool has_certificate = setting_get(&in, "certificate").from == FROM_FILE;
    bool has_key = setting_get(&in, "key").from == FROM_FILE;
    if (has_certificate != has_key)
        key_error(loader, &in, has_key ? "key" : "certificate",
                  "certificate and key are given together");
    tls->ca = file_of(loader, &in, "ca");
    (void)check_certificate(loader, &in, "ca", tls->ca); /* it was told */
    struct conf_certificate pair = load_pair(loader, &in);
    tls->certificate = pair.certificate;
    tls->key = pair.key;
}
