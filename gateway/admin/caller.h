/* Who calls: the holder of a token, of a page's session, or the peer of a Unix
 * socket; and whose hands it is when a trusted proxy says so. Threads: the admin's
 * loop. */
#ifndef RECIBO_GATEWAY_ADMIN_CALLER_H
#define RECIBO_GATEWAY_ADMIN_CALLER_H

#include "conf/conf.h"

struct call;

#define CALLER_PERSON_BYTES_MAX 128

struct caller {
    struct span name;  /* "ana" */
    struct span actor; /* "token:ana", "token:proxy/anna", "uid:1000"; empty: nobody */
    uint32_t rights;   /* enum admin_right */
    bool is_page;      /* by a page's session: it may not ask for another one */
};

enum caller_verdict {
    CALLER_KNOWN,
    CALLER_NONE,    /* nothing was shown */
    CALLER_WRONG,   /* what was shown is not good */
    CALLER_UNNAMED, /* a trusted proxy must name the person, and did not do it rightly */
};
enum caller_verdict caller_find(struct call *call, struct caller *ret);

/* What the kernel says of a connection's other end. */
struct caller_peer {
    bool has_uid, has_address;
    uint32_t uid;
    uint8_t address[16]; /* v4-mapped */
};
void caller_look(int fd, struct caller_peer *ret);
/* One person's name: text without control characters, 1 to CALLER_PERSON_BYTES_MAX bytes. */
bool caller_person_is_sound(struct span name);

#endif
