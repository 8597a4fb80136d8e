/* User and password (RFC 7617) against crypt(3) hashes. An unknown user costs the
 * same work as a wrong password and is told the same (AUTH-2, AUTH-4). The password
 * lives on the stack of one call and is wiped there. */
#include "base/digest.h"
#include "base/text.h"
#include "gateway/owners/scheme.h"

#include <crypt.h>

#define BASIC_BYTES_MAX 2048 /* of the base64 text: users of 128 and passwords of 511 fit well */

struct login {
    char bytes[BASIC_BYTES_MAX + 1];
    struct span user;
    const char *password; /* in bytes, NUL-terminated */
};

static bool parse_login(struct span credential, struct login *login)
{
    size_t len = 0;
    if (credential.len > BASIC_BYTES_MAX)
        return false;
    if (!gw_base64_decode(credential, login->bytes, &len))
        return false;
    gw_assert(len <= BASIC_BYTES_MAX);
    login->bytes[len] = '\0';
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)login->bytes[i] < 0x20 || login->bytes[i] == 0x7f)
            return false;
    char *colon = memchr(login->bytes, ':', len);
    if (colon == NULL)
        return false;
    login->user = span_of(login->bytes, (size_t)(colon - login->bytes));
    login->password = colon + 1;
    return true;
}

/* Every user is looked at; the lengths of names are no secret. */
static const struct conf_owner_user *find_user(const struct conf_owner *entry, struct span name)
{
    const struct conf_owner_user *found = NULL;
    for (uint32_t i = 0; i < entry->user_count; i++)
        if (entry->users[i].name.len == name.len &&
            gw_equal_constant_time(entry->users[i].name.ptr, name.ptr, name.len))
            found = &entry->users[i];
    return found;
}

/* crypt_r writes "*0" or "*1" when it fails, which is no hash's beginning. */
static bool password_fits(const char *password, struct span hash)
{
    struct crypt_data room;
    memset(&room, 0, sizeof(room));
    const char *made = crypt_r(password, hash.ptr, &room);
    bool fits = made != NULL && made[0] != '*' && strlen(made) == hash.len &&
                gw_equal_constant_time(made, hash.ptr, hash.len);
    explicit_bzero(&room, sizeof(room));
    return fits;
}

/* Stands in for a user who does not exist. Chosen by the name, always the same for
 * it, so that where hashes of several kinds and costs are mixed the time an unknown
 * name takes is like that of some user. */
static const struct conf_owner_user *stand_in(const struct conf_owner *entry, struct span name)
{
    uint8_t digest[GW_SHA256_BYTES];
    gw_assert(entry->user_count > 0);
    gw_sha256_once(name, digest);
    uint32_t number = (uint32_t)digest[0] << 16 | (uint32_t)digest[1] << 8 | digest[2];
    return &entry->users[number % entry->user_count];
}

static enum owner_verdict check_login(const struct conf_owner *entry, const struct login *login,
                                      struct span *ret_owner)
{
    if (entry->user_count == 0)
        return OWNER_BAD;
    const struct conf_owner_user *user = find_user(entry, login->user);
    const struct conf_owner_user *other = stand_in(entry, login->user);
    bool fits = password_fits(login->password, (user != NULL ? user : other)->hash);
    if (!fits || user == NULL)
        return OWNER_BAD;
    *ret_owner = user->owner;
    return OWNER_OK;
}

static enum owner_verdict identify(const struct conf_owner *entry,
                                   const struct owner_request *request, struct arena *arena,
                                   struct span *ret_owner)
{
    (void)arena; /* the owner is the configuration's text */
    struct span value, credential;
    struct login login;
    enum owner_verdict verdict = owner_one_line(request->head, SPAN("Authorization"), &value);
    if (verdict != OWNER_OK)
        return verdict;
    verdict = owner_after_scheme(value, SPAN("Basic"), &credential);
    if (verdict != OWNER_OK)
        return verdict;
    verdict =
        parse_login(credential, &login) ? check_login(entry, &login, ret_owner) : OWNER_MALFORMED;
    explicit_bzero(&login, sizeof(login));
    return verdict;
}

static struct span challenge(const struct conf_owner *entry, enum owner_verdict verdict,
                             struct arena *arena)
{
    (void)verdict; /* RFC 7617 knows no error parameter */
    struct span realm = entry->realm.len > 0 ? entry->realm : SPAN("recibo");
    return arena_print(arena, "Basic realm=\"%.*s\", charset=\"UTF-8\"", (int)realm.len, realm.ptr);
}

static struct span field(const struct conf_owner *entry)
{
    (void)entry; /* always the same */
    return SPAN("Authorization");
}

const struct owner_scheme owner_scheme_basic = {identify, challenge, field};
