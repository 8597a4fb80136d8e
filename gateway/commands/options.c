/* Reads command lines by a table. Must never guess: an option that is not known, or
 * given twice, ends the command. */
#include "gateway/commands/options.h"

#include "conf/fields.h"
#include "gateway/commands/commands.h"

#include <stdarg.h>
#include <stdio.h>

#define HELP_COLUMN 28
#define HELP_WIDTH  88

static const struct option_spec admin_set[] = {
    {"--admin", "URL",
     "http://HOST:PORT, https://HOST:PORT or unix:/path of the operator plane (default: "
     "RECIBO_ADMIN, else "
     "admin.address of the configuration)",
     false},
    {"--admin-ca", "FILE",
     "PEM file with the authorities that an https:// plane is verified with (default: "
     "RECIBO_ADMIN_CA, else those of this system)",
     false},
    {"-c", "FILE", "the configuration to find it in (default: recibo.yaml)", false},
    {"--token-file", "FILE",
     "file with the token (default: the variable RECIBO_TOKEN; over a Unix socket your user id "
     "may do)",
     false},
    {"--json", NULL, "the JSON of the operator API as it is", false},
    {"--help", NULL, "this text", false},
};
static const struct option_spec file_set[] = {
    {"-c", "FILE", "the configuration (default: recibo.yaml)", false},
    {"--help", NULL, "this text", false},
};
static const struct option_spec alone_set[] = {
    {"--help", NULL, "this text", false},
};

/* Other spellings, where the command has none of its own for them. */
static const struct {
    const char *alias, *name;
} aliases[] = {{"--config", "-c"}, {"--header", "-H"}};

static const struct option_spec *set_of(const struct command_help *help, size_t *ret_count)
{
    switch (help->set) {
    case OPTIONS_ADMIN:
        *ret_count = GW_COUNT(admin_set);
        return admin_set;
    case OPTIONS_FILE:
        *ret_count = GW_COUNT(file_set);
        return file_set;
    case OPTIONS_ALONE:
        break;
    }
    *ret_count = GW_COUNT(alone_set);
    return alone_set;
}

const struct option_spec *options_spec(const struct command_help *help, size_t i)
{
    size_t count;
    const struct option_spec *set = set_of(help, &count);
    if (i < help->option_count)
        return &help->options[i];
    return i - help->option_count < count ? &set[i - help->option_count] : NULL;
}

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

static const struct option_spec *find_exactly(const struct command_help *help, struct span name)
{
    const struct option_spec *spec;
    for (size_t i = 0; (spec = options_spec(help, i)) != NULL; i++)
        if (span_equal(name, span_str(spec->name)))
            return spec;
    return NULL;
}

static const struct option_spec *find_spec(const struct command_help *help, struct span name)
{
    const struct option_spec *spec = find_exactly(help, name);
    for (size_t i = 0; spec == NULL && i < GW_COUNT(aliases); i++)
        if (span_equal(name, span_str(aliases[i].alias)))
            spec = find_exactly(help, span_str(aliases[i].name));
    return spec;
}

static int refuse_unknown(const struct options *options, struct span name)
{
    const char *words[OPTIONS_GIVEN_MAX];
    const struct option_spec *spec;
    size_t count = 0;
    char text[NEAR_BYTES_MAX] = "";
    for (size_t i = 0; count < OPTIONS_GIVEN_MAX && (spec = options_spec(options->help, i)) != NULL;
         i++)
        words[count++] = spec->name;
    if (name.len < sizeof(text))
        memcpy(text, name.ptr, name.len);
    const char *near = options_near(text, words, count);
    return options_refuse(options, "%.*s is not an option here%s%s", (int)name.len, name.ptr,
                          near == NULL ? "" : "; did you mean ", near == NULL ? "" : near);
}

