/* Changes a path as an upstream may, one step at a time, and lists the readings
 * that come out. Never makes a path longer and never fails: bytes that fit no
 * grammar stay what they are. */
#include "policy/route_path.h"

/* ---- bytes ---- */

bool path_escape_at(struct span path, size_t at, char *ret_byte)
{
    if (at >= path.len || path.len - at < 3 || path.ptr[at] != '%')
        return false;
    int high = gw_hex_value(path.ptr[at + 1]), low = gw_hex_value(path.ptr[at + 2]);
    if (high < 0 || low < 0)
        return false;
    *ret_byte = (char)(unsigned char)(high * 16 + low);
    return true;
}

bool path_is_plain_byte(char c)
{
    static const char marks[] = "-._~!$&'()*+,;=:@";
    char small = gw_lower(c);
    if ((small >= 'a' && small <= 'z') || (c >= '0' && c <= '9'))
        return true;
    for (size_t i = 0; i + 1 < sizeof(marks); i++)
        if (marks[i] == c)
            return true;
    return false;
}

static bool is_slash(char c)
{
    return c == '/' || c == '\\';
}

/* ---- the steps; each returns the new length ---- */

static size_t strip_authority(char *path, size_t len)
{
    size_t from = 0;
    while (from < len && is_slash(path[from]))
        from++;
    if (from < 2)
        return len;
    while (from < len && !is_slash(path[from]))
        from++;
    size_t out = 0;
    path[out++] = '/';
    for (from++; from < len; from++)
        path[out++] = path[from];
    return out;
}

static size_t strip_parameters(char *path, size_t len)
{
    size_t out = 0;
    bool inside = false;
    for (size_t i = 0; i < len; i++) {
        if (path[i] == ';')
            inside = true;
        else if (path[i] == '/')
            inside = false;
        if (!inside)
            path[out++] = path[i];
    }
    return out;
}

static size_t merge_slashes(char *path, size_t len)
{
    size_t out = 0;
    for (size_t i = 0; i < len; i++)
        if (path[i] != '/' || out == 0 || path[out - 1] != '/')
            path[out++] = path[i];
    return out;
}

/* RFC 3986 5.2.4, segment by segment; ".." above the root stays at the root. */
static size_t remove_dots(char *path, size_t len)
{
    if (len == 0 || path[0] != '/')
        return len;
    size_t out = 0, at = 0;
    while (at < len) {
        size_t end = at + 1; /* path[at] is the slash before the segment */
        while (end < len && path[end] != '/')
            end++;
        size_t segment_len = end - at - 1;
        bool one = segment_len == 1 && path[at + 1] == '.';
        bool two = segment_len == 2 && path[at + 1] == '.' && path[at + 2] == '.';
        if (!one && !two) {
            for (; at < end; at++)
                path[out++] = path[at];
            continue;
        }
        while (two && out > 0 && path[--out] != '/')
            continue;
        at = end;
        if (at == len)
            path[out++] = '/'; /* "/x/." is the folder "/x/" */
    }
    return out;
}

static size_t decode(char *path, size_t len, bool keep_slashes)
{
    size_t out = 0;
    for (size_t i = 0; i < len; i++) {
        char byte;
        if (path_escape_at(span_of(path, len), i, &byte) && !(keep_slashes && is_slash(byte))) {
            path[out++] = byte;
            i += 2;
        } else {
            path[out++] = path[i];
        }
    }
    return out;
}

static size_t cut(const char *path, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (path[i] == '?' || path[i] == '#' || path[i] == '\0')
            return i;
    return len;
}

static bool turn_backslashes(char *path, size_t len)
{
    bool changed = false;
    for (size_t i = 0; i < len; i++) {
        if (path[i] != '\\')
            continue;
        path[i] = '/';
        changed = true;
    }
    return changed;
}

bool path_apply(enum path_step step, char *path, size_t *len)
{
    const size_t before = *len;
    switch (step) {
    case PATH_NOTHING:
        return false;
    case PATH_AUTHORITY:
        *len = strip_authority(path, before);
        break;
    case PATH_PARAMETERS:
        *len = strip_parameters(path, before);
        break;
    case PATH_BACKSLASHES:
        return turn_backslashes(path, before);
    case PATH_SLASHES:
        *len = merge_slashes(path, before);
        break;
    case PATH_DOTS:
        *len = remove_dots(path, before);
        break;
    case PATH_DECODE:
        *len = decode(path, before, false);
        break;
    case PATH_DECODE_NOT_SLASHES:
        *len = decode(path, before, true);
        break;
    case PATH_CUT:
        *len = cut(path, before);
        break;
    }
    gw_assert(*len <= before);
    return *len < before; /* every step that changes anything here takes bytes away */
}

