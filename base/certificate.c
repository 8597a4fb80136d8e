/* Reads PEM files to judge them. A key lives here only as long as one look takes, and
 * a password is never asked for: who starts a service is not at the keyboard. */
#include "base/certificate.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* OpenSSL would ask the terminal. */
static int no_password(char *room, int size, int is_writing, void *ctx)
{
    (void)room;
    (void)size;
    (void)is_writing;
    (void)ctx;
    return -1;
}

/* Not for ever, whatever the path names: a pipe would wait for somebody to write. */
static FILE *open_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (file == NULL && fd >= 0)
        (void)close(fd); /* nothing was read */
    return file;
}

static enum gw_status read_certificate(const char *path, X509 **ret, struct gw_error *err)
{
    FILE *file = open_file(path);
    if (file == NULL)
        return gw_error_set(err, GW_IO, "the file cannot be opened: %s", strerror(errno));
    X509 *certificate = PEM_read_X509(file, NULL, no_password, NULL);
    (void)fclose(file); /* only read */
    ERR_clear_error();
    if (certificate == NULL)
        return gw_error_set(err, GW_INVALID,
                            "the file holds no certificate (PEM: BEGIN CERTIFICATE)");
    *ret = certificate;
    return GW_OK;
}

static bool seconds_of(const ASN1_TIME *time, int64_t *ret)
{
    struct tm parts = {0};
    if (ASN1_TIME_to_tm(time, &parts) != 1)
        return false;
    *ret = (int64_t)timegm(&parts);
    return true;
}

enum gw_status certificate_look(const char *path, struct certificate_facts *ret,
                                struct gw_error *err)
{
    X509 *certificate = NULL;
    struct certificate_facts facts;
    enum gw_status status = read_certificate(path, &certificate, err);
    if (status != GW_OK)
        return status;
    if (!seconds_of(X509_get0_notBefore(certificate), &facts.from_s) ||
        !seconds_of(X509_get0_notAfter(certificate), &facts.until_s))
        status = gw_error_set(err, GW_INVALID, "the certificate's times cannot be read");
    X509_free(certificate);
    if (status == GW_OK)
        *ret = facts;
    return status;
}

enum gw_status certificate_look_key(const char *certificate_path, const char *key_path,
                                    struct gw_error *err)
{
    X509 *certificate = NULL;
    FILE *file = open_file(key_path);
    if (file == NULL)
        return gw_error_set(err, GW_IO, "the file cannot be opened: %s", strerror(errno));
    EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, no_password, NULL);
    (void)fclose(file); /* only read */
    ERR_clear_error();
    if (key == NULL)
        return gw_error_set(err, GW_INVALID,
                            "the file holds no private key without a password (PEM: BEGIN PRIVATE "
                            "KEY)");
    enum gw_status status = read_certificate(certificate_path, &certificate, err);
    if (status == GW_OK && X509_check_private_key(certificate, key) != 1)
        status = gw_error_set(err, GW_INVALID, "the key is not the certificate's");
    ERR_clear_error();
    X509_free(certificate);
    EVP_PKEY_free(key);
    return status;
}
