/* The list of operations under filters, a page at a time. Its address holds all that
 * it shows. */

import * as api from "./api.js";
import {el, replace, said, table} from "./dom.js";
import {chips, filters_of, in_words, make_filters} from "./filters.js";
import {make_plan_box} from "./plan_box.js";
import {go, href} from "./router.js";
import {claimed_by, end_of, link_to, marks, probe_of} from "./shapes.js";
import {PAGE_ROWS, follow_switch, follows, make_change_bar, make_frame, seen_at} from "./view.js";
import {count, number, time} from "./words.js";

/* Where a page was come to from, while this page of the browser lives: cursor -> address. */
const came_from = new Map();

const COLUMNS = [
    {name: "Operation", head: true, cell: link_to},
    {name: "State", cell: marks},
    {name: "Route", cell: (operation) => said(operation.route, "name")},
    {name: "How it ended", cell: end_of},
    {name: "Created", cell: (operation) => time(operation.created_at)},
    {name: "Owner", cell: (operation) => said(operation.owner)},
    {name: "Asked again", class: "num", cell: (operation) =>
        operation.repeats > 0 ? number(operation.repeats) : "–"},
    {name: "Claimed", cell: claimed_by},
    {name: "Upstream asked", cell: probe_of},
];

function versions(operations) {
    return new Map(operations.map((operation) => [operation.id,
        [operation.version, operation.claimed_by, operation.probe_count].join()]));
}

function what_changed(old_rows, new_rows) {
    const before = versions(old_rows);
    const after = versions(new_rows);
    const fresh = new_rows.filter((row) => !before.has(row.id)).length;
    const gone = old_rows.filter((row) => !after.has(row.id)).length;
    const moved = new_rows.filter((row) =>
        before.has(row.id) && before.get(row.id) !== after.get(row.id)).length;
    return [fresh > 0 ? number(fresh) + " new" : "", moved > 0 ? number(moved) + " changed" : "",
        gone > 0 ? number(gone) + " no longer on this page" : ""].filter((text) => text).join(", ");
}

function links(query, next) {
    const here = location.hash;
    const at = Math.max(1, Number(query.get("page")) || 1);
    const filters = filters_of(query);
    const to = (extra) => href("operations", "", new URLSearchParams([...filters, ...extra]));
    const forward = next === null ? null : to([["cursor", next], ["page", String(at + 1)]]);
    if (forward !== null)
        came_from.set(next, here);
    const back = came_from.get(query.get("cursor"));
    if (!query.has("cursor") && next === null)
        return null;
    return el("nav", {class: "pager", "aria-label": "Pages"},
        query.has("cursor") ? el("a", {href: to([])}, "First page") : null,
        back ? el("a", {href: back, id: "previous", rel: "prev"}, "Previous page") : null,
        el("span", {}, "Page " + at),
        forward !== null ? el("a", {href: forward, id: "next", rel: "next"}, "Next page") : null);
}

function empty(filters) {
    return el("div", {class: "lone"}, el("h2", {}, "Nothing fits"),
        el("p", {}, "No operation fits ", in_words(filters), ". ",
            filters.length > 0 ? el("a", {href: href("operations")}, "Show all operations")
                : "Operations appear here once a guarded route was called."));
}

export function open(route) {
    const query = route.query;
    const filters = filters_of(query);
    const frame = make_frame("Operations", "What has a receipt, by any state.");
    const place = el("div", {}, el("p", {class: "loading"}, "Loading…"));
    const plan = make_plan_box(filters);
    const bar = make_change_bar(show);
    const pairs = new URLSearchParams([...filters, ["limit", String(PAGE_ROWS)]]);
    let shown = null;
    let newest = null;
    if (query.has("cursor"))
        pairs.append("cursor", query.get("cursor"));
    frame.tools.append(follow_switch(() => follows() && newest && show()));
    frame.body.replaceChildren(
        make_filters(query, (found) => go(href("operations", "", found))),
        plan.node, bar.node, place);

    function show() {
        shown = newest;
        bar.clear();
        const rows = shown.operations.slice(0, PAGE_ROWS);
        replace(place, chips(query), rows.length === 0 ? empty(filters) : [
            table(count(rows.length, "operation") + " on this page, as of " + seen_at(), COLUMNS, rows,
                {class: "operations", show_caption: true}),
            links(query, shown.next)]);
        plan.offer(rows.length > 0);
    }

    return {
        title: "Operations",
        node: frame.node,
        filter_id: "filter-key",
        show_changes: () => bar.is_told() && show(),
        async refresh() {
            newest = await api.get("/v1/operations?" + pairs);
            const words = shown === null ? "" : what_changed(shown.operations, newest.operations);
            if (shown === null || (words !== "" && follows()))
                show();
            else if (words === "")
                bar.clear();
            else
                bar.tell(words);
            plan.update();
        },
    };
}