/* ---- the list of readings ---- */

#define STEPS_MAX        4
#define ALTERNATIVES_MAX 5

struct alternative {
    uint8_t steps[STEPS_MAX]; /* enum path_step */
    bool each_must_change;    /* else a shorter alternative says the same */
};
struct stage {
    uint8_t plain_count; /* the first so many; the first of all does nothing */
    uint8_t wary_count;
    struct alternative alternatives[ALTERNATIVES_MAX];
};
enum {
    STAGE_FIRST_DECODE = 2,
    STAGE_BETWEEN = 3,
    STAGE_SECOND_DECODE = 4,
};
/* In the order in which an upstream may do them. */
static const struct stage stages[PATH_STAGES] = {
    {1, 2, {{{0}, false}, {{PATH_AUTHORITY}, false}}},
    {1,
     3,
     {{{0}, false},
      {{PATH_PARAMETERS}, false},
      {{PATH_BACKSLASHES, PATH_PARAMETERS, PATH_SLASHES, PATH_DOTS}, false}}},
    [STAGE_FIRST_DECODE] =
        {3, 3, {{{0}, false}, {{PATH_DECODE_NOT_SLASHES}, false}, {{PATH_DECODE}, false}}},
    [STAGE_BETWEEN] = {1,
                       2,
                       {{{0}, false},
                        {{PATH_BACKSLASHES, PATH_PARAMETERS, PATH_SLASHES, PATH_DOTS}, false}}},
    [STAGE_SECOND_DECODE] =
        {1, 3, {{{0}, false}, {{PATH_DECODE_NOT_SLASHES}, false}, {{PATH_DECODE}, false}}},
    {1, 2, {{{0}, false}, {{PATH_CUT}, false}}},
    {2, 2, {{{0}, false}, {{PATH_BACKSLASHES}, false}}},
    {2, 2, {{{0}, false}, {{PATH_PARAMETERS}, false}}},
    {5,
     5,
     {{{0}, false},
      {{PATH_SLASHES}, false},
      {{PATH_DOTS}, false},
      {{PATH_SLASHES, PATH_DOTS}, true},
      {{PATH_DOTS, PATH_SLASHES}, true}}},
};

bool path_has_readings(struct span path)
{
    if (path.len > 0 && path.ptr[0] != '/')
        return true;
    for (size_t i = 0; i < path.len; i++) {
        char c = path.ptr[i];
        if (c == '%' || c == ';' || c == '\\' || c == '\0' || c == '#' || c == '?')
            return true;
        if (c == '/' && i + 1 < path.len && (path.ptr[i + 1] == '/' || path.ptr[i + 1] == '.'))
            return true;
    }
    return false;
}

void path_readings_init(struct path_readings *readings, struct span path, char *room,
                        enum path_breadth breadth)
{
    gw_assert(room != NULL);
    *readings = (struct path_readings){
        .path = path, .room = room, .breadth = breadth, .work_left = PATH_WORK_BYTES_MAX};
}

/* Counts on at `stage`, as an odometer does; false: all were seen. */
static bool count_on(struct path_readings *readings, size_t stage)
{
    gw_assert(stage < PATH_STAGES);
    for (size_t i = stage + 1; i < PATH_STAGES; i++)
        readings->choice[i] = 0;
    for (size_t i = stage + 1; i-- > 0;) {
        uint8_t count =
            readings->breadth == PATH_WARY ? stages[i].wary_count : stages[i].plain_count;
        gw_assert(count <= ALTERNATIVES_MAX);
        if (++readings->choice[i] < count)
            return true;
        readings->choice[i] = 0;
    }
    return false;
}

/* The stage at which to count on since this combination says nothing new;
 * PATH_STAGES: it may. */
static size_t idle_stage(const struct path_readings *readings)
{
    const uint8_t *choice = readings->choice;
    if (choice[STAGE_BETWEEN] != 0 && choice[STAGE_FIRST_DECODE] == 0)
        return STAGE_BETWEEN;
    if (choice[STAGE_SECOND_DECODE] != 0 && choice[STAGE_FIRST_DECODE] == 0)
        return STAGE_SECOND_DECODE;
    if (choice[STAGE_BETWEEN] != 0 && choice[STAGE_SECOND_DECODE] == 0)
        return STAGE_SECOND_DECODE;
    if (readings->breadth == PATH_PLAIN)
        return PATH_STAGES;
    for (size_t i = 0; i < PATH_STAGES; i++)
        if (choice[i] >= stages[i].plain_count)
            return PATH_STAGES;
    return PATH_STAGES - 1; /* a plain one: it was seen before */
}

