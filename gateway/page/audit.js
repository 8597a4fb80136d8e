/* Who changed what and why: of one operation, one route or one upstream. */

import * as api from "./api.js";
import {el, field, replace, visible} from "./dom.js";
import {audit_table} from "./entry_parts.js";
import {go, href} from "./router.js";
import {make_frame, page_of, pager} from "./view.js";
import {number} from "./words.js";

/* "op_…" is an operation; "route:x" and "upstream:x" are subjects. */
function query_of(text) {
    return text.startsWith("op_") ? {operation: text} : {subject: text};
}

function make_search(present) {
    const subject = field("Of what", el("input", {type: "text", value: present, id: "audit-subject",
        list: "subjects", autocomplete: "off", spellcheck: "false", class: "mono"}),
    "An operation’s id, or route:NAME, or upstream:NAME.");
    const form = el("form", {role: "search", class: "filters", "aria-label": "Audit of"},
        el("div", {class: "fields"}, subject.box),
        el("div", {class: "actions"}, el("button", {type: "submit", class: "primary"}, "Show")));
    form.addEventListener("submit", (event) => {
        event.preventDefault();
        const text = subject.control.value.trim();
        if (text === "")
            subject.fail("Enter an id, route:NAME or upstream:NAME.");
        else
            go(href("audit", "", query_of(text)));
    });
    return form;
}

export function open(route) {
    const subject = route.query.get("operation") || route.query.get("subject") || "";
    const frame = make_frame("Audit", "Every verdict, pause, claim and comment, with its note. It is kept for ever.");
    const place = el("div", {});
    let shown = "";
    frame.body.replaceChildren(make_search(subject), place);

    function show(audit) {
        const newest_first = [...audit].reverse();
        const part = page_of(newest_first, route.query);
        const here = query_of(subject);
        replace(place, audit.length === 0
            ? el("div", {class: "lone"}, el("h2", {}, "Nothing on record"),
                el("p", {}, "Nobody has changed anything about ", el("b", {}, visible(subject)), " by hand."))
            : [el("p", {class: "hint"}, number(audit.length) + " entries, the newest first"),
                audit_table(part.rows, "Audit of " + visible(subject)),
                pager(part.page, part.pages, (page) => href("audit", "", {...here, page}))]);
    }

    return {
        title: "Audit",
        node: frame.node,
        filter_id: "audit-subject",
        async refresh() {
            if (subject === "")
                return;
            const pairs = new URLSearchParams(query_of(subject));
            const found = await api.get("/v1/audit?" + pairs);
            const text = JSON.stringify(found.audit);
            if (text !== shown)
                show(found.audit);
            shown = text;
        },
    };
}
