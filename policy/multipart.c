/* The canonical form of multipart/form-data: the parts, whatever boundary separates
 * them (MPF-1). Must never guess: what two readers could split at different places
 * is refused. */
#include "policy/canonical.h"
#include "policy/canonical_writer.h"

#define BOUNDARY_BYTES_MAX    70 /* RFC 2046 5.1.1 */
#define PART_HEADER_LINES_MAX 32

struct multipart {
    struct span body, boundary;
    size_t at;
    struct canonical_writer writer;
    struct json_fault *fault;
    struct span names[CANONICAL_MEMBERS_MAX]; /* of the parts that are members */
};

/* A span with a NULL pointer: the part does not say. */
struct part {
    struct span disposition; /* the parameters, from the first semicolon on */
    struct span name, filename, filename_star, type, encoding;
};

static bool check_boundary(struct multipart *multipart);
static bool scan_parts(struct multipart *multipart);

bool canonical_multipart(struct span body, struct span boundary, const struct canonical_sink *sink,
                         struct json_fault *ret_fault)
{
    struct multipart multipart = {.body = body, .boundary = boundary, .fault = ret_fault};
    if (!check_boundary(&multipart))
        return false;
    canonical_init(&multipart.writer, sink);
    canonical_tag(&multipart.writer, 'M');
    if (!scan_parts(&multipart))
        return false;
    canonical_flush(&multipart.writer);
    return true;
}

static bool multipart_fail(struct multipart *multipart, size_t at, const char *text)
{
    *multipart->fault = (struct json_fault){at, text};
    return false;
}

static bool is_one_of(char c, struct span characters)
{
    for (size_t i = 0; i < characters.len; i++)
        if (c == characters.ptr[i])
            return true;
    return false;
}

static bool is_letter_or_digit(char c)
{
    return (c >= '0' && c <= '9') || (gw_lower(c) >= 'a' && gw_lower(c) <= 'z');
}

static bool is_token(char c)
{
    return is_letter_or_digit(c) || is_one_of(c, SPAN("!#$%&'*+-.^_`|~"));
}

static bool check_boundary(struct multipart *multipart)
{
    struct span boundary = multipart->boundary;
    bool is_fit = boundary.len > 0 && boundary.len <= BOUNDARY_BYTES_MAX &&
                  boundary.ptr[boundary.len - 1] != ' ';
    for (size_t i = 0; is_fit && i < boundary.len; i++)
        is_fit = is_letter_or_digit(boundary.ptr[i]) ||
                 is_one_of(boundary.ptr[i], SPAN("'()+_,-./:=? "));
    return is_fit ||
           multipart_fail(multipart, 0, "the boundary parameter is missing or not a boundary");
}

static bool has_bytes(const struct multipart *multipart, size_t at, struct span wanted)
{
    return at <= multipart->body.len && multipart->body.len - at >= wanted.len &&
           span_equal(span_of(multipart->body.ptr + at, wanted.len), wanted);
}

/* Does the line at `at` begin with the boundary? */
static bool has_boundary(const struct multipart *multipart, size_t at)
{
    return has_bytes(multipart, at, SPAN("--")) &&
           has_bytes(multipart, at + 2, multipart->boundary);
}

static size_t skip_blanks(const struct multipart *multipart, size_t at)
{
    while (at < multipart->body.len && is_one_of(multipart->body.ptr[at], SPAN(" \t")))
        at++;
    return at;
}

/* Finds the next boundary line from the start of a line on; leaves `at` behind the
 * boundary. The bytes before it end at *ret_end, which is before multipart->at when
 * not even their line end is there. */
static bool find_boundary(struct multipart *multipart, size_t *ret_end)
{
    const char *bytes = multipart->body.ptr;
    for (size_t at = multipart->at; at < multipart->body.len; at++) {
        if ((at > 0 && bytes[at - 1] != '\n') || !has_boundary(multipart, at))
            continue;
        if (at > 0 && (at < 2 || bytes[at - 2] != '\r'))
            return multipart_fail(multipart, at, "a boundary follows a bare line feed");
        *ret_end = at == 0 ? 0 : at - 2;
        multipart->at = at + 2 + multipart->boundary.len;
        return true;
    }
    return multipart_fail(multipart, multipart->body.len, "the closing boundary is missing");
}