int options_refuse(const struct options *options, const char *fmt, ...)
{
    va_list args;
    struct span usage = span_str(options->help->synopsis);
    const char *end = memchr(usage.ptr, '\n', usage.len);
    if (end != NULL) /* the first way to write it says enough here */
        usage.len = (size_t)(end - usage.ptr);
    va_start(args, fmt);
    (void)fputs("recibo: ", stderr); /* nowhere else to tell it */
    (void)vfprintf(stderr, fmt, args);
    (void)fprintf(stderr, "\nusage: %.*s%s\n", (int)usage.len, usage.ptr,
                  end == NULL ? "" : "; --help says more");
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

/* Names the first word that should have come. */
static int refuse_missing(const struct options *options)
{
    struct span names = span_str(options->help->words == NULL ? "" : options->help->words);
    for (uint32_t skip = options->word_count; skip > 0 && names.len > 0; skip--) {
        const char *end = memchr(names.ptr, ' ', names.len);
        size_t len = end == NULL ? names.len : (size_t)(end - names.ptr) + 1;
        names = span_of(names.ptr + len, names.len - len);
    }
    const char *end = names.len == 0 ? NULL : memchr(names.ptr, ' ', names.len);
    if (end != NULL)
        names.len = (size_t)(end - names.ptr);
    if (names.len == 0)
        names = SPAN("a word");
    return options_refuse(options, "%.*s is missing", (int)names.len, names.ptr);
}

/* Wherever it stands, also where an option waits for its value. */
static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0)
            return true;
    return argc == 2 && strcmp(argv[1], "-h") == 0;
}

int options_parse(const struct command_help *help, int argc, char **argv, struct options *ret)
{
    bool only_words = false;
    *ret = (struct options){.help = help};
    if (asks_for_help(argc, argv)) {
        options_print_help(help);
        return EXIT_DONE;
    }
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
    return ret->word_count < help->words_min ? refuse_missing(ret) : -1;
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

/* The doc behind its option, lines of it set in. */
static void print_spec(const struct option_spec *spec)
{
    int len = printf("  %s%s%s", spec->name, spec->value == NULL ? "" : " ",
                     spec->value == NULL ? "" : spec->value);
    size_t column = HELP_COLUMN;
    struct span rest = span_str(spec->doc);
    if (len < HELP_COLUMN - 1)
        (void)printf("%*s", HELP_COLUMN - len, "");
    else
        (void)printf("\n%*s", HELP_COLUMN, "");
    while (rest.len > 0) {
        const char *blank = memchr(rest.ptr, ' ', rest.len);
        size_t word = blank == NULL ? rest.len : (size_t)(blank - rest.ptr);
        if (column > HELP_COLUMN && column + 1 + word > HELP_WIDTH) {
            (void)printf("\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        }
        (void)printf("%s%.*s", column > HELP_COLUMN ? " " : "", (int)word, rest.ptr);
        column += word + (column > HELP_COLUMN ? 1 : 0);
        word += blank == NULL ? 0 : 1;
        rest = span_of(rest.ptr + word, rest.len - word);
    }
    (void)printf("%s\n", spec->is_list ? " (may be given again)" : "");
}

/* Further ways to write it stand on lines of their own. */
static void print_synopsis(struct span text)
{
    const char *before = "usage: ";
    while (text.len > 0) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t len = end == NULL ? text.len : (size_t)(end - text.ptr);
        (void)printf("%s%.*s\n", before, (int)len, text.ptr); /* nothing to do if it fails */
        len += end == NULL ? 0 : 1;
        text = span_of(text.ptr + len, text.len - len);
        before = "       ";
    }
}

static void print_parts(const char *group)
{
    for (size_t i = 0; i < command_count; i++)
        if (command_table[i].group != NULL && strcmp(command_table[i].group, group) == 0)
            (void)printf("  %-10s%s\n", command_table[i].word, command_table[i].doc);
    (void)printf("Each has its own --help.\n");
}

void options_print_help(const struct command_help *help)
{
    const struct option_spec *spec;
    print_synopsis(span_str(help->synopsis));
    (void)printf("\n%s", help->text); /* nothing to do if it fails */
    if (help->group != NULL)
        print_parts(help->group);
    (void)printf("\n");
    for (size_t i = 0; (spec = options_spec(help, i)) != NULL; i++)
        print_spec(spec);
    if (help->examples != NULL)
        (void)printf("\nExamples:\n%s", help->examples);
}
