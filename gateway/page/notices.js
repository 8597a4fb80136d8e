/* What needs attention, above every view: lost connection, a store that fails, pauses,
 * open breakers, contradictions. Must never say something twice to a screen reader. */

import {Lost, Problem} from "./api.js";
import {announce, el, said} from "./dom.js";
import {href} from "./router.js";
import {count, local_time, person, time} from "./words.js";
import * as live from "./live.js";

let trouble = null; /* {since, error, next_at} */
let seen = null;    /* what the last look brought */
let shown = "";     /* as text, to know what is new */
let ticker = 0;
let count_down = () => {}; /* of the notice that is shown */

function notice(kind, word, ...rest) {
    return el("li", {class: "notice " + kind}, el("b", {class: "notice-word"}, word), " ",
        el("span", {}, rest));
}

const KINDS = {
    lost: {word: "Offline", text: "No connection to Recibo since "},
    problem: {word: "Trouble", text: "Recibo cannot answer since ", shows_message: true},
    mistake: {word: "Mistake", text: "This page has failed; reloading it may help. Since "},
};

function kind_of(error) {
    return error instanceof Lost ? "lost" : error instanceof Problem ? "problem" : "mistake";
}

function trouble_notice() {
    const left = el("span", {"aria-hidden": "true"});
    count_down = () => {
        const seconds = trouble === null ? 0 : Math.max(0, Math.ceil((trouble.next_at - Date.now()) / 1000));
        left.textContent = seconds > 0 ? "Next try in " + seconds + " s. " : "Trying… ";
    };
    clearInterval(ticker);
    ticker = setInterval(() => trouble === null ? clearInterval(ticker) : count_down(), 1000);
    count_down();
    const kind = KINDS[kind_of(trouble.error)];
    return notice("bad", kind.word, kind.text, time(new Date(trouble.since).toISOString()), ". ",
        kind.shows_message ? [said(trouble.error.message), " "] : "", "What you see may be old. ", left,
        el("button", {type: "button", id: "try-now", class: "small", on_click: () => live.now()},
            "Try now"));
}

function pause_notice(pause) {
    const what = pause.route !== undefined ? "route" : "upstream";
    return notice("warn", "Paused", what, " ", said(pause[what], "name"), " by ",
        said(person(pause.actor)), " since ", time(pause.at), ": ", said(pause.note), ". ",
        el("a", {href: href("routes")}, "Resume"));
}

/* Routes whose breaker does not let everything through. */
function breaker_notices(routes) {
    return routes.filter((route) => route.breaker === "open" || route.breaker === "half_open")
        .map((route) => notice("warn",
            route.breaker === "open" ? "Breaker open" : "Breaker half open",
            "route ", said(route.name, "name"),
            route.breaker === "open" ? " sends nothing new: too many outcomes were lost. "
                : " lets one operation through to try. ",
            el("a", {href: href("routes")}, "Routes")));
}

function all() {
    const items = [];
    if (trouble !== null)
        items.push(trouble_notice());
    if (seen === null)
        return items;
    if (seen.not_ready !== null)
        items.push(notice("bad", "Not ready", said(seen.not_ready)));
    if (seen.contradicted > 0)
        items.push(notice("bad", "Contradicted",
            seen.contradicted_more ? "more than " : "",
            count(seen.contradicted, "operation"),
            ": evidence came against a verdict. Something may have run twice. ",
            el("a", {href: href("operations", "", {contradicted: "true"})}, "Look")));
    if (seen.summary.draining)
        items.push(notice("warn", "Shutting down", "Recibo takes no new connections."));
    seen.summary.paused.slice(0, 20).forEach((pause) => items.push(pause_notice(pause)));
    breaker_notices(seen.routes).slice(0, 20).forEach((item) => items.push(item));
    return items;
}

/* The words alone; times and countdowns are no news. */
function in_words(items) {
    return items.map((item) => {
        const copy = item.cloneNode(true);
        copy.querySelectorAll("time, button, a, [aria-hidden]").forEach((part) => part.remove());
        return copy.textContent;
    }).join("\n");
}

function draw() {
    const box = document.getElementById("notices");
    const items = all();
    const words = in_words(items);
    if (words === shown)
        return;
    const fresh = words.split("\n").filter((text) => !shown.split("\n").includes(text));
    const held = box.contains(document.activeElement) ? document.activeElement.id : "";
    shown = words;
    box.hidden = items.length === 0;
    box.replaceChildren(el("ul", {}, items));
    if (held !== "")
        (document.getElementById(held) || document.getElementById("main")).focus();
    if (fresh.join("") !== "")
        announce(fresh.join(" "));
}

/* found: {summary, routes, not_ready, contradicted, contradicted_more} */
export function show(found) {
    seen = found;
    draw();
}

/* error null: the connection is well (again). */
export function connection(error, next_at) {
    const was = trouble;
    if (error === null) {
        trouble = null;
        draw();
        if (was !== null)
            announce("Connected again at " + local_time(new Date().toISOString()) + ".");
        return;
    }
    if (error instanceof Problem && error.status < 500)
        return; /* an answer to this view alone; it is shown there */
    trouble = {since: was === null ? Date.now() : was.since, error, next_at};
    if (was !== null && kind_of(was.error) === kind_of(error))
        count_down();
    else
        draw();
}

export function paused_names() {
    return seen === null ? [] : seen.summary.paused;
}
