/* Does the name of a header field say that it bears a credential? Every vendor spells his
 * in his own way, so it is judged by the words of the name, whatever stands between them.
 * It must never be taken for a list of all credentials, and never looks at values. */
#include "policy/headers.h"

#define WORDS_MAX 64 /* of one name; what has more of them is no name to keep */

/* A word that is one of these, or ends so: "token", "accesstoken", "tokens", "tokenid". */
static const char *const stems[] = {
    "authorization", "authentication",
    "token",         "secret",
    "password",      "passwd",
    "passphrase",    "passcode",
    "credential",    "session",
    "sessid",        "cookie",
    "csrf",          "xsrf",
    "jwt",           "assertion",
    "signature",     "principal",
    "dpop",          "hmac",
    "macaroon",      "apikey",
    "accesskey",     "secretkey",
    "privatekey",    "functionskey",
    "masterkey",     "authkey",
    "sharedkey",     "subscriptionkey",
    "clientcert",    "otp",
};
/* What may follow such a stem in one word, before digits. */
static const char *const tails[] = {"", "s", "id", "ids", "key", "data", "value"};

/* Words that say so only as they stand: "auth", but not "author". */
static const char *const words[] = {
    "auth",         "oauth", "authn", "authz", "xauth", "bearer", "cert", "certs", "certificate",
    "certificates", "pwd",   "pass",  "pin",   "sid",   "sig",    "sso",  "saml",  "creds",
};

/* "Key" bears a credential where one of these stands before it: an idempotency key, a cache
 * key or a partition key is none. */
static const char *const owners_of_keys[] = {
    "api",     "access",      "function",  "functions",   "subscription", "account",
    "private", "shared",      "master",    "client",      "app",          "application",
    "host",    "service",     "storage",   "encryption",  "signing",      "admin",
    "user",    "customer",    "consumer",  "partner",     "merchant",     "vendor",
    "license", "publishable", "developer", "integration", "session",      "auth",
};

static bool is_word_byte(char c)
{
    char low = gw_lower(c);
    return (low >= 'a' && low <= 'z') || (low >= '0' && low <= '9');
}

static bool is_one_of(struct span word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (span_equal_nocase(word, span_str(list[i])))
            return true;
    return false;
}

static bool ends_in(struct span word, struct span end)
{
    return word.len >= end.len &&
           span_equal_nocase(span_of(word.ptr + word.len - end.len, end.len), end);
}

/* The word without the digits at its end: "cookie2", "oauth2". */
static struct span without_digits(struct span word)
{
    while (word.len > 0 && word.ptr[word.len - 1] >= '0' && word.ptr[word.len - 1] <= '9')
        word.len--;
    return word;
}

static bool has_stem(struct span word)
{
    for (size_t i = 0; i < GW_COUNT(tails); i++) {
        struct span tail = span_str(tails[i]);
        if (!ends_in(word, tail))
            continue;
        struct span stem = span_of(word.ptr, word.len - tail.len);
        for (size_t k = 0; k < GW_COUNT(stems); k++)
            if (ends_in(stem, span_str(stems[k])))
                return true;
    }
    return false;
}

/* The next word of the name, from *at on; empty: there is none. */
static struct span next_word(struct span name, size_t *at)
{
    while (*at < name.len && !is_word_byte(name.ptr[*at]))
        (*at)++;
    size_t from = *at;
    while (*at < name.len && is_word_byte(name.ptr[*at]))
        (*at)++;
    return span_of(name.ptr + from, *at - from);
}

static bool sounds_secret(struct span name)
{
    static const char *const keys[] = {"key", "keys"};
    struct span before = SPAN("");
    size_t at = 0;
    for (uint32_t i = 0; i < WORDS_MAX; i++) {
        struct span word = next_word(name, &at);
        if (word.len == 0)
            return false;
        struct span bare = without_digits(word);
        if (has_stem(bare) || is_one_of(bare, words, GW_COUNT(words)))
            return true;
        if (is_one_of(bare, keys, GW_COUNT(keys)) &&
            is_one_of(before, owners_of_keys, GW_COUNT(owners_of_keys)))
            return true;
        before = word;
    }
    return true;
}

bool header_is_secret(struct span name)
{
    return (header_flags(name) & HEADER_SECRET) != 0 || sounds_secret(name);
}
