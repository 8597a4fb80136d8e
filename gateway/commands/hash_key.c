/* `recibo hash-key`: turns a secret from standard input into what the configuration
 * holds of it. The secret is never taken from the command line, never printed, and
 * wiped before the end. */
#include "base/digest.h"
#include "base/text.h"
#include "gateway/commands/commands.h"

#include <crypt.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define SECRET_BYTES_MAX   4096
#define PASSWORD_BYTES_MAX (CRYPT_MAX_PASSPHRASE_SIZE - 1)

static const struct option_spec specs[] = {
    {"--basic", NULL, "read a password and print a crypt(3) hash for owners.NAME.users[].hash",
     false},
    {"--json", NULL, "print a JSON object", false},
};
const struct command_help command_hash_key_help = {
    .synopsis = "recibo hash-key [--basic] [--json] < FILE",
    .text = "Reads one key from standard input, without its line end, and prints its SHA-256\n"
            "for owners.NAME.keys[].sha256. The key itself is printed nowhere.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .examples = "  recibo hash-key < acme.key\n"
                "  recibo hash-key --basic < acme.password\n",
    .set = OPTIONS_ALONE,
};

/* Its own reader of the line: a word that may be the key is never repeated. */
struct wish {
    bool basic, json, help;
};

static bool parse_options(int argc, char **argv, struct wish *ret)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--basic") == 0) {
            ret->basic = true;
        } else if (strcmp(argv[i], "--json") == 0) {
            ret->json = true;
        } else if (strcmp(argv[i], "--help") == 0) {
            ret->help = true;
        } else if (argv[i][0] == '-') {
            (void)fprintf(stderr,
                          "recibo hash-key: unknown option %s; see recibo hash-key --help\n",
                          argv[i]); /* nowhere else to tell it */
            return false;
        } else {
            /* It may be the key: it is not repeated. */
            (void)fprintf(stderr, "recibo hash-key: a key is read from standard input, not from "
                                  "the command line, where others can see it; see recibo hash-key "
                                  "--help\n");
            return false;
        }
    }
    return true;
}

/* Reads to the end, at most one byte more than is allowed. */
static bool read_input(char *bytes, size_t *ret_len)
{
    size_t len = 0;
    for (;;) {
        ssize_t got = read(STDIN_FILENO, bytes + len, SECRET_BYTES_MAX + 3 - len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        len += (size_t)got;
        if (got == 0 || len == SECRET_BYTES_MAX + 3)
            break;
    }
    *ret_len = len;
    return true;
}

static struct span without_line_end(struct span text)
{
    if (text.len > 0 && text.ptr[text.len - 1] == '\n')
        text.len--;
    if (text.len > 0 && text.ptr[text.len - 1] == '\r')
        text.len--;
    return text;
}

/* NULL, or what is wrong with it. A header's value has no controls, and white space
 * around it is cut off on the way: such a key could never be met. */
static const char *fault_of(struct span secret, bool basic)
{
    if (secret.len == 0)
        return basic ? "the password is empty" : "the key is empty";
    if (basic && secret.len > PASSWORD_BYTES_MAX)
        return "the password is longer than 511 bytes, the most that crypt(3) takes";
    if (secret.len > SECRET_BYTES_MAX)
        return "the key is longer than 4096 bytes";
    for (size_t i = 0; i < secret.len; i++) {
        unsigned char c = (unsigned char)secret.ptr[i];
        if (c == '\n' || c == '\r')
            return "there is more than one line; give one secret at a time";
        if (c < 0x20 || c == 0x7f)
            return "it holds a control character, which no header can carry";
    }
    if (!basic && (secret.ptr[0] == ' ' || secret.ptr[secret.len - 1] == ' '))
        return "the key begins or ends with a space, which is cut off on its way in a header";
    return NULL;
}

static int print_line(const struct wish *wish, const char *name, const char *value)
{
    int done = wish->json ? printf("{\"%s\":\"%s\"}\n", name, value) : printf("%s\n", value);
    if (done < 0 || fflush(stdout) != 0) {
        (void)fprintf(stderr, "recibo hash-key: cannot write: %s\n",
                      strerror(errno)); /* nowhere else to tell it */
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

static int print_digest(const struct wish *wish, struct span key)
{
    uint8_t digest[GW_SHA256_BYTES];
    char hex[2 * GW_SHA256_BYTES + 1];
    gw_sha256_once(key, digest);
    gw_hex(digest, sizeof(digest), hex);
    return print_line(wish, "sha256", hex);
}

/* yescrypt where this libcrypt has it, else SHA-512. `password` ends with a NUL. */
static int print_crypt(const struct wish *wish, const char *password)
{
    static const char *const prefixes[] = {"$y$", "$6$"};
    char setting[CRYPT_GENSALT_OUTPUT_SIZE];
    struct crypt_data room;
    const char *made = NULL;
    memset(&room, 0, sizeof(room));
    for (size_t i = 0; i < GW_COUNT(prefixes) && made == NULL; i++) {
        unsigned char seed[32];
        gw_random(seed, sizeof(seed));
        if (crypt_gensalt_rn(prefixes[i], 0, (const char *)seed, sizeof(seed), setting,
                             sizeof(setting)) == NULL)
            continue;
        made = crypt_r(password, setting, &room);
        if (made != NULL && made[0] == '*')
            made = NULL;
    }
    int code = EXIT_FAILED;
    if (made != NULL)
        code = print_line(wish, "hash", made);
    else
        (void)fprintf(stderr, "recibo hash-key: this system's crypt(3) has neither yescrypt nor "
                              "SHA-512\n"); /* nowhere else to tell it */
    explicit_bzero(&room, sizeof(room));
    return code;
}

int command_hash_key(int argc, char **argv)
{
    gw_assert(argc >= 1);
    struct wish wish = {0};
    char bytes[SECRET_BYTES_MAX + 4];
    size_t len = 0;
    if (!parse_options(argc, argv, &wish))
        return EXIT_USAGE;
    if (wish.help)
        options_print_help(&command_hash_key_help);
    if (wish.help)
        return fflush(stdout) != 0 ? EXIT_FAILED : EXIT_DONE;
    if (!read_input(bytes, &len)) {
        (void)fprintf(stderr, "recibo hash-key: cannot read standard input: %s\n",
                      strerror(errno)); /* nowhere else to tell it */
        return EXIT_FAILED;
    }
    struct span secret = without_line_end(span_of(bytes, len));
    const char *fault = fault_of(secret, wish.basic);
    int code = EXIT_FAILED;
    if (fault != NULL) {
        (void)fprintf(stderr, "recibo hash-key: %s\n", fault); /* nowhere else to tell it */
    } else {
        bytes[secret.len] = '\0';
        code = wish.basic ? print_crypt(&wish, bytes) : print_digest(&wish, secret);
    }
    explicit_bzero(bytes, sizeof(bytes));
    return code;
}
