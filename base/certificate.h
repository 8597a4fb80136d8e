/* Certificates and private keys in PEM files, looked at before anything is served with
 * them. It never keeps a key. Threads: pure but for the files. */
#ifndef RECIBO_BASE_CERTIFICATE_H
#define RECIBO_BASE_CERTIFICATE_H

#include "base/base.h"

struct certificate_facts {
    int64_t from_s, until_s; /* of the first certificate, seconds since 1970 */
};
/* GW_IO: the file cannot be read; GW_INVALID: it holds no certificate. */
GW_MUST_CHECK enum gw_status certificate_look(const char *path, struct certificate_facts *ret,
                                              struct gw_error *err);
/* Is the key of this file the one of the first certificate of the other? */
GW_MUST_CHECK enum gw_status certificate_look_key(const char *certificate_path,
                                                  const char *key_path, struct gw_error *err);

#endif
