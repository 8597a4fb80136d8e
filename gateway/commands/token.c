/* `recibo token new`: makes a token for the operator plane. The token is printed
 * once and kept nowhere; the configuration holds its SHA-256 alone. */
#include "gateway/commands/token.h"
#include "base/digest.h"
#include "base/text.h"
#include "conf/conf.h"
#include "gateway/commands/commands.h"

#include <errno.h>
#include <stdio.h>

#define TOKEN_RANDOM_BYTES 32 /* 256 bits, in two halves of 26 characters */

#define NAME_BYTES_MAX 64 /* as the configuration takes it */
#define RIGHTS_BYTES   64 /* the four words and what stands between them */

static const struct option_spec specs[] = {
    {"--name", "NAME", "whose it is, in every audit line (default: operator)", false},
    {"--rights", "LIST",
     "read,evidence,settle,control or some of them (default: read). read: lists and states; "
     "evidence: headers and bodies; settle: decide entries; control: pause, resume",
     false},
    {"--json", NULL, "print a JSON object", false},
};
const struct command_help command_token_help = {
    .synopsis = "recibo token new [--name NAME] [--rights LIST] [--json]",
    .text = "Makes a fresh random token for the operator plane, prints it once, and prints the\n"
            "line for admin.tokens, which holds only its SHA-256.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .words_min = 1,
    .words_max = 1,
    .words = "new",
    .examples = "  recibo token new --name ana --rights read,evidence,settle,control\n",
    .set = OPTIONS_ALONE,
};

static const struct {
    const char *word;
    enum admin_right right;
} rights[] = {
    {"read", ADMIN_READ},
    {"evidence", ADMIN_EVIDENCE},
    {"settle", ADMIN_SETTLE},
    {"control", ADMIN_CONTROL},
};

struct wish {
    const char *name;
    uint32_t rights; /* enum admin_right */
    bool json;
};

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

/* -1: go on. Else the exit code, and what is wrong was said. */
static int read_wish(const struct options *options, struct wish *ret)
{
    const char *name = options_value(options, "--name");
    const char *rights_list = options_value(options, "--rights");
    ret->json = options_has(options, "--json");
    ret->name = name == NULL ? "operator" : name;
    ret->rights = ADMIN_READ;
    if (strcmp(options->words[0], "new") != 0)
        return options_refuse(options, "token has no \"%.64s\"; say new", options->words[0]);
    if (rights_list != NULL && !parse_rights(rights_list, &ret->rights))
        return options_refuse(options,
                              "--rights is some of read,evidence,settle,control, not \"%.64s\"",
                              rights_list);
    if (!is_name(ret->name))
        return options_refuse(
            options,
            "--name is 1 to 64 letters, digits and . _ - that begin with a letter "
            "or digit, not \"%.64s\"",
            ret->name);
    return -1;
}

void token_make(char ret_token[TOKEN_BYTES + 1], char ret_hex[2 * GW_SHA256_BYTES + 1])
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

static int print_token(const struct wish *wish, const char *token, const char *hex)
{
    char words[RIGHTS_BYTES];
    int done;
    write_rights(wish->rights, wish->json, words);
    if (wish->json)
        done = printf("{\"name\":\"%s\",\"rights\":[%s],\"token\":\"%s\",\"sha256\":\"%s\"}\n",
                      wish->name, words, token, hex);
    else
        done = printf("token:  %s\n"
                      "sha256: %s\n"
                      "\n"
                      "The token is shown only now. Paste this under admin.tokens:\n"
                      "    - {name: %s, rights: [%s], sha256: \"%s\"}\n",
                      token, hex, wish->name, words, hex);
    return done < 0 || fflush(stdout) != 0 ? EXIT_FAILED : EXIT_DONE;
}

int command_token(int argc, char **argv)
{
    struct options options;
    struct wish wish;
    char token[TOKEN_BYTES + 1], hex[2 * GW_SHA256_BYTES + 1];
    int code = options_parse(&command_token_help, argc, argv, &options);
    if (code == -1)
        code = read_wish(&options, &wish);
    if (code != -1)
        return code;
    token_make(token, hex);
    code = print_token(&wish, token, hex);
    if (code != EXIT_DONE)
        (void)fprintf(stderr, "recibo token: cannot write: %s\n",
                      strerror(errno)); /* nowhere else to tell it */
    explicit_bzero(token, sizeof(token));
    return code;
}
