/* The contexts of one configuration, and the look at their files. It must never leave a
 * context without something to serve with: what cannot be read anew stays as it was. */
#include "gateway/tls/parts.h"

#include "base/log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define LABEL_BYTES 300

/* A file as it was when it was read. */
struct stamp {
    dev_t device;
    ino_t number;
    off_t size;
    struct timespec changed;
};

struct tls_context {
    struct tls_recipe recipe;
    struct conf_certificate own; /* of an upstream, what the recipe points to */
    char label[LABEL_BYTES];     /* whose it is, for the log */
    pthread_mutex_t lock;        /* of the next two: workers begin sessions, main replaces */
    struct tls_generation *generation;
    uint64_t last_number;
    struct stamp *stamps; /* two a certificate, and the ca */
};

struct tls_book {
    struct conf *conf;
    struct tls_context **listeners, **upstreams; /* as in the configuration; NULL: plain */
    struct tls_context *admin;
    uint32_t count;
};

static uint32_t file_count(const struct tls_context *context)
{
    return 2 * context->recipe.certificate_count + 1;
}

static struct span file_at(const struct tls_context *context, uint32_t index)
{
    const struct tls_recipe *recipe = &context->recipe;
    if (index == 2 * recipe->certificate_count)
        return recipe->ca;
    const struct conf_certificate *files = &recipe->certificates[index / 2];
    return index % 2 == 0 ? files->certificate : files->key;
}

/* A file that is not there has a stamp, too. */
static struct stamp stamp_of(struct span path)
{
    struct stat info;
    if (path.len == 0 || stat(path.ptr, &info) != 0)
        return (struct stamp){0};
    return (struct stamp){.device = info.st_dev,
                          .number = info.st_ino,
                          .size = info.st_size,
                          .changed = info.st_mtim};
}

