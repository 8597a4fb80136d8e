/* Reads command lines by a table. Must never guess: an option that is not known, or
 * given twice, ends the command. */
#include "gateway/commands/options.h"

#include "conf/fields.h"
#include "gateway/commands/commands.h"

#include <stdarg.h>
#include <stdio.h>

#define HELP_COLUMN 28

const struct option_spec options_common[] = {
    {"--admin", "URL",
     "http://HOST:PORT or unix:/path of the operator plane (default: RECIBO_ADMIN, else "
     "admin.address "
     "of the configuration)",
     false},
    {"-c", "FILE", "the configuration to find it in (default: recibo.yaml)", false},
    {"--token-file", "FILE", "file with the token (default: the variable RECIBO_TOKEN)", false},
    {"--json", NULL, "the JSON of the operator API as it is", false},
    {"--help", NULL, "this text", false},
};
const size_t options_common_count = GW_COUNT(options_common);

const char *options_near(const char *text, const char *const *words, size_t count)
{
    const char *best = NULL;
    struct span given = span_str(text);
    if (given.len == 0 || given.len >= NEAR_BYTES_MAX)
        return NULL;
    uint32_t most = near_limit(given.len);
    for (size_t i = 0; i < count; i++) {
        uint32_t distance = near_distance(given, span_str(words[i]), most);
        if (distance > most)
            continue;
        best = words[i];
        if (distance == 0)
            break;
        most = distance - 1;
    }
    return best;
}

static const struct option_spec *find_spec(const struct command_help *help, struct span name)
{
    for (size_t i = 0; i < help->option_count; i++)
        if (span_equal(name, span_str(help->options[i].name)))
            return &help->options[i];
    for (size_t i = 0; i < options_common_count; i++)
        if (span_equal(name, span_str(options_common[i].name)))
            return &options_common[i];
    return NULL;
}

static int refuse_unknown(const struct options *options, struct span name)
{
    const char *words[OPTIONS_GIVEN_MAX];
    size_t count = 0;
    char text[NEAR_BYTES_MAX] = "";
    for (size_t i = 0; i < options->help->option_count && count < OPTIONS_GIVEN_MAX; i++)
        words[count++] = options->help->options[i].name;
    for (size_t i = 0; i < options_common_count && count < OPTIONS_GIVEN_MAX; i++)
        words[count++] = options_common[i].name;
    if (name.len < sizeof(text))
        memcpy(text, name.ptr, name.len);
    const char *near = options_near(text, words, count);
    return options_refuse(options, "%.*s is not an option here%s%s", (int)name.len, name.ptr,
                          near == NULL ? "" : "; did you mean ", near == NULL ? "" : near);
}

int options_refuse(const struct options *options, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)fputs("recibo: ", stderr); /* nowhere else to tell it */
    (void)vfprintf(stderr, fmt, args);
    (void)fprintf(stderr, "\nusage: %s\n", options->help->synopsis);
    va_end(args);
    return EXIT_USAGE;
}

/* One option; *at moves over its value. */
static int take_option(struct options *options, int argc, char **argv, int *at)
{
    struct span name = span_str(argv[*at]);
    const char *value = strchr(argv[*at], '=');
    if (value != NULL)
        name.len = (size_t)(value++ - argv[*at]);
    const struct option_spec *spec = find_spec(options->help, name);
    if (spec == NULL)
        return refuse_unknown(options, name);
    if (spec->value == NULL && value != NULL)
        return options_refuse(options, "%s takes no value", spec->name);
    if (spec->value != NULL && value == NULL) {
        if (*at + 1 >= argc)
            return options_refuse(options, "%s needs a value: %s", spec->name, spec->value);
        value = argv[++*at];
    }
    if (!spec->is_list && options_has(options, spec->name))
        return options_refuse(options, "%s is given twice", spec->name);
    if (options->given_count == OPTIONS_GIVEN_MAX)
        return options_refuse(options, "there are more than %d options", OPTIONS_GIVEN_MAX);
    options->given[options->given_count].spec = spec;
    options->given[options->given_count++].value = value;
    return -1;
}

int options_parse(const struct command_help *help, int argc, char **argv, struct options *ret)
{
    bool only_words = false;
    *ret = (struct options){.help = help};
    for (int i = 1; i < argc; i++) {
        if (!only_words && strcmp(argv[i], "--") == 0) {
            only_words = true;
            continue;
        }
        if (!only_words && argv[i][0] == '-' && argv[i][1] != '\0') {
            int code = take_option(ret, argc, argv, &i);
            if (code != -1)
                return code;
            continue;
        }
        if (ret->word_count == help->words_max || ret->word_count == OPTIONS_WORDS_MAX)
            return options_refuse(ret, "\"%s\" is one word too many", argv[i]);
        ret->words[ret->word_count++] = argv[i];
    }
    if (options_has(ret, "--help")) {
        options_print_help(help);
        return EXIT_DONE;
    }
    if (ret->word_count < help->words_min)
        return options_refuse(ret, "something is missing");
    return -1;
}

bool options_has(const struct options *options, const char *name)
{
    for (uint32_t i = 0; i < options->given_count; i++)
        if (strcmp(options->given[i].spec->name, name) == 0)
            return true;
    return false;
}

const char *options_next(const struct options *options, const char *name, uint32_t *at)
{
    while (*at < options->given_count) {
        uint32_t i = (*at)++;
        if (strcmp(options->given[i].spec->name, name) == 0)
            return options->given[i].value;
    }
    return NULL;
}

const char *options_value(const struct options *options, const char *name)
{
    uint32_t at = 0;
    return options_next(options, name, &at);
}

static void print_spec(const struct option_spec *spec)
{
    int len = printf("  %s%s%s", spec->name, spec->value == NULL ? "" : " ",
                     spec->value == NULL ? "" : spec->value);
    (void)printf("%*s%s%s\n", len < HELP_COLUMN ? HELP_COLUMN - len : 1, "", spec->doc,
                 spec->is_list ? " (may be given again)" : "");
}

void options_print_help(const struct command_help *help)
{
    (void)printf("usage: %s\n\n%s\n", help->synopsis, help->text); /* nothing to do if it fails */
    for (size_t i = 0; i < help->option_count; i++)
        print_spec(&help->options[i]);
    for (size_t i = 0; i < options_common_count; i++)
        print_spec(&options_common[i]);
}