static bool change(const struct alternative *alternative, char *path, size_t *len)
{
    bool any = false, each = true;
    for (size_t i = 0; i < STEPS_MAX && alternative->steps[i] != PATH_NOTHING; i++) {
        bool changed = path_apply((enum path_step)alternative->steps[i], path, len);
        any = any || changed;
        each = each && changed;
    }
    return alternative->each_must_change ? each : any;
}

/* Makes the chosen reading in the room. Returns the stage whose choice changed
 * nothing; PATH_STAGES: it is made. */
static size_t make_reading(struct path_readings *readings, size_t *ret_len)
{
    size_t len = readings->path.len, work = len;
    memcpy(readings->room, readings->path.ptr, len);
    size_t stage = 0;
    for (; stage < PATH_STAGES; stage++) {
        if (readings->choice[stage] == 0)
            continue;
        work += len;
        if (!change(&stages[stage].alternatives[readings->choice[stage]], readings->room, &len))
            break;
    }
    readings->work_left -= work < readings->work_left ? work : readings->work_left;
    *ret_len = len;
    return stage;
}

enum path_next path_readings_next(struct path_readings *readings, struct span *ret_reading)
{
    if (readings->path.len == 0)
        return PATH_END;
    size_t stage = PATH_STAGES - 1;
    while (count_on(readings, stage)) {
        stage = idle_stage(readings);
        if (stage < PATH_STAGES)
            continue;
        size_t len = 0;
        stage = make_reading(readings, &len);
        if (readings->work_left == 0)
            return PATH_TOO_MANY;
        if (stage < PATH_STAGES)
            continue;
        *ret_reading = span_of(readings->room, len);
        return PATH_READING;
    }
    return PATH_END;
}

/* ---- segments ---- */

bool path_next_segment(struct span path, size_t *at, struct span *ret_segment)
{
    if (path.len == 0 || path.ptr[0] != '/' || *at > path.len)
        return false;
    size_t start = *at == 0 ? 1 : *at, end = start;
    while (end < path.len && path.ptr[end] != '/')
        end++;
    *ret_segment = span_of(path.ptr + start, end - start);
    *at = end + 1;
    return true;
}

/* Empty segments do not count as depth: an upstream may merge the slashes. */
static bool climbs_as_it_stands(struct span path)
{
    struct span segment;
    size_t at = 0, depth = 0;
    while (path_next_segment(path, &at, &segment)) {
        bool up = span_equal(segment, SPAN(".."));
        if (up && depth == 0)
            return true;
        if (up)
            depth--;
        else if (segment.len > 0 && !span_equal(segment, SPAN(".")))
            depth++;
    }
    return false;
}

bool path_climbs(struct span path, char *room)
{
    static const enum path_breadth breadths[] = {PATH_PLAIN, PATH_WARY};
    if (climbs_as_it_stands(path))
        return true;
    if (!path_has_readings(path))
        return false;
    for (size_t i = 0; i < GW_COUNT(breadths); i++) {
        struct path_readings readings;
        struct span reading;
        enum path_next next;
        path_readings_init(&readings, path, room, breadths[i]);
        while ((next = path_readings_next(&readings, &reading)) == PATH_READING)
            if (climbs_as_it_stands(reading))
                return true;
        if (next == PATH_TOO_MANY)
            return true; /* as good as: nobody needs a target with so many oddities */
    }
    return false;
}

/* One byte, or an escape of a byte that cannot stand in a path by itself. */
static char take_unit(struct span segment, size_t *at)
{
    char byte;
    if (path_escape_at(segment, *at, &byte) && !path_is_plain_byte(byte) && byte != '%' &&
        !is_slash(byte)) {
        *at += 3;
        return byte;
    }
    return segment.ptr[(*at)++];
}

bool path_segment_equal(struct span a, struct span b, bool ignore_case)
{
    size_t i = 0, j = 0;
    while (i < a.len && j < b.len) {
        char x = take_unit(a, &i), y = take_unit(b, &j);
        if (ignore_case ? gw_lower(x) != gw_lower(y) : x != y)
            return false;
    }
    return i == a.len && j == b.len;
}