static bool same_stamp(const struct stamp *a, const struct stamp *b)
{
    return a->device == b->device && a->number == b->number && a->size == b->size &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* Takes the stamps before the files are read: a change in between is seen again. */
static bool look_at_files(struct tls_context *context)
{
    bool has_changed = false;
    for (uint32_t i = 0; i < file_count(context); i++) {
        struct stamp now = stamp_of(file_at(context, i));
        has_changed |= !same_stamp(&now, &context->stamps[i]);
        context->stamps[i] = now;
    }
    return has_changed;
}

static enum gw_status read_anew(struct tls_context *context, struct gw_error *err)
{
    struct tls_generation *made = NULL, *old;
    enum gw_status status = tls_generation_new(&context->recipe, &made, err);
    if (status != GW_OK) {
        gw_error_wrap(err, "tls of %s", context->label);
        return status;
    }
    made->number = ++context->last_number;
    (void)pthread_mutex_lock(&context->lock); /* a plain mutex of ours: cannot fail */
    old = context->generation;
    context->generation = made;
    (void)pthread_mutex_unlock(&context->lock);
    tls_generation_unref(old);
    return GW_OK;
}

struct tls_generation *tls_context_ref(struct tls_context *context)
{
    (void)pthread_mutex_lock(&context->lock); /* a plain mutex of ours: cannot fail */
    struct tls_generation *generation = context->generation;
    (void)atomic_fetch_add(&generation->references, 1); /* the number is of no use */
    (void)pthread_mutex_unlock(&context->lock);
    return generation;
}

void tls_context_free(struct tls_context *context)
{
    if (context == NULL)
        return;
    tls_generation_unref(context->generation);
    (void)pthread_mutex_destroy(&context->lock); /* nobody holds it */
    free(context->stamps);
    free(context);
}

static enum gw_status fill(const struct tls_recipe *recipe, struct tls_context **ret,
                           struct gw_error *err)
{
    struct tls_context *context = *ret;
    context->recipe = *recipe;
    if (context->own.certificate.len > 0) {
        context->recipe.certificates = &context->own;
        context->recipe.certificate_count = 1;
    }
    context->stamps = calloc(file_count(context), sizeof(*context->stamps));
    if (context->stamps == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    (void)look_at_files(context); /* all of them are new */
    return read_anew(context, err);
}

static struct tls_context *context_take(const char *what, struct span name)
{
    struct tls_context *context = calloc(1, sizeof(*context));
    if (context == NULL)
        return NULL;
    if (pthread_mutex_init(&context->lock, NULL) != 0) {
        free(context);
        return NULL;
    }
    (void)snprintf(context->label, sizeof(context->label), "%s%.*s", what, (int)name.len,
                   name.ptr); /* cut at worst */
    return context;
}

enum gw_status tls_context_new(const char *ca, const char *name, struct tls_context **ret,
                               struct gw_error *err)
{
    const struct tls_recipe recipe = {.ca = span_str(ca == NULL ? "" : ca), .name = span_str(name)};
    struct tls_context *context = context_take("", recipe.name);
    if (context == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    enum gw_status status = fill(&recipe, &context, err);
    if (status != GW_OK)
        tls_context_free(context);
    else
        *ret = context;
    return status;
}

static enum gw_status add_server(struct tls_book *book, const struct conf_address *address,
                                 struct tls_context **ret, struct gw_error *err)
{
    const struct conf_tls *tls = address->tls;
    if (tls == NULL)
        return GW_OK;
    const struct tls_recipe recipe = {.is_server = true,
                                      .certificates = tls->certificates,
                                      .certificate_count = tls->certificate_count,
                                      .ca = tls->client_ca,
                                      .client_required = tls->client_required};
    *ret = context_take("the listener ", address->text);
    book->count++;
    return *ret == NULL ? gw_error_set(err, GW_NOMEM, "out of memory") : fill(&recipe, ret, err);
}

enum gw_status tls_context_of(const struct upstream_policy *upstream, struct tls_context **ret,
                              struct gw_error *err)
{
    const struct upstream_tls *tls = &upstream->tls;
    const struct tls_recipe recipe = {.ca = tls->ca, .name = tls->name};
    struct tls_context *context = context_take("upstream ", upstream->name);
    if (context == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    context->own = (struct conf_certificate){.certificate = tls->certificate, .key = tls->key};
    enum gw_status status = fill(&recipe, &context, err);
    if (status != GW_OK)
        tls_context_free(context);
    else
        *ret = context;
    return status;
}

static enum gw_status add_upstream(struct tls_book *book, const struct upstream_policy *upstream,
                                   struct tls_context **ret, struct gw_error *err)
{
    if (!upstream->tls.is_on)
        return GW_OK;
    book->count++;
    return tls_context_of(upstream, ret, err);
}

enum gw_status tls_book_new(struct conf *conf, struct tls_book **ret, struct gw_error *err)
{
    struct tls_book *book = calloc(1, sizeof(*book));
    if (book == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    book->conf = conf_ref(conf);
    book->listeners = calloc(conf->listen_count + 1, sizeof(struct tls_context *));
    book->upstreams = calloc(conf->upstream_count + 1, sizeof(struct tls_context *));
    enum gw_status status = book->listeners == NULL || book->upstreams == NULL
                                ? gw_error_set(err, GW_NOMEM, "out of memory")
                                : GW_OK;
    for (uint32_t i = 0; i < conf->listen_count && status == GW_OK; i++)
        status = add_server(book, &conf->listen[i], &book->listeners[i], err);
    for (uint32_t i = 0; i < conf->upstream_count && status == GW_OK; i++)
        status = add_upstream(book, &conf->upstreams[i], &book->upstreams[i], err);
    if (conf->has_admin && status == GW_OK)
        status = add_server(book, &conf->admin, &book->admin, err);
    if (status != GW_OK) {
        tls_book_free(book);
        return status;
    }
    *ret = book;
    return GW_OK;
}

void tls_book_free(struct tls_book *book)
{
    if (book == NULL)
        return;
    for (uint32_t i = 0; book->listeners != NULL && i < book->conf->listen_count; i++)
        tls_context_free(book->listeners[i]);
    for (uint32_t i = 0; book->upstreams != NULL && i < book->conf->upstream_count; i++)
        tls_context_free(book->upstreams[i]);
    tls_context_free(book->admin);
    free(book->listeners);
    free(book->upstreams);
    conf_unref(book->conf);
    free(book);
}

struct tls_context *tls_book_listener(const struct tls_book *book, uint32_t index)
{
    return book == NULL ? NULL : book->listeners[index];
}

struct tls_context *tls_book_admin(const struct tls_book *book)
{
    return book == NULL ? NULL : book->admin;
}

struct tls_context *tls_book_upstream(const struct tls_book *book, struct span name)
{
    for (uint32_t i = 0; book != NULL && i < book->conf->upstream_count; i++)
        if (span_equal(book->conf->upstreams[i].name, name))
            return book->upstreams[i];
    return NULL;
}

bool tls_book_is_empty(const struct tls_book *book)
{
    return book->count == 0;
}

static void look(struct tls_context *context, bool all)
{
    struct gw_error err = {0};
    if (context == NULL)
        return;
    bool has_changed = look_at_files(context);
    if (!has_changed && !all)
        return;
    if (read_anew(context, &err) == GW_OK)
        gw_log_text(GW_LOG_INFO, "tls.reloaded", "%s: new connections use the files as they are",
                    context->label);
    else
        gw_log_text(GW_LOG_WARN, "tls.not_reloaded",
                    "%s; the earlier files stay in use until these are put right", err.text);
}

void tls_book_look(struct tls_book *book, bool all)
{
    for (uint32_t i = 0; i < book->conf->listen_count; i++)
        look(book->listeners[i], all);
    for (uint32_t i = 0; i < book->conf->upstream_count; i++)
        look(book->upstreams[i], all);
    look(book->admin, all);
}