/* What follows a boundary on its line. */
static bool end_boundary(struct multipart *multipart, bool *ret_is_last)
{
    bool is_last = has_bytes(multipart, multipart->at, SPAN("--"));
    size_t at = skip_blanks(multipart, multipart->at + (is_last ? 2 : 0));
    if (has_bytes(multipart, at, SPAN("\r\n")))
        at += 2;
    else if (!is_last || at < multipart->body.len)
        return multipart_fail(multipart, at, "something follows a boundary on its line");
    multipart->at = at;
    *ret_is_last = is_last;
    return true;
}

struct parameter {
    struct span name, value;
};

/* Takes `; name=value` from the front. At the end `name` is empty. */
static bool next_parameter(struct span *rest, struct parameter *ret)
{
    size_t at = 0, len = rest->len;
    const char *bytes = rest->ptr;
    while (at < len && is_one_of(bytes[at], SPAN(" \t;")))
        at++;
    size_t name = at;
    while (at < len && is_token(bytes[at]))
        at++;
    size_t name_end = at;
    *ret = (struct parameter){{bytes + name, name_end - name}, {bytes + at, 0}};
    if (at == len && name == name_end)
        return true;
    if (name == name_end || at == len || bytes[at++] != '=')
        return false;
    bool is_quoted = at < len && bytes[at] == '"';
    size_t value = is_quoted ? ++at : at;
    while (at < len && (is_quoted ? bytes[at] != '"' : is_token(bytes[at])))
        at += is_quoted && bytes[at] == '\\' ? 2 : 1;
    if (at > len || (is_quoted && at == len) || (!is_quoted && at == value))
        return false;
    ret->value = span_of(bytes + value, at - value);
    at += is_quoted;
    while (at < len && is_one_of(bytes[at], SPAN(" \t")))
        at++;
    *rest = span_of(bytes + at, len - at);
    return len == at || bytes[at] == ';';
}

/* Where the part keeps a parameter; NULL: it is none of the known ones. */
static struct span *part_parameter(struct part *part, struct span name)
{
    if (span_equal_nocase(name, SPAN("name")))
        return &part->name;
    if (span_equal_nocase(name, SPAN("filename")))
        return &part->filename;
    if (span_equal_nocase(name, SPAN("filename*")))
        return &part->filename_star;
    return NULL;
}

static bool read_disposition(struct multipart *multipart, struct part *part, struct span value,
                             size_t offset)
{
    static const struct span wanted = {"form-data", 9};
    struct parameter parameter;
    size_t type = 0;
    while (type < value.len && is_token(value.ptr[type]))
        type++;
    struct span rest = span_of(value.ptr + type, value.len - type);
    while (rest.len > 0 && is_one_of(rest.ptr[0], SPAN(" \t")))
        rest = span_of(rest.ptr + 1, rest.len - 1);
    if (!span_equal_nocase(span_of(value.ptr, type), wanted) ||
        (rest.len > 0 && rest.ptr[0] != ';'))
        return multipart_fail(multipart, offset, "the disposition of a part is not form-data");
    part->disposition = rest;
    do {
        if (!next_parameter(&rest, &parameter))
            return multipart_fail(multipart, offset, "the disposition of a part is malformed");
        struct span *slot = part_parameter(part, parameter.name);
        if (slot != NULL && slot->ptr != NULL)
            return multipart_fail(multipart, offset, "a part has two names or file names");
        if (slot != NULL)
            *slot = parameter.value;
    } while (parameter.name.len > 0);
    if (part->name.ptr == NULL)
        return multipart_fail(multipart, offset, "a part has no name");
    return true;
}

/* Where the part keeps a header line; NULL: it does not count. */
static struct span *part_header(struct part *part, struct span field)
{
    if (span_equal_nocase(field, SPAN("Content-Disposition")))
        return &part->disposition;
    if (span_equal_nocase(field, SPAN("Content-Type")))
        return &part->type;
    if (span_equal_nocase(field, SPAN("Content-Transfer-Encoding")))
        return &part->encoding;
    return NULL;
}

static bool read_header(struct multipart *multipart, struct part *part, struct span line,
                        size_t offset)
{
    size_t name = 0;
    while (name < line.len && is_token(line.ptr[name]))
        name++;
    if (name == 0 || name == line.len || line.ptr[name] != ':')
        return multipart_fail(multipart, offset, "a header line of a part is malformed");
    struct span field = span_of(line.ptr, name);
    struct span value = span_of(line.ptr + name + 1, line.len - name - 1);
    while (value.len > 0 && is_one_of(value.ptr[0], SPAN(" \t")))
        value = span_of(value.ptr + 1, value.len - 1);
    while (value.len > 0 && is_one_of(value.ptr[value.len - 1], SPAN(" \t")))
        value.len--;
    struct span *slot = part_header(part, field);
    if (slot == NULL)
        return true;
    if (slot->ptr != NULL)
        return multipart_fail(multipart, offset, "a part has the same header line twice");
    *slot = value;
    return slot != &part->disposition || read_disposition(multipart, part, value, offset);
}

