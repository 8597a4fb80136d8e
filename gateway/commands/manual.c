/* Man pages, printed from the table of commands. It must never print a line that roff
 * could take for a request of its own.
 *
 * Ignored results: a buffer that is full is marked as failed, and whoever writes it
 * looks at that once. */
#include "gateway/commands/commands.h"
#include "gateway/commands/help.h"

#define OVERVIEW "recibo"

/* Text inside a line: what roff reads as an escape, and hyphens that must stay so. */
static void put(struct gw_buf *out, struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\\')
            (void)gw_buf_add(out, SPAN("\\e"));
        else if (text.ptr[i] == '-')
            (void)gw_buf_add(out, SPAN("\\-"));
        else if (text.ptr[i] == '\'')
            (void)gw_buf_add(out, SPAN("\\(aq"));
        else
            (void)gw_buf_byte(out, text.ptr[i]);
    }
}

static void put_line(struct gw_buf *out, struct span line)
{
    if (line.len > 0 && (line.ptr[0] == '.' || line.ptr[0] == '\''))
        (void)gw_buf_add(out, SPAN("\\&"));
    put(out, line);
    (void)gw_buf_byte(out, '\n');
}

/* The next line of a text, without its end; false: no more. */
static bool next_line(struct span *rest, struct span *ret_line)
{
    if (rest->len == 0)
        return false;
    const char *end = memchr(rest->ptr, '\n', rest->len);
    size_t len = end == NULL ? rest->len : (size_t)(end - rest->ptr);
    *ret_line = span_of(rest->ptr, len);
    len += end == NULL ? 0 : 1;
    *rest = span_of(rest->ptr + len, rest->len - len);
    return true;
}

/* Lines as they stand, set in. */
static void put_as_is(struct gw_buf *out, const char *text)
{
    struct span rest = span_str(text), line;
    (void)gw_buf_add(out, SPAN(".RS 4\n.nf\n"));
    while (next_line(&rest, &line))
        put_line(out, line);
    (void)gw_buf_add(out, SPAN(".fi\n.RE\n"));
}

/* Lines that begin with a blank are a table and stay as they are; the rest is filled. */
static void put_text(struct gw_buf *out, const char *text)
{
    struct span rest = span_str(text), line;
    bool is_table = false;
    (void)gw_buf_add(out, SPAN(".PP\n"));
    while (next_line(&rest, &line)) {
        bool belongs = line.len > 0 && line.ptr[0] == ' ';
        if (belongs != is_table)
            (void)gw_buf_add(out, belongs ? SPAN(".nf\n") : SPAN(".fi\n"));
        is_table = belongs;
        if (line.len == 0)
            (void)gw_buf_add(out, SPAN(".PP\n"));
        else
            put_line(out, line);
    }
    if (is_table)
        (void)gw_buf_add(out, SPAN(".fi\n"));
}

/* The first `count` options. */
static void put_options(struct gw_buf *out, const struct command_help *help, size_t count)
{
    const struct option_spec *spec;
    for (size_t i = 0; i < count && (spec = options_spec(help, i)) != NULL; i++) {
        (void)gw_buf_add(out, SPAN(".TP\n\\fB"));
        put(out, span_str(spec->name));
        (void)gw_buf_add(out, SPAN("\\fR"));
        if (spec->value != NULL) {
            (void)gw_buf_add(out, SPAN(" \\fI"));
            put(out, span_str(spec->value));
            (void)gw_buf_add(out, SPAN("\\fR"));
        }
        (void)gw_buf_byte(out, '\n');
        put_line(out, span_str(spec->doc));
        if (spec->is_list)
            (void)gw_buf_add(out, SPAN("It may be given again.\n"));
    }
}

static void put_title(struct gw_buf *out, const char *command, const char *doc)
{
    (void)gw_buf_print(out, ".\\\" Printed by recibo help --man %s\n.TH RECIBO",
                       command == NULL ? OVERVIEW : command);
    for (const char *c = command == NULL ? "" : command; *c != '\0'; c++) {
        if (c == command)
            (void)gw_buf_add(out, SPAN("\\-"));
        put(out, span_of(&(char){*c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c}, 1));
    }
    (void)gw_buf_add(out, SPAN(" 1 \"\" \"recibo " RECIBO_VERSION "\" \"Recibo\"\n"
                               ".SH NAME\n" OVERVIEW));
    if (command != NULL) {
        (void)gw_buf_add(out, SPAN("\\-"));
        put(out, span_str(command));
    }
    (void)gw_buf_add(out, SPAN(" \\- "));
    put(out, span_str(doc));
    (void)gw_buf_byte(out, '\n');
}

