/* Routes and upstreams: what is paused, what is open, what is in flight; pausing and
 * resuming by hand. */

import * as api from "./api.js";
import {announce, el, field, replace, said, table, visible} from "./dom.js";
import {href} from "./router.js";
import {why_not} from "./session.js";
import {claimed_by, link_to, marks} from "./shapes.js";
import {PAGE_ROWS, failed_change, make_frame, page_of, pager} from "./view.js";
import {number, person, time} from "./words.js";
import * as live from "./live.js";

/* Asks for the note, over the page; typed text is lost only when the reader leaves it. */
function ask_for_note(kind, name, is_resume) {
    const note = field("Note", el("textarea", {rows: "3", maxlength: "1000", required: true}),
        "Why. Everybody who looks sees it.");
    const problem = el("p", {class: "refusal", role: "alert", hidden: true});
    const verb = is_resume ? "Resume" : "Pause";
    const button = el("button", {type: "submit", class: "primary"}, verb);
    const dialog = el("dialog", {"aria-labelledby": "pause-title", class: "sheet"},
        el("form", {novalidate: true},
            el("h2", {id: "pause-title"}, verb + " " + kind + " ", said(name, "name")),
            el("p", {}, is_resume ? "New operations are sent again."
                : "New operations get 503 and keep their key. Repeats are still answered, and what is " +
                  "in flight goes on."),
            note.box, problem,
            el("div", {class: "actions"}, button,
                el("button", {type: "button", on_click: () => dialog.close()}, "Leave it"))));
    dialog.addEventListener("close", () => dialog.remove());
    dialog.querySelector("form").addEventListener("submit", async (event) => {
        event.preventDefault();
        note.clear();
        if (note.control.value.trim() === "") {
            note.fail("A note is wanted.");
            return;
        }
        button.disabled = true;
        try {
            await api.post(api.path_of(kind + "s", name, is_resume ? "resume" : "pause"),
                {note: note.control.value.trim()});
            dialog.close();
            announce(kind + " " + visible(name) + (is_resume ? " is resumed." : " is paused."));
            live.now();
        } catch (error) {
            problem.textContent = failed_change(error, true);
            problem.hidden = false;
        }
        button.disabled = false;
    });
    document.body.append(dialog);
    dialog.showModal();
}

function pause_button(kind, name, is_paused) {
    const reason = why_not("control");
    return el("button", {type: "button", class: "small", id: kind + "-" + encodeURIComponent(name),
        disabled: reason !== null, title: reason,
        "aria-label": (is_paused ? "Resume " : "Pause ") + kind + " " + visible(name),
        on_click: () => ask_for_note(kind, name, is_paused)}, is_paused ? "Resume" : "Pause");
}

function pause_of(pause) {
    return pause ? [el("span", {class: "state state-warn"}, "Paused"), el("span", {class: "under"}, "by ",
        said(person(pause.actor)), " since ", time(pause.at), ": ", said(pause.note))] : null;
}

const BREAKERS = {open: "state state-bad", half_open: "state state-warn"};

/* A pause of the upstream is not taken back at the route. */
function is_paused_itself(route) {
    return Boolean(route.pause) && route.pause.route === route.name;
}

const ROUTE_COLUMNS = [
    {name: "Route", head: true, cell: (route) => [
        el("a", {href: href("operations", "", {route: route.name})}, said(route.name, "name")),
        el("span", {class: "under"}, said(route.methods.join(" ") + " " + route.path))]},
    {name: "Mode", cell: (route) => route.mode === "observe"
        ? el("a", {href: href("report", "", {route: route.name})}, "observe") : said(route.mode)},
    {name: "State", cell: (route) => pause_of(route.pause) ||
        (route.breaker === "open" ? "sends nothing new" : "takes requests")},
    {name: "Breaker", cell: (route) => el("span", {class: BREAKERS[route.breaker] || null},
        said(route.breaker.replace("_", " ")))},
    {name: "In flight", class: "num", cell: (route) =>
        number(route.in_flight) + (route.in_flight_max ? " of " + number(route.in_flight_max) : "")},
    {name: "Overdue", class: "num", cell: (route) => route.overdue > 0 ? number(route.overdue) : "–"},
    {name: "Unknown", class: "num", cell: (route) => route.unknown > 0
        ? el("a", {href: href("operations", "", {state: "unknown", route: route.name})}, number(route.unknown))
        : "–"},
    {name: "Upstream", cell: (route) => said(route.upstream, "name")},
    {name: "Action", hide_name: true, cell: (route) =>
        pause_button("route", route.name, is_paused_itself(route))},
];

function upstreams_of(found) {
    const names = new Set(found.routes.map((route) => route.upstream).filter((name) => name));
    return [...names].map((name) => ({name,
        pause: found.paused.find((pause) => pause.upstream === name) || null,
        routes: found.routes.filter((route) => route.upstream === name).length}));
}

const UPSTREAM_COLUMNS = [
    {name: "Upstream", head: true, cell: (upstream) => said(upstream.name, "name")},
    {name: "Routes", class: "num", cell: (upstream) => number(upstream.routes)},
    {name: "State", cell: (upstream) => pause_of(upstream.pause) || "takes requests"},
    {name: "Action", hide_name: true, cell: (upstream) =>
        pause_button("upstream", upstream.name, upstream.pause !== null)},
];

const FLIGHT_COLUMNS = [
    {name: "Operation", head: true, cell: link_to},
    {name: "State", cell: marks},
    {name: "Route", cell: (operation) => said(operation.route, "name")},
    {name: "Owner", cell: (operation) => said(operation.owner)},
    {name: "Since", cell: (operation) => time(operation.updated_at)},
    {name: "Claimed", cell: claimed_by},
];

export function open(route) {
    const frame = make_frame("Routes", "Pausing stops new operations; nothing that is on record is lost.");
    let shown = "";

    function show(found, flying) {
        const part = page_of(found.routes, route.query);
        const reason = why_not("control");
        replace(frame.body,
            reason === null ? null : el("p", {class: "refusal"}, reason),
            table("Routes", ROUTE_COLUMNS, part.rows, {class: "routes"}),
            pager(part.page, part.pages, (page) => href("routes", "", {page})),
            el("section", {class: "part"}, el("h2", {}, "Upstreams"),
                table("Upstreams", UPSTREAM_COLUMNS, upstreams_of(found).slice(0, PAGE_ROWS))),
            el("section", {class: "part"}, el("h2", {}, "In flight"),
                flying.length === 0 ? el("p", {}, "Nothing is under way.")
                    : table("What is under way, the oldest first", FLIGHT_COLUMNS, flying)));
    }

    return {
        title: "Routes",
        node: frame.node,
        async refresh() {
            const [found, flight] = await Promise.all([api.get("/v1/routes"),
                api.get("/v1/inflight?limit=" + PAGE_ROWS)]);
            const flying = flight.operations.slice(0, PAGE_ROWS);
            const text = JSON.stringify([found, flying, why_not("control")]);
            if (text === shown)
                return;
            shown = text;
            show(found, flying);
        },
    };
}
