/* Begins: signs in, reads the address, opens the view, and looks again and again. The
 * page uses the public API alone; whatever it does, curl can do. */

import * as api from "./api.js";
import * as audit from "./audit.js";
import * as backlog from "./backlog.js";
import {el, said} from "./dom.js";
import * as entry from "./entry.js";
import * as history from "./history.js";
import * as keys from "./keys.js";
import * as list from "./list.js";
import * as live from "./live.js";
import * as notices from "./notices.js";
import * as plans from "./plans.js";
import * as report from "./report.js";
import * as router from "./router.js";
import * as routes from "./routes.js";
import * as session from "./session.js";
import {error_box, make_frame} from "./view.js";

const CONTRADICTED_MAX = 100;
const NAV = [["backlog", "Backlog"], ["operations", "Operations"], ["plans", "Plans"],
    ["routes", "Routes"], ["audit", "Audit"], ["report", "Observed"]];

let view = null;
let summary = null;
let offered = "";
let observes = false; /* is there a route in observe mode? */
let is_begun = false;

function draw_nav(open) {
    document.getElementById("nav").replaceChildren(el("ul", {},
        NAV.filter(([name]) => name !== "report" || observes || open === name).map(([name, title]) =>
            el("li", {id: "nav-" + name}, el("a", {href: router.href(name),
                "aria-current": name === open ? "page" : null}, title)))));
}

/* Only the link that is new is added: what has the focus keeps it. */
function offer_report(found) {
    const is_so = found.some((route) => route.mode === "observe");
    if (is_so === observes)
        return;
    observes = is_so;
    const link = document.getElementById("nav-report");
    const is_open = router.parse(location.hash).view === "report";
    if (is_so && link === null)
        document.querySelector("#nav ul").append(el("li", {id: "nav-report"},
            el("a", {href: router.href("report")}, "Observed")));
    else if (!is_so && link !== null && !is_open)
        link.remove();
}

function draw_who() {
    const me = session.me();
    document.getElementById("who").replaceChildren(
        me === null ? "" : el("span", {title: "Rights: " + (me.rights.join(", ") || "none")}, said(me.name)),
        el("button", {type: "button", class: "small plain", id: "show-keys", "aria-label": "Shortcuts",
            on_click: keys.show_list}, "?"),
        api.has_token() ? el("button", {type: "button", class: "small plain", id: "sign-out",
            on_click: session.sign_out}, "Sign out") : "");
}

function make_view(route) {
    switch (route.view) {
    case "backlog":
        return backlog.open(route);
    case "operations":
        return route.id === "" ? list.open(route) : entry.open(route);
    case "plans":
        return plans.open(route);
    case "routes":
        return routes.open(route);
    case "audit":
        return audit.open(route);
    case "report":
        return report.open(route);
    default:
        return open_nothing();
    }
}

function open_nothing() {
    const frame = make_frame("No such view", "");
    frame.body.replaceChildren(el("p", {}, "The address leads nowhere. ",
        el("a", {href: "#/"}, "Back to the backlog")));
    return {title: "No such view", node: frame.node, refresh: async () => {}};
}

/* The heading takes the focus, so that a screen reader begins there. */
function show_view() {
    const route = router.parse(location.hash);
    view = make_view(route);
    draw_nav(route.view);
    document.title = view.title + " – Recibo";
    document.getElementById("main").replaceChildren(view.node);
    if (is_begun)
        document.getElementById("heading").focus({preventScroll: true});
    window.scrollTo(0, 0);
    if (summary !== null && view.on_summary)
        view.on_summary(summary);
    is_begun = true;
    live.now();
}

/* What the filters offer while somebody types. */
function offer_names(found) {
    const routes = found.filter((route) => route.mode !== "pass").map((route) => route.name);
    const upstreams = [...new Set(found.map((route) => route.upstream).filter((name) => name))];
    const words = JSON.stringify([routes, upstreams]);
    if (words === offered)
        return;
    offered = words;
    document.getElementById("route-names").replaceChildren(
        ...routes.map((name) => el("option", {value: name})));
    document.getElementById("subjects").replaceChildren(
        ...routes.map((name) => el("option", {value: "route:" + name})),
        ...upstreams.map((name) => el("option", {value: "upstream:" + name})));
}

async function look_around() {
    const [found, of_routes, marked, not_ready] = await Promise.all([api.get("/v1/summary"),
        api.get("/v1/routes"),
        api.get("/v1/operations?contradicted=true&limit=" + CONTRADICTED_MAX),
        api.why_not_ready()]);
    summary = found;
    history.take_summary(summary, of_routes.routes);
    offer_names(of_routes.routes);
    offer_report(of_routes.routes);
    notices.show({summary, routes: of_routes.routes, not_ready,
        contradicted: marked.operations.length, contradicted_more: marked.next !== null});
    if (view.on_summary)
        view.on_summary(summary);
}

/* What the view cannot show is said in its place; the rest goes on. */
async function look_at_view() {
    const asked = view;
    try {
        await asked.refresh();
        asked.is_loaded = true;
    } catch (error) {
        if (error instanceof api.Problem && error.status < 500 && error.status !== 401) {
            if (!asked.is_loaded)
                asked.node.querySelector(".body").replaceChildren(error_box(error));
            return;
        }
        throw error;
    }
}

async function look() {
    if (!session.may("read")) {
        const frame = make_frame("Nothing to see", "");
        frame.body.replaceChildren(el("p", {class: "refusal"}, session.why_not("read")));
        document.getElementById("main").replaceChildren(frame.node);
        return;
    }
    await look_at_view();
    await look_around();
}

function begin() {
    draw_who();
    live.begin(look, notices.connection);
    window.addEventListener("hashchange", show_view);
    keys.begin(() => view);
    show_view();
}

function ask_again() {
    live.stop();
    session.ask_to_sign_in("The session is over, or the token is no longer taken. Sign in to go on; " +
        "what you typed is still there.", () => {
        draw_who();
        live.go_on();
    });
}

async function enter() {
    draw_nav("");
    let failed;
    try {
        failed = await session.begin();
    } catch (error) {
        notices.connection(error, Date.now() + 2000);
        setTimeout(enter, 2000);
        return;
    }
    notices.connection(null, 0);
    api.on_refused(ask_again);
    if (failed === null)
        begin();
    else
        session.ask_to_sign_in(failed, begin);
}

enter();
