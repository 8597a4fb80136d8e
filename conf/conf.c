/* One load from beginning to end, and the life of the snapshot. It must never
 * hand out a snapshot of a file with an error. */
#include "conf/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/text.h"
#include "conf/loader.h"

const struct conf_box *conf_box_of(const struct conf *conf)
{
    const struct conf_box *box;
    GW_CAST(box, (const void *)((const char *)conf - offsetof(struct conf_box, conf)), conf_box,
            CONF_BOX_TAG);
    return box;
}

static struct conf_box *box_new(void)
{
    struct conf_box *box = calloc(1, sizeof(*box));
    if (box == NULL)
        return NULL;
    box->tag_conf_box = CONF_BOX_TAG;
    atomic_init(&box->references, 1);
    box->arena = arena_new(CONF_ARENA_BYTES_MAX);
    if (box->arena == NULL) {
        free(box);
        return NULL;
    }
    return box;
}

struct conf *conf_ref(struct conf *conf)
{
    struct conf_box *box = (struct conf_box *)(uintptr_t)conf_box_of(conf);
    unsigned before = atomic_fetch_add(&box->references, 1);
    gw_assert(before > 0);
    return conf;
}

void conf_unref(struct conf *conf)
{
    if (conf == NULL)
        return;
    struct conf_box *box = (struct conf_box *)(uintptr_t)conf_box_of(conf);
    unsigned before = atomic_fetch_sub(&box->references, 1);
    gw_assert(before > 0);
    if (before > 1)
        return;
    struct conf *carried = box->carried;
    arena_free(box->arena);
    box->tag_conf_box = 0;
    free(box);
    if (carried == NULL)
        return;
    /* One step and no recursion: what others carry from carries nothing itself. */
    struct conf_box *first = (struct conf_box *)(uintptr_t)conf_box_of(carried);
    gw_assert(first->carried == NULL);
    if (atomic_fetch_sub(&first->references, 1) > 1)
        return;
    arena_free(first->arena);
    first->tag_conf_box = 0;
    free(first);
}

static void note(struct findings *findings, const char *what)
{
    findings_add(findings, &(struct finding_place){.path = ""}, "%s", what);
}

static void hash_text(struct span text, struct conf *conf)
{
    uint8_t digest[GW_SHA256_BYTES];
    gw_sha256_once(text, digest);
    gw_hex(digest, (sizeof(conf->hash) - 1) / 2, conf->hash);
}

static enum gw_status run_steps(struct loader *loader)
{
    schema_check(loader);
    load_process(loader);
    load_admin(loader);
    load_owners(loader);
    load_upstreams(loader);
    load_routes(loader);
    if (loader->no_memory)
        return GW_NOMEM;
    validate(loader);
    if (loader->no_memory)
        return GW_NOMEM;
    return loader->findings.has_error ? GW_INVALID : GW_OK;
}

static enum gw_status load_tree(struct loader *loader, struct span text)
{
    enum gw_status status = yaml_read(loader->arena, text, &loader->findings, &loader->root);
    if (status != GW_OK)
        return status;
    if (loader->root == NULL || loader->root->kind != YAML_MAP) {
        note(&loader->findings, "holds no keys; it needs at least upstreams and routes");
        return GW_INVALID;
    }
    return run_steps(loader);
}

enum gw_status conf_build(const struct conf_source *source, struct conf **ret_conf,
                          struct conf_report *ret_report)
{
    *ret_report = (struct conf_report){0};
    struct conf_box *box = box_new();
    if (box == NULL)
        return GW_NOMEM;
    struct loader loader = {
        .arena = box->arena,
        .findings = {.file = source->name, .report = ret_report},
        .conf = &box->conf,
        .environment = source->environment,
        .folder = source->folder,
        .may_read_files = source->may_read_files,
    };
    enum gw_status status = GW_OK;
    box->conf.file = arena_print(box->arena, "%s", source->name);
    hash_text(source->text, &box->conf);
    status = load_tree(&loader, source->text);
    if (loader.findings.no_memory)
        status = GW_NOMEM;
    else if (status == GW_NOMEM)
        note(&loader.findings, "there is not enough memory to load it");
    box->root = loader.root;
    findings_sort(&loader.findings);
    gw_implies(status == GW_OK, !loader.findings.has_error);
    if (status != GW_OK) {
        conf_unref(&box->conf);
        return status;
    }
    *ret_conf = &box->conf;
    return GW_OK;
}

enum gw_status conf_parse(struct span text, const char *name, struct conf **ret_conf,
                          struct conf_report *ret_report)
{
    return conf_build(&(struct conf_source){.text = text, .name = name}, ret_conf, ret_report);
}

/* ---- files ---- */

