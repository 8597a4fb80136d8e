/* Pauses and open breakers as lines. It must never leave one out: whoever reads that
 * a route is open stops looking.
 *
 * Ignored results: whoever flushes tells if the buffer failed. */
#include "gateway/commands/stops.h"

#include "gateway/commands/terminal.h"
#include "gateway/commands/words.h"

static void print_pauses(const json_t *paused, struct gw_buf *out)
{
    for (size_t i = 0; i < json_array_size(paused); i++) {
        const json_t *entry = json_array_get(paused, i);
        bool is_route = words_of(entry, "route").len > 0;
        terminal_print(out, STYLE_BAD, SPAN("paused:"));
        (void)gw_buf_print(out, " %s ", is_route ? "route" : "upstream");
        words_print(out, words_of(entry, is_route ? "route" : "upstream"));
        (void)gw_buf_add(out, SPAN(" by "));
        words_print(out, words_of(entry, "actor"));
        (void)gw_buf_add(out, SPAN(": "));
        words_print(out, words_of(entry, "note"));
        (void)gw_buf_byte(out, '\n');
    }
}

static void print_breaker(const json_t *route, struct gw_buf *out)
{
    struct span state = words_of(route, "breaker");
    bool is_open = span_equal(state, SPAN("open"));
    if (!is_open && !span_equal(state, SPAN("half_open")))
        return;
    terminal_print(out, STYLE_BAD, SPAN("breaker open:"));
    (void)gw_buf_add(out, SPAN(" route "));
    words_print(out, words_of(route, "name"));
    (void)gw_buf_add(out, is_open ? SPAN(": too many unknown; new operations get 503, and one is "
                                         "let through soon to see\n")
                                  : SPAN(": one operation is let through to see; its answer "
                                         "decides\n"));
}

void stops_print(const json_t *routes, struct gw_buf *out)
{
    const json_t *list = json_object_get(routes, "routes");
    print_pauses(json_object_get(routes, "paused"), out);
    for (size_t i = 0; i < json_array_size(list); i++)
        print_breaker(json_array_get(list, i), out);
}
