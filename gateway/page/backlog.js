/* The first view: groups of unknown operations, the largest first, and how many there
 * were in the last 24 hours. */

import * as api from "./api.js";
import {make_curves} from "./chart.js";
import {el, replace, said, table} from "./dom.js";
import * as history from "./history.js";
import {href} from "./router.js";
import {ENDS, PROBES, count, duration, number, seconds_since, time} from "./words.js";
import {follow_switch, follows, make_change_bar, make_frame, page_of, pager, seen_at} from "./view.js";

function key_of(group) {
    return encodeURIComponent(JSON.stringify([group.route, group.end, group.status]));
}

export function filter_of(group) {
    return {state: "unknown", route: group.route, end: group.end,
        status: group.status === null ? "none" : String(group.status)};
}

function probes_of(group) {
    const probes = group.probes || {};
    const words = ["executed", "absent", "unclear", "failed"].filter((name) => probes[name] > 0)
        .map((name) => el("li", {}, number(probes[name]) + " ", el("a", {
            href: href("operations", "", {...filter_of(group), probe: name}),
        }, PROBES[name])));
    return words.length > 0 ? el("ul", {class: "inline"}, words) : "–";
}

/* How many more or fewer than when the page was opened. */
function moved(group, first) {
    const before = first.get(key_of(group));
    const by = group.count - (before === undefined ? group.count : before);
    return by === 0 ? null : el("span", {class: "moved"}, (by > 0 ? "+" : "−") + number(Math.abs(by)));
}

function columns(most, first) {
    return [
        {name: "Group", head: true, cell: (group) => [
            el("a", {href: href("operations", "", filter_of(group)), id: "g-" + key_of(group)},
                said(group.route, "name")), " ",
            el("span", {class: "how"}, group.end === null ? "–" : ENDS[group.end] || said(group.end),
                group.status === null ? null : [" ", el("span", {class: "status"}, group.status)])]},
        {name: "Operations", class: "num wide-num", cell: (group) => [
            el("meter", {min: 0, max: most, value: group.count, "aria-hidden": "true"}), " ",
            el("b", {}, number(group.count)), " ", moved(group, first)]},
        {name: "Last hour", class: "num", cell: (group) =>
            group.grown_last_hour > 0 ? "+" + number(group.grown_last_hour) : "–"},
        {name: "First", cell: (group) => time(group.first_at)},
        {name: "Last", cell: (group) => time(group.last_at)},
        {name: "Asked again", class: "num", cell: (group) =>
            group.clients_waiting > 0 ? number(group.clients_waiting) : "–"},
        {name: "Claimed", class: "num", cell: (group) =>
            group.claimed > 0 ? number(group.claimed) : "–"},
        {name: "Upstream asked", cell: probes_of},
    ];
}

function what_changed(old_groups, new_groups) {
    const old_keys = new Map(old_groups.map((group) => [key_of(group), group]));
    const new_keys = new Set(new_groups.map(key_of));
    const sum = (groups) => groups.reduce((total, group) => total + group.count, 0);
    const by = sum(new_groups) - sum(old_groups);
    const fresh = new_groups.filter((group) => !old_keys.has(key_of(group))).length;
    const gone = old_groups.filter((group) => !new_keys.has(key_of(group))).length;
    const parts = [];
    if (by !== 0)
        parts.push(number(Math.abs(by)) + (by > 0 ? " more" : " fewer") + " unknown");
    if (fresh > 0)
        parts.push(count(fresh, "new group"));
    if (gone > 0)
        parts.push(count(gone, "group") + " gone");
    if (parts.length === 0 && JSON.stringify(old_groups) !== JSON.stringify(new_groups))
        parts.push("figures of some groups");
    return parts.join(", ");
}

function lead_of(summary) {
    const parts = [count(summary.unknown, "unknown operation")];
    if (summary.oldest_unknown_at)
        parts.push("the oldest for " +
            duration(seconds_since(summary.oldest_unknown_at, Date.parse(summary.at))));
    parts.push(number(summary.in_flight) + " in flight");
    if (summary.late_listening > 0)
        parts.push(count(summary.late_listening, "lost call") + " still listened for");
    return parts.join(" · ");
}

const empty = () => el("div", {class: "lone good-box"},
    el("h2", {}, "Nothing is unknown"),
    el("p", {}, "Every operation has an outcome on record. New ones appear here by themselves."),
    el("p", {}, el("a", {href: href("operations")}, "All operations")));

export function open(route) {
    const frame = make_frame("Backlog", "Operations that may have run, and whose answer was lost.");
    const curves = make_curves();
    const place = el("div", {});
    let shown = null;
    let newest = null;
    let first = null;
    const bar = make_change_bar(show);
    frame.tools.append(follow_switch(() => follows() && newest && show()));

    function show() {
        shown = newest;
        bar.clear();
        if (first === null)
            first = new Map(shown.groups.map((group) => [key_of(group), group.count]));
        const part = page_of(shown.groups, route.query);
        const most = Math.max(1, ...shown.groups.map((group) => group.count));
        replace(place, shown.groups.length === 0 ? empty() : [
            table("Groups of unknown operations, the largest first, as of " + seen_at(),
                columns(most, first), part.rows, {class: "groups", show_caption: true}),
            pager(part.page, part.pages, (page) => href("backlog", "", {page})),
            el("p", {class: "hint"}, "A group is a route, how the last attempt ended, and the " +
                "status that came. To stop sending: ", el("a", {href: href("routes")},
                "pause a route"), ".")]);
    }

    return {
        title: "Backlog",
        node: frame.node,
        show_changes: () => bar.is_told() && show(),
        filter_id: null,
        on_summary(summary) {
            frame.note.textContent = lead_of(summary);
            curves.draw();
        },
        async refresh() {
            [newest] = await Promise.all([api.get("/v1/backlog/groups"), history.look()]);
            if (shown === null) {
                frame.body.replaceChildren(bar.node, curves.node, place);
                show();
                return;
            }
            const words = what_changed(shown.groups, newest.groups);
            if (words === "")
                bar.clear();
            else if (follows())
                show();
            else
                bar.tell(words);
        },
    };
}
