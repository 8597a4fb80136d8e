/* One header field, as everybody sees it. */
#ifndef RECIBO_BASE_FIELD_H
#define RECIBO_BASE_FIELD_H

#include "base/base.h"

struct http_field {
    struct span name;  /* as received; compared without case */
    struct span value; /* without the white space around it */
};

#endif
