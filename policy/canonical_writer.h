/* What the four canonical forms share: items written without ambiguity into a
 * sink, and the names of members. Threads: one writer belongs to one call. */
#ifndef RECIBO_POLICY_CANONICAL_WRITER_H
#define RECIBO_POLICY_CANONICAL_WRITER_H

#include "policy/canonical.h"

#define CANONICAL_WRITER_BYTES 1024 /* gathered, so that small items do not each cost a call */

struct canonical_writer {
    GW_TAG(writer);
    const struct canonical_sink *sink;
    uint32_t members; /* begun so far */
    size_t used;
    char bytes[CANONICAL_WRITER_BYTES];
};

/* The name of a member as it is shown. */
struct canonical_path {
    char text[CANONICAL_POINTER_BYTES_MAX];
    size_t len;
    size_t safe_len; /* a place before "..." that cuts no character */
    bool is_cut;
};

void canonical_init(struct canonical_writer *writer, const struct canonical_sink *sink);
/* Hands over what is gathered. The last call on a writer. */
void canonical_flush(struct canonical_writer *writer);
void canonical_tag(struct canonical_writer *writer, char tag);
void canonical_number(struct canonical_writer *writer, uint64_t number);
void canonical_bytes(struct canonical_writer *writer, struct span bytes);
void canonical_text(struct canonical_writer *writer, struct span text);
/* '-' when text.ptr is NULL, else '=' and the text. */
void canonical_optional(struct canonical_writer *writer, struct span text);
/* A json_put_fn over a writer: canonical_bytes. */
void canonical_put(void *writer, struct span piece);

/* May another member be begun? */
bool canonical_has_room(const struct canonical_writer *writer);
/* Begins a member unless there is no room; true: writer_end must follow. */
bool writer_begin(struct canonical_writer *writer, const struct canonical_path *path);
void writer_end(struct canonical_writer *writer);

/* The beginning of a decoded name, as much of it as a path can show. */
struct canonical_name {
    GW_TAG(name);
    size_t len;
    char bytes[CANONICAL_POINTER_BYTES_MAX + 4]; /* more than fits, so that it is cut */
};
void canonical_name_init(struct canonical_name *name);
/* A json_put_fn over a canonical_name. */
void canonical_name_put(void *name, struct span piece);

void path_init(struct canonical_path *path);
/* A pointer as the configuration has it. */
void path_pointer(struct canonical_path *path, struct span text);
void path_step(struct canonical_path *path, const struct canonical_name *name);
/* A separator and a number: "/3" or "#2". */
void path_number(struct canonical_path *path, char separator, uint64_t number);

/* A json_put_fn over a struct canonical_length: how long a text is when decoded. */
struct canonical_length {
    GW_TAG(length);
    uint64_t bytes;
};
void canonical_length_init(struct canonical_length *length);
void canonical_length_put(void *length, struct span piece);

#endif