/* One line without its end; the next begins at multipart->at. */
static bool next_line(struct multipart *multipart, struct span *ret_line)
{
    const char *bytes = multipart->body.ptr;
    size_t start = multipart->at, at = start;
    if (has_boundary(multipart, start))
        return multipart_fail(multipart, start, "a part ends inside its header lines");
    for (; at < multipart->body.len; at++) {
        unsigned char byte = (unsigned char)bytes[at];
        if ((byte < 0x20 && byte != '\t') || byte == 0x7F)
            break;
    }
    if (!has_bytes(multipart, at, SPAN("\r\n")))
        return multipart_fail(multipart, at, "a header line of a part does not end");
    *ret_line = span_of(bytes + start, at - start);
    multipart->at = at + 2;
    return true;
}

static bool read_headers(struct multipart *multipart, struct part *part)
{
    size_t start = multipart->at;
    for (size_t i = 0; i <= PART_HEADER_LINES_MAX; i++) {
        struct span line;
        size_t offset = multipart->at;
        if (!next_line(multipart, &line))
            return false;
        if (line.len == 0)
            return part->name.ptr != NULL ||
                   multipart_fail(multipart, start, "a part has no Content-Disposition");
        if (!read_header(multipart, part, line, offset))
            return false;
    }
    return multipart_fail(multipart, start, "a part has too many header lines");
}

static bool begin_part(struct multipart *multipart, struct span name)
{
    struct canonical_writer *writer = &multipart->writer;
    struct canonical_path path;
    struct canonical_name shown;
    uint64_t nth = 1;
    if (!canonical_has_room(writer))
        return false;
    canonical_name_init(&shown);
    canonical_name_put(&shown, name);
    path_init(&path);
    path_step(&path, &shown);
    for (uint32_t i = 0; i < writer->members; i++)
        nth += span_equal(multipart->names[i], name);
    if (nth > 1)
        path_number(&path, '#', nth);
    multipart->names[writer->members] = name;
    return writer_begin(writer, &path);
}

static void write_part(struct canonical_writer *writer, struct part *part, struct span content)
{
    struct span rest = part->disposition;
    struct parameter parameter;
    canonical_tag(writer, 'P');
    canonical_text(writer, part->name);
    canonical_optional(writer, part->filename);
    canonical_optional(writer, part->filename_star);
    canonical_optional(writer, part->type);
    canonical_optional(writer, part->encoding);
    /* next_parameter has read them all before, so it stops at the end alone. */
    while (next_parameter(&rest, &parameter) && parameter.name.len > 0) {
        if (part_parameter(part, parameter.name) != NULL)
            continue;
        canonical_tag(writer, 'p');
        canonical_text(writer, parameter.name);
        canonical_text(writer, parameter.value);
    }
    canonical_tag(writer, 'b');
    canonical_optional(writer, content);
}

/* Each turn takes a boundary and a header, so the body bounds the loop. */
static bool scan_parts(struct multipart *multipart)
{
    struct canonical_writer *writer = &multipart->writer;
    const char *bytes = multipart->body.ptr;
    bool is_last;
    size_t end;
    if (!find_boundary(multipart, &end) || !end_boundary(multipart, &is_last))
        return false;
    canonical_text(writer, span_of(bytes, end));
    while (!is_last) {
        struct part part = {.name = {NULL, 0}};
        if (!read_headers(multipart, &part))
            return false;
        size_t start = multipart->at;
        if (!find_boundary(multipart, &end))
            return false;
        bool is_member = begin_part(multipart, part.name);
        write_part(writer, &part,
                   end < start ? span_of(NULL, 0) : span_of(bytes + start, end - start));
        if (is_member)
            writer_end(writer);
        if (!end_boundary(multipart, &is_last))
            return false;
    }
    canonical_tag(writer, 'Z');
    canonical_text(writer, span_of(bytes + multipart->at, multipart->body.len - multipart->at));
    return true;
}
