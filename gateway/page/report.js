/* What the routes in observe mode saw, and what enforce would have done with it. A
 * report is work for the server: it is asked for when the reader wants one, and never
 * by itself. */

import * as api from "./api.js";
import {announce, el, facts, replace, said, table, visible_lines} from "./dom.js";
import {href} from "./router.js";
import {make_frame, page_of, pager} from "./view.js";
import {ENDS, bytes, count, duration, number, time} from "./words.js";
import * as live from "./live.js";

const SINCE = [["", "All that is kept"], ["7d", "Last 7 days"], ["24h", "Last 24 hours"], ["1h", "Last hour"]];

function milliseconds(value) {
    return value < 10000 ? number(value) + " ms" : duration(value / 1000);
}

/* ---- all routes ---- */

function columns(since) {
    return [
        {name: "Route", head: true, cell: (seen) => [
            el("a", {href: href("report", "", {route: seen.route, since}), id: "r-" + encodeURIComponent(seen.route)},
                said(seen.route, "name")),
            el("span", {class: "under"}, seen.mode === null ? "no longer configured" : said(seen.mode))]},
        {name: "Requests", class: "num", cell: (seen) => number(seen.exchanges)},
        {name: "Would be replayed", class: "num", cell: (seen) => number(seen.would_replay)},
        {name: "Ran twice", class: "num", cell: (seen) => seen.ran_twice.count > 0
            ? el("b", {class: "moved"}, number(seen.ran_twice.count)) : "–"},
        {name: "Would be unknown", class: "num", cell: (seen) => number(seen.would_be_unknown.count)},
        {name: "Would be refused", class: "num", cell: (seen) => number(seen.would_refuse.count)},
        {name: "Last", cell: (seen) => time(seen.last_at)},
    ];
}

/* ---- one route ---- */

function part(title, ...content) {
    return el("section", {class: "part"}, el("h2", {}, title), content);
}

function counted(list, name) {
    return list.length === 0 ? null : el("ul", {class: "plain under"}, list.map((item) =>
        el("li", {}, number(item.count) + " ", said(item[name], "mono"))));
}

function end_of(item) {
    return [item.end === null ? "The caller left" : ENDS[item.end] || said(item.end),
        item.status === null ? null : [" ", el("span", {class: "status"}, item.status)]];
}

function ends(list) {
    return list.length === 0 ? null : el("ul", {class: "plain under"},
        list.map((item) => el("li", {}, number(item.count) + " ", end_of(item))));
}

/* [what, how many, what it means] */
function fates_of(seen) {
    const changed = seen.would_mismatch;
    return [
        ["Sent", seen.would_send, "The first use of a key, and repeats of what was refused."],
        ["Replayed", seen.would_replay, "Repeats, answered from the record."],
        ["Pending", seen.would_be_pending, "Repeats while the first was under way."],
        ["Refused as changed", changed.count, ["The key was used for another request. ",
            changed.changed.length > 0 ? "What differed, in " + count(changed.compared, "comparison") + ":" : null,
            counted(changed.changed, "member")]],
        ["Told unknown", seen.would_hold, "Repeats of an operation whose outcome is not known."],
        ["Without their answer", seen.would_miss_answer, "Repeats of an answer over replay_body_max."],
        ["Told expired", seen.would_be_expired, "Repeats after retention."],
        ["Unknown", seen.would_be_unknown.count, ["They would wait for a person.",
            ends(seen.would_be_unknown.by)]],
        ["Refused", seen.would_refuse.count, ["The request itself.", counted(seen.would_refuse.reasons, "reason")]],
        ["Unprotected", seen.without_key, "Without a key, on a route that takes that."],
    ].map(([what, many, means]) => ({what, many, means}));
}

const FATES = [
    {name: "Would have been", head: true, cell: (row) => row.what},
    {name: "How often", class: "num", cell: (row) => row.many > 0 ? number(row.many) : "–"},
    {name: "What it means", cell: (row) => row.means},
];

const status = (value) => value === null ? "no answer" : el("span", {class: "status"}, value);

const TWICE = [
    {name: "Request", head: true, cell: (row) => said(row.method + " " + row.target, "mono")},
    {name: "First", cell: (row) => [time(row.first_at), " ", status(row.first_status)]},
    {name: "Again", cell: (row) => [time(row.again_at), " ", status(row.again_status)]},
];

const ANSWERS = [
    {name: "How it ended", head: true, cell: end_of},
    {name: "How often", class: "num", cell: (row) => number(row.count)},
];