static const char *from_environment(const char *name)
{
    return getenv(name);
}

/* Reads what is there, at most one byte more than is allowed. */
static enum gw_status read_all(int fd, struct gw_buf *out)
{
    char piece[16384];
    for (;;) {
        ssize_t got = read(fd, piece, sizeof(piece));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return GW_IO;
        if (got == 0)
            return GW_OK;
        if (!gw_buf_add(out, span_of(piece, (size_t)got)))
            return (size_t)got > out->bytes_max - out->len ? GW_LIMIT : GW_NOMEM;
    }
}

static enum gw_status read_file(const char *path, struct findings *findings, struct gw_buf *out)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        char what[200];
        (void)snprintf(what, sizeof(what), "cannot be opened: %s; name the file with -c FILE",
                       strerror(errno)); /* the texts of errno are short */
        note(findings, what);
        return GW_IO;
    }
    enum gw_status status = GW_IO;
    if (fstat(fd, &about) == 0 && S_ISDIR(about.st_mode))
        note(findings, "is a folder, not a file");
    else if ((status = read_all(fd, out)) == GW_LIMIT)
        note(findings, "is larger than 1 MiB");
    else if (status == GW_NOMEM)
        note(findings, "there is not enough memory to load it");
    else if (status != GW_OK)
        note(findings, "cannot be read");
    (void)close(fd); /* read only */
    return status;
}

/* The folder of the file, made absolute; false: out of memory. */
static bool folder_of(const char *path, char **ret)
{
    char *whole = realpath(path, NULL);
    if (whole == NULL)
        return false;
    char *slash = strrchr(whole, '/');
    if (slash != NULL)
        slash[slash == whole ? 1 : 0] = '\0';
    *ret = whole;
    return true;
}

enum gw_status conf_load(const char *path, struct conf **ret_conf, struct conf_report *ret_report)
{
    struct gw_buf text;
    char *folder = NULL;
    struct findings early = {.file = path, .report = ret_report};
    *ret_report = (struct conf_report){0};
    gw_buf_init(&text, YAML_TEXT_BYTES_MAX);
    enum gw_status status = read_file(path, &early, &text);
    /* A pipe has no folder: relative paths stay as they are. */
    if (status == GW_OK && !folder_of(path, &folder) && errno == ENOMEM)
        status = GW_NOMEM;
    if (status == GW_OK)
        status = conf_build(&(struct conf_source){.text = gw_buf_span(&text),
                                                  .name = path,
                                                  .folder = span_str(folder),
                                                  .environment = from_environment,
                                                  .may_read_files = true},
                            ret_conf, ret_report);
    free(folder);
    gw_buf_fini(&text);
    return status;
}

/* ---- the address alone ---- */

static enum gw_status find_address(struct loader *loader, struct span text, struct gw_buf *ret)
{
    enum gw_status status = yaml_read(loader->arena, text, &loader->findings, &loader->root);
    if (status != GW_OK)
        return status;
    conf_report_fini(loader->findings.report); /* what is wrong elsewhere does not matter here */
    loader->findings.has_error = false;
    const struct yaml_node *admin =
        loader->root == NULL ? NULL : yaml_member(loader->root, SPAN("admin"));
    if (admin == NULL || admin->kind != YAML_MAP) {
        note(&loader->findings, "has no section admin, so there is no operator's plane");
        return GW_INVALID;
    }
    schema_check_admin_address(loader);
    struct cursor root = cursor_root(loader->root);
    struct cursor cursor = cursor_in(&root, "admin");
    struct setting address = setting_get(&cursor, "address");
    if (loader->no_memory || loader->findings.no_memory)
        return GW_NOMEM;
    if (loader->findings.has_error || address.is_bad)
        return GW_INVALID;
    if (yaml_member(admin, SPAN("tls")) != NULL && !gw_buf_add(ret, SPAN("https://")))
        return GW_NOMEM;
    return gw_buf_add(ret, address.text) ? GW_OK : GW_NOMEM;
}

enum gw_status conf_load_admin_address(const char *path, struct gw_buf *ret_address,
                                       struct conf_report *ret_report)
{
    struct gw_buf text;
    struct loader loader = {.arena = arena_new(CONF_ARENA_BYTES_MAX),
                            .findings = {.file = path, .report = ret_report},
                            .environment = from_environment};
    *ret_report = (struct conf_report){0};
    if (loader.arena == NULL)
        return GW_NOMEM;
    gw_buf_init(&text, YAML_TEXT_BYTES_MAX);
    enum gw_status status = read_file(path, &loader.findings, &text);
    if (status == GW_OK)
        status = find_address(&loader, gw_buf_span(&text), ret_address);
    gw_buf_fini(&text);
    arena_free(loader.arena);
    return status;
}