static void put_end(struct gw_buf *out)
{
    (void)gw_buf_add(
        out, SPAN(".SH EXIT STATUS\n" HELP_EXIT_CODES ".SH ENVIRONMENT\n"
                  ".TP\n\\fBRECIBO_ADMIN\\fR\nWhere the operator plane is: http://HOST:PORT, "
                  "https://HOST:PORT or unix:/path.\n"
                  ".TP\n\\fBRECIBO_ADMIN_CA\\fR\nFile with the authorities that it is verified "
                  "with over https.\n"
                  ".TP\n\\fBRECIBO_TOKEN\\fR\nThe token for it.\n"
                  ".TP\n\\fBNO_COLOR\\fR\nWhen set and not empty, nothing is coloured.\n"));
}

/* A part of a group, below the group's own page. */
static void put_part(struct gw_buf *out, const struct command *part)
{
    (void)gw_buf_print(out, ".SS %s %s\n", part->group, part->word);
    put_line(out, span_str(part->doc));
    put_as_is(out, part->help->synopsis);
    put_text(out, part->help->text);
    put_options(out, part->help, part->help->option_count); /* those of its set stand above */
    if (part->help->examples != NULL)
        put_as_is(out, part->help->examples);
}

static void put_command(struct gw_buf *out, const struct command *command)
{
    bool has_parts = false;
    put_title(out, command->word, command->doc);
    (void)gw_buf_add(out, SPAN(".SH SYNOPSIS\n"));
    put_as_is(out, command->help->synopsis);
    (void)gw_buf_add(out, SPAN(".SH DESCRIPTION\n"));
    put_text(out, command->help->text);
    (void)gw_buf_add(out, SPAN(".SH OPTIONS\n"));
    put_options(out, command->help, SIZE_MAX);
    for (size_t i = 0; i < command_count; i++) {
        if (command_table[i].group == NULL || strcmp(command_table[i].group, command->word) != 0)
            continue;
        if (!has_parts)
            (void)gw_buf_add(out, SPAN(".SH SUBCOMMANDS\n"));
        has_parts = true;
        put_part(out, &command_table[i]);
    }
    if (command->help->examples != NULL) {
        (void)gw_buf_add(out, SPAN(".SH EXAMPLES\n"));
        put_as_is(out, command->help->examples);
    }
    put_end(out);
    (void)gw_buf_add(out, SPAN(".SH SEE ALSO\n\\fB" OVERVIEW "\\fR(1)\n"));
}

static void put_overview(struct gw_buf *out)
{
    put_title(out, NULL, "an idempotency gateway for HTTP APIs");
    (void)gw_buf_add(out, SPAN(".SH SYNOPSIS\n\\fBrecibo\\fR \\fICOMMAND\\fR [\\fIWORDS\\fR] "
                               "[\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n"));
    put_text(out,
             "A reverse proxy that stands in front of an HTTP API without idempotency of its\n"
             "own. It gives each operation an identity, keeps a durable receipt of it, answers\n"
             "repeats from the receipt, and says so where the outcome is not known.\n");
    (void)gw_buf_add(out, SPAN(".SH COMMANDS\n"));
    for (size_t i = 0; i < command_count; i++) {
        if (command_table[i].group != NULL)
            continue;
        (void)gw_buf_add(out, SPAN(".TP\n\\fB" OVERVIEW "\\-"));
        put(out, span_str(command_table[i].word));
        (void)gw_buf_add(out, SPAN("\\fR(1)\n"));
        put_line(out, span_str(command_table[i].doc));
    }
    put_end(out);
}

bool manual_print(const char *command, struct gw_buf *out)
{
    const struct command *found = command_find(NULL, command);
    if (found != NULL)
        put_command(out, found);
    else if (strcmp(command, OVERVIEW) == 0)
        put_overview(out);
    else
        return false;
    return true;
}

void manual_print_names(struct gw_buf *out)
{
    (void)gw_buf_add(out, SPAN(OVERVIEW "\n"));
    for (size_t i = 0; i < command_count; i++)
        if (command_table[i].group == NULL)
            (void)gw_buf_print(out, "%s\n", command_table[i].word);
}