function route_facts(seen) {
    return facts([
        ["Mode", seen.mode === null ? "no longer configured" : said(seen.mode)],
        ["Requests", number(seen.exchanges)],
        seen.first_at ? ["From", [time(seen.first_at), " to ", time(seen.last_at)]] : null,
        ["Not on record", seen.lost > 0 ? number(seen.lost) + " since the start" : "none"],
        ["Keys", [number(seen.keys) + ", of them again ", number(seen.repeated_keys)]],
        ["Callers who left", number(seen.callers_left)],
        ["Slowest answer", milliseconds(seen.slowest_answer_ms) + ", 99% within " +
            milliseconds(seen.p99_answer_ms)],
        ["Largest request", bytes(seen.largest_request_bytes)],
        ["Largest answer", bytes(seen.largest_answer_bytes)],
    ], "wide");
}

function twice_part(seen) {
    const twice = seen.ran_twice;
    return part("Carried out twice", el("p", {}, twice.count + twice.perhaps === 0
        ? "Nothing that is known of."
        : [el("b", {}, count(twice.count, "time")), ": the same key and content, and neither answer a refusal. ",
            twice.perhaps > 0 ? "Perhaps " + number(twice.perhaps) + " more, where an answer is missing." : null]),
    twice.examples.length > 0 ? table("The first that were carried out twice", TWICE, twice.examples) : null);
}

function route_parts(seen) {
    const head = el("div", {class: "slip sheet"}, el("h2", {}, said(seen.route)), route_facts(seen));
    if (seen.exchanges === 0)
        return [head, el("p", {}, "Nothing came yet.")];
    return [head,
        seen.cut ? el("p", {class: "refusal"}, "There was more than is counted here: this is a part of it.") : null,
        twice_part(seen),
        part("What enforce would have done", table("What enforce would have done", FATES, fates_of(seen))),
        seen.answers.length > 0 ? part("Answers", table("Answers by how they ended", ANSWERS, seen.answers)) : null];
}

/* ---- the view ---- */

function since_links(route, since) {
    return el("nav", {class: "pager", "aria-label": "Since when"}, SINCE.map(([value, title]) => el("a", {
        href: href("report", "", {route, since: value}), id: "since-" + (value || "all"),
        "aria-current": value === since ? "true" : null}, title)));
}

const nothing = () => el("div", {class: "lone"}, el("h2", {}, "Nothing was observed"),
    el("p", {}, "A route with “mode: observe” passes everything through and notes what enforce would " +
        "have done. None is configured so, and nothing is on record."));

function suggestion_part(text) {
    return text ? part("Suggested configuration", el("p", {class: "hint"},
        "It follows from the figures; its comments say why. The same: ", el("code", {}, "recibo report --yaml")),
    el("pre", {tabindex: "0", role: "region", "aria-label": "Suggested configuration"}, visible_lines(text)))
        : null;
}

export function open(route) {
    const name = route.query.get("route") || "";
    const since = route.query.get("since") || "";
    const pairs = new URLSearchParams([["route", name], ["since", since]].filter(([, value]) => value !== ""));
    const frame = make_frame("Observed", "What enforce would have done with what came. Nothing was held back.");
    const wait = el("p", {class: "hint"});
    let is_wanted = true;

    function again() {
        is_wanted = true;
        live.now();
    }

    function show(found) {
        const shown = found.routes.length === 1 ? found.routes : [];
        const page = page_of(found.routes, route.query);
        const hints = [
            found.lost > 0 ? count(found.lost, "request") + " could not be put on record. " : "",
            found.unreadable > 0 ? count(found.unreadable, "request") +
                " were no HTTP and are refused in every mode. " : "",
            found.cut ? "There were more routes than are counted here. " : ""].join("");
        replace(frame.body,
            since_links(name, since),
            el("p", {class: "hint"}, "As of ", time(found.at), found.since ? [", since ", time(found.since)] : null,
                ". ", hints, " ", el("button", {type: "button", class: "small", id: "report-again",
                    on_click: again}, "Look again")),
            name !== "" ? el("p", {}, el("a", {href: href("report", "", {since})}, "All observed routes")) : null,
            found.routes.length === 0 ? nothing() : null,
            found.routes.length > 1 ? [table("Observed routes", columns(since), page.rows, {class: "observed"}),
                pager(page.page, page.pages, (at) => href("report", "", {since, page: at}))] : null,
            shown.map(route_parts),
            suggestion_part(found.suggestion));
        announce("The report is there.");
    }

    return {
        title: "Observed",
        node: frame.node,
        async refresh() {
            if (!is_wanted)
                return;
            try {
                const found = await api.get("/v1/report" + (pairs.size > 0 ? "?" + pairs : ""));
                is_wanted = false;
                show(found);
            } catch (error) {
                if (error.code !== "overloaded")
                    throw error;
                wait.textContent = error.message + " It is asked for again by itself.";
                frame.body.replaceChildren(wait);
            }
        },
    };
}
