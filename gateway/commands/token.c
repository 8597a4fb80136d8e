/* `recibo token new`: makes a token for the operator plane. The token is printed
 * once and kept nowhere; the configuration holds its SHA-256 alone. */
#include "base/digest.h"
#include "base/text.h"
#include "conf/conf.h"
#include "gateway/commands/commands.h"

#include <errno.h>
#include <stdio.h>

#define TOKEN_RANDOM_BYTES 32           /* 256 bits, in two halves of 26 characters */
#define TOKEN_BYTES        (3 + 2 * 26) /* rt_ and the halves */
#define NAME_BYTES_MAX     64           /* as the configuration takes it */
#define RIGHTS_BYTES       64           /* the four words and what stands between them */

static const char help[] =
    "usage: recibo token new [--name NAME] [--rights LIST] [--json]\n"
    "\n"
    "Makes a fresh random token for the operator plane, prints it once, and prints the\n"
    "line for admin.tokens, which holds only its SHA-256.\n"
    "\n"
    "  --name NAME    whose it is, in every audit line (default: operator)\n"
    "  --rights LIST  read,evidence,settle,control or some of them (default: read)\n"
    "                 read: lists and states; evidence: headers and bodies; settle:\n"
    "                 decide entries; control: pause, resume, cancel\n"
    "  --json         print a JSON object\n"
    "  --help         print this\n";

static const struct {
    const char *word;
    enum admin_right right;
} rights[] = {
    {"read", ADMIN_READ},
    {"evidence", ADMIN_EVIDENCE},
    {"settle", ADMIN_SETTLE},
    {"control", ADMIN_CONTROL},
};

struct options {
    const char *name;
    uint32_t rights; /* enum admin_right */
    bool json, help;
};

static bool usage(const char *what, const char *which)
{
    (void)fprintf(stderr, "recibo token: %s%s; see recibo token --help\n", what,
                  which); /* nowhere else to tell it */
    return false;
}

static bool is_name(const char *text)
{
    size_t len = strlen(text);
    if (len == 0 || len > NAME_BYTES_MAX)
        return false;
    if (memchr("._-", text[0], 3) != NULL)
        return false; /* YAML could take a lone - or ... for something else */
    for (size_t i = 0; i < len; i++) {
        char c = gw_lower(text[i]);
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '.' && c != '_' && c != '-')
            return false;
    }
    return true;
}

static bool parse_rights(const char *list, uint32_t *ret)
{
    uint32_t bits = 0;
    struct span rest = span_str(list);
    for (;;) {
        const char *comma = rest.len == 0 ? NULL : memchr(rest.ptr, ',', rest.len);
        struct span word = span_of(rest.ptr, comma == NULL ? rest.len : (size_t)(comma - rest.ptr));
        uint32_t bit = 0;
        for (size_t i = 0; i < GW_COUNT(rights); i++)
            if (span_equal(word, span_str(rights[i].word)))
                bit = (uint32_t)rights[i].right;
        if (bit == 0)
            return false;
        bits |= bit;
        if (comma == NULL)
            break;
        rest = span_of(comma + 1, rest.len - word.len - 1);
    }
    *ret = bits;
    return true;
}

static bool parse_options(int argc, char **argv, struct options *ret)
{
    bool is_new = false;
    for (int i = 1; i < argc; i++) {
        bool is_name_option = strcmp(argv[i], "--name") == 0;
        if (strcmp(argv[i], "--help") == 0) {
            ret->help = true;
        } else if (strcmp(argv[i], "--json") == 0) {
            ret->json = true;
        } else if (is_name_option || strcmp(argv[i], "--rights") == 0) {
            if (i + 1 == argc)
                return usage("a value is missing after ", argv[i]);
            i++;
            if (is_name_option)
                ret->name = argv[i];
            else if (!parse_rights(argv[i], &ret->rights))
                return usage("rights are some of read,evidence,settle,control, not ", argv[i]);
        } else if (argv[i][0] == '-') {
            return usage("unknown option ", argv[i]);
        } else if (!is_new && strcmp(argv[i], "new") == 0) {
            is_new = true;
        } else {
            return usage("unknown word ", argv[i]);
        }
    }
    if (ret->help)
        return true;
    if (!is_new)
        return usage("say what to do: new", "");
    if (!is_name(ret->name))
        return usage("a name is 1 to 64 letters, digits and . _ - that begin with a letter or "
                     "digit, not ",
                     ret->name);
    return true;
}

static void make_token(char ret_token[TOKEN_BYTES + 1], char ret_hex[2 * GW_SHA256_BYTES + 1])
{
    uint8_t random[TOKEN_RANDOM_BYTES], digest[GW_SHA256_BYTES];
    gw_random(random, sizeof(random));
    memcpy(ret_token, "rt_", 3);
    gw_base32(random, ret_token + 3);
    gw_base32(random + 16, ret_token + 3 + 26);
    gw_assert(strlen(ret_token) == TOKEN_BYTES);
    gw_sha256_once(span_of(ret_token, TOKEN_BYTES), digest);
    gw_hex(digest, sizeof(digest), ret_hex);
    explicit_bzero(random, sizeof(random));
}

/* "read, settle", or with quotes for JSON. */
static void write_rights(uint32_t bits, bool json, char ret_text[RIGHTS_BYTES])
{
    const char *quote = json ? "\"" : "";
    size_t len = 0;
    ret_text[0] = '\0';
    for (size_t i = 0; i < GW_COUNT(rights); i++) {
        if ((bits & (uint32_t)rights[i].right) == 0)
            continue;
        int added = snprintf(ret_text + len, RIGHTS_BYTES - len, "%s%s%s%s", len > 0 ? ", " : "",
                             quote, rights[i].word, quote);
        gw_assert(added > 0 && (size_t)added < RIGHTS_BYTES - len);
        len += (size_t)added;
    }
}

static int print_token(const struct options *options, const char *token, const char *hex)
{
    char words[RIGHTS_BYTES];
    int done;
    write_rights(options->rights, options->json, words);
    if (options->json)
        done = printf("{\"name\":\"%s\",\"rights\":[%s],\"token\":\"%s\",\"sha256\":\"%s\"}\n",
                      options->name, words, token, hex);
    else
        done = printf("token:  %s\n"
                      "sha256: %s\n"
                      "\n"
                      "The token is shown only now. Paste this under admin.tokens:\n"
                      "    - {name: %s, rights: [%s], sha256: \"%s\"}\n",
                      token, hex, options->name, words, hex);
    return done < 0 || fflush(stdout) != 0 ? EXIT_FAILED : EXIT_DONE;
}

int command_token(int argc, char **argv)
{
    gw_assert(argc >= 1);
    struct options options = {.name = "operator", .rights = ADMIN_READ};
    char token[TOKEN_BYTES + 1], hex[2 * GW_SHA256_BYTES + 1];
    if (!parse_options(argc, argv, &options))
        return EXIT_USAGE;
    if (options.help)
        return fputs(help, stdout) < 0 || fflush(stdout) != 0 ? EXIT_FAILED : EXIT_DONE;
    make_token(token, hex);
    int code = print_token(&options, token, hex);
    if (code != EXIT_DONE)
        (void)fprintf(stderr, "recibo token: cannot write: %s\n",
                      strerror(errno)); /* nowhere else to tell it */
    explicit_bzero(token, sizeof(token));
    return code;
}
