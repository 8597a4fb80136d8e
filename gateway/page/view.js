/* What every view has: a heading, a place for its content, words for what went wrong,
 * and the bar that tells of changes without touching what is being read. */

import {Lost} from "./api.js";
import {announce, el, fresh_id} from "./dom.js";
import {local_time} from "./words.js";

const FOLLOW = "recibo.follow";
export const PAGE_ROWS = 50; /* never more rows of one table in the page */

export function make_frame(title, lead) {
    const heading = el("h1", {id: "heading", tabindex: "-1"}, title);
    const tools = el("div", {class: "tools"});
    const note = el("p", {class: "lead"}, lead);
    const body = el("div", {class: "body"}, el("p", {class: "loading"}, "Loading…"));
    const node = el("div", {class: "view"},
        el("div", {class: "view-head"}, el("div", {}, heading, note), tools), body);
    return {node, heading, note, tools, body};
}

/* An error as a person reads it: what happened and what to do. */
export function in_words(error) {
    if (error instanceof Lost)
        return "There is no connection to Recibo. It is tried again by itself.";
    if (error.status === 403)
        return error.message;
    if (error.status === 404)
        return error.message + " It may have been forgotten after its time, or the address is " +
            "mistyped.";
    return error.message;
}

export function error_box(error) {
    return el("div", {class: "lone bad-box", role: "alert"},
        el("h2", {}, error instanceof Lost ? "No connection" : "This cannot be shown"),
        el("p", {}, in_words(error)),
        el("p", {}, el("a", {href: "#/"}, "Back to the backlog")));
}

/* After a change whose answer was lost the reader has to know what is sure. */
export function failed_change(error, is_safe_again) {
    if (!(error instanceof Lost))
        return error.message;
    return "The connection was lost before the answer came: it may have been done. " +
        (is_safe_again ? "Sending it again is safe: it is done at most once."
            : "Look before you send it again.");
}

export function follows() {
    try {
        return sessionStorage.getItem(FOLLOW) === "yes";
    } catch (error) {
        return false;
    }
}

function set_follows(value) {
    try {
        sessionStorage.setItem(FOLLOW, value ? "yes" : "no");
    } catch (error) {
        /* Storage is off: the choice holds for nothing then. */
    }
}

/* The choice to let lists renew themselves. */
export function follow_switch(on_change) {
    const box = el("input", {type: "checkbox", id: "follow", checked: follows()});
    box.addEventListener("change", () => {
        set_follows(box.checked);
        on_change();
    });
    return el("label", {class: "switch", for: "follow"}, box, " Show changes at once");
}

/* "Changed since you opened it: 3 new. [Show]" */
export function make_change_bar(on_show) {
    const text = el("span", {});
    const button = el("button", {type: "button", id: fresh_id("show"), class: "small primary"},
        "Show");
    const node = el("div", {class: "change-bar", hidden: true},
        el("b", {}, "Changed since you opened it: "), text, " ", button);
    const clear = () => {
        node.hidden = true;
        text.textContent = "";
    };
    button.addEventListener("click", () => on_show());
    return {
        node,
        button,
        clear,
        is_told: () => !node.hidden,
        tell(words) {
            if (words === text.textContent)
                return;
            text.textContent = words;
            node.hidden = false;
            announce("Changed since you opened it: " + words);
        },
    };
}

export function seen_at() {
    return local_time(new Date().toISOString());
}

/* Rows `from` to `from + PAGE_ROWS` of a long list, with links to the others. */
export function page_of(rows, query) {
    const pages = Math.max(1, Math.ceil(rows.length / PAGE_ROWS));
    const page = Math.min(pages, Math.max(1, Number(query.get("page")) || 1));
    return {page, pages, rows: rows.slice((page - 1) * PAGE_ROWS, page * PAGE_ROWS)};
}

export function pager(page, pages, link) {
    if (pages <= 1)
        return null;
    return el("nav", {class: "pager", "aria-label": "Pages"},
        page > 1 ? el("a", {href: link(page - 1), id: "previous", rel: "prev"}, "Previous page") : null,
        el("span", {}, "Page " + page + " of " + pages),
        page < pages ? el("a", {href: link(page + 1), id: "next", rel: "next"}, "Next page") : null);
}
