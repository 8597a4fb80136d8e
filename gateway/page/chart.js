/* The backlog over the last 24 hours: how many, and how old the oldest. One cursor goes
 * over both curves, by pointer or by keys; the same stands below in words and as a
 * table. Must never draw a line where nothing is known. */

import {el, replace, svg, table} from "./dom.js";
import * as history from "./history.js";
import {duration, minute, minute_text, number} from "./words.js";

const WIDTH = 1000;
const HEIGHT = 100;
const STRIP = 7;
const MINUTE_MS = 60000;
const HOUR_MS = 60 * MINUTE_MS;
const SPAN_MS_MIN = 10 * MINUTE_MS; /* less would make a mountain of a molehill */
const TICKS = [5, 15, 30, 60, 180, 360].map((minutes) => minutes * MINUTE_MS);
const TICKS_MAX = 4.5;
const TOLD_MAX = 3;
const AGES = [60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000,
    864000, 1728000, 2592000];

/* A round number at or above the value, so that the line does not touch the top. */
function number_top(value) {
    if (value <= 4)
        return 4;
    const power = 10 ** Math.floor(Math.log10(value));
    return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value);
}

function age_top(value) {
    return AGES.find((step) => step >= value) || Math.ceil(value / 864000) * 864000;
}

/* ---- shapes ---- */

function scale_of(seen) {
    const from = Math.min(seen.all[0].at, seen.now - SPAN_MS_MIN);
    const place = (at) => (at - from) / (seen.now - from);
    return {from, to: seen.now, place, x: (at) => (place(at) * WIDTH).toFixed(1)};
}

/* Steps: a figure holds until the next one. */
function paths_of(seen, scale, pick, top) {
    let line = "";
    let area = "";
    let run = null;
    const close = () => {
        if (run === null)
            return;
        line += run.path;
        area += run.path + " V" + HEIGHT + " H" + run.x + " Z";
        run = null;
    };
    for (const point of seen.all) {
        const value = pick(point);
        if (run !== null && (value === null || run.until !== point.at))
            close();
        if (value === null)
            continue;
        const y = (HEIGHT - value / top * HEIGHT).toFixed(1);
        if (run === null)
            run = {x: scale.x(point.at), path: "M" + scale.x(point.at) + " " + y};
        run.path += " V" + y + " H" + scale.x(point.until);
        run.until = point.until;
    }
    close();
    return {line, area};
}

function bars_of(spans, scale, top, bottom) {
    return spans.map(([from, until]) =>
        "M" + scale.x(from) + " " + top + " H" + scale.x(until) + " V" + bottom + " H" + scale.x(from) + " Z")
        .join(" ");
}

/* Whole hours and parts of them, by the reader's clock. */
function ticks_of(scale) {
    const span = scale.to - scale.from;
    const step = TICKS.find((each) => span / each <= TICKS_MAX) || TICKS[TICKS.length - 1];
    const shift = new Date(scale.to).getTimezoneOffset() * MINUTE_MS;
    const ticks = [];
    for (let at = Math.ceil((scale.from - shift) / step) * step + shift; at < scale.to; at += step)
        if (scale.place(at) > 0.05 && scale.place(at) < 0.95)
            ticks.push(at);
    return ticks;
}

/* ---- one curve ---- */

function make_figure(kind) {
    const value = el("b", {});
    const when = el("span", {class: "chart-when"});
    const shapes = Object.fromEntries(["gap", "grid", "area", "paused", "breaker", "line", "cursor", "dot"]
        .map((name) => [name, svg("path", {class: "chart-" + name})]));
    const top = el("span", {class: "chart-top", "aria-hidden": "true"});
    const plot = el("div", {class: "chart-plot", tabindex: "0", role: "slider", id: "chart-" + kind.name,
        "aria-roledescription": "curve", "aria-label": kind.title + " over time", "aria-valuemin": "0"},
    svg("svg", {viewBox: "0 0 " + WIDTH + " " + HEIGHT, preserveAspectRatio: "none", "aria-hidden": "true"},
        Object.values(shapes)), top);
    const scale_row = el("div", {class: "chart-scale", "aria-hidden": "true"});
    const node = el("figure", {class: "chart"},
        el("figcaption", {}, el("span", {}, kind.title), el("span", {}, value, " ", when)), plot, scale_row);
    let height = 1;

    function draw_scale(scale) {
        scale_row.replaceChildren(...ticks_of(scale).map((at) => {
            const tick = el("span", {}, minute(at));
            tick.style.left = (scale.place(at) * 100).toFixed(2) + "%";
            return tick;
        }), el("span", {class: "chart-now"}, "now"));
    }

    return {
        node,
        plot,
        draw(seen, scale) {
            height = kind.top(Math.max(0, ...seen.all.map(kind.pick).filter((each) => each !== null)));
            const paths = paths_of(seen, scale, kind.pick, height);
            const set = (name, path) => shapes[name].setAttribute("d", path);
            set("gap", bars_of(history.gaps(seen.all), scale, 0, HEIGHT));
            set("grid", ticks_of(scale).map((at) => "M" + scale.x(at) + " 0 V" + HEIGHT).join(" ") +
                " M0 0 H" + WIDTH + " M0 " + HEIGHT / 2 + " H" + WIDTH);
            set("area", paths.area);
            set("line", paths.line);
            set("paused", bars_of(history.spans(seen.all, is_paused), scale, HEIGHT - STRIP, HEIGHT));
            set("breaker", bars_of(history.spans(seen.all, has_open_breaker), scale, HEIGHT - STRIP, HEIGHT));
            top.textContent = kind.write(height);
            plot.setAttribute("aria-valuemax", seen.all.length - 1);
            draw_scale(scale);
        },
        /* Says and marks the point; `is_now`: nobody points at anything. */
        point(seen, scale, at, is_now) {
            const point = seen.all[at];
            const figure = kind.pick(point);
            const text = figure === null ? "not known" : kind.write(figure);
            value.textContent = text;
            when.replaceChildren(...(is_now ? ["now"] : [minute(point.at), held_text(point)]));
            plot.setAttribute("aria-valuenow", at);
            plot.setAttribute("aria-valuetext", text + (at === seen.all.length - 1 ? " now"
                : " at " + minute_text(point.at)) + held_text(point));
            const x = scale.x(point.at);
            shapes.cursor.setAttribute("d", is_now ? "" : "M" + x + " 0 V" + HEIGHT);
            shapes.dot.setAttribute("d", is_now || figure === null ? ""
                : "M" + x + " " + (HEIGHT - figure / height * HEIGHT).toFixed(1) + " h0");
        },
    };
}

const is_paused = (point) => point.paused > 0;
const has_open_breaker = (point) => point.breakers_open > 0 && !is_paused(point);

function held_text(point) {
    return is_paused(point) ? ", paused" : has_open_breaker(point) ? ", breaker open" : "";
}

const KINDS = [
    {name: "unknown", title: "Unknown", pick: (point) => point.unknown, write: number, top: number_top},
    {name: "age", title: "Age of the oldest", pick: (point) => point.age, write: duration, top: age_top},
];

/* ---- in words ---- */

function times_of(spans, now) {
    const told = spans.slice(-TOLD_MAX).map(([from, until], at) => [at > 0 ? ", " : "",
        minute(from), until >= now ? " until now" : [" to ", minute(until)]]);
    return spans.length > TOLD_MAX ? [told, ", and " + (spans.length - TOLD_MAX) + " times before"] : told;
}

function sentences_of(seen) {
    const most = seen.all.reduce((best, point) =>
        point.unknown !== null && point.unknown >= (best ? best.unknown : 1) ? point : best, null);
    const missing = history.gaps(seen.all);
    const paused = history.spans(seen.all, is_paused);
    const open = history.spans(seen.all, has_open_breaker);
    return [
        seen.is_cut ? "The last 24 hours. " : ["Recibo remembers since its start at ", minute(seen.since), ". "],
        most === null ? "None was unknown. " : ["Most: " + number(most.unknown) + " unknown at ",
            minute(most.at), ". "],
        missing.length > 0 ? ["No figures: ", times_of(missing, seen.now), ". "] : null,
        paused.length > 0 ? [el("span", {class: "key key-paused", "aria-hidden": "true"}),
            "Routes were paused: ", times_of(paused, seen.now), ". "] : null,
        open.length > 0 ? [el("span", {class: "key key-breaker", "aria-hidden": "true"}),
            "A breaker was open: ", times_of(open, seen.now), ". "] : null,
    ];
}

const COLUMNS = [
    {name: "At", head: true, cell: (row) => minute(row.at)},
    {name: "Unknown", class: "num", cell: (row) => row.unknown === null ? "not known" : number(row.unknown)},
    {name: "Age of the oldest", class: "num", cell: (row) => row.age === null ? "not known" : duration(row.age)},
    {name: "In flight", class: "num", cell: (row) => number(row.in_flight)},
    {name: "Held back", cell: (row) => held_text(row).slice(2) || "–"},
];

/* The last point of each hour, the newest first. */
function hours_of(seen) {
    const hour = (point) => Math.floor(point.at / HOUR_MS);
    return seen.all.filter((point, at) => at + 1 === seen.all.length || hour(point) !== hour(seen.all[at + 1]))
        .reverse();
}

/* ---- both ---- */

function nearest(seen, time) {
    let best = 0;
    seen.all.forEach((point, at) => {
        if (Math.abs(point.at - time) < Math.abs(seen.all[best].at - time))
            best = at;
    });
    return best;
}

export function make_curves() {
    const figures = KINDS.map(make_figure);
    const words = el("p", {class: "hint chart-words"});
    const hours = el("details", {class: "chart-table"}, el("summary", {}, "By the hour"), el("div", {}));
    const node = el("section", {class: "curves", "aria-label": "The backlog of the last 24 hours", hidden: true},
        figures.map((figure) => figure.node), words, hours);
    let seen = null;
    let scale = null;
    let cursor_ms = null; /* null: nobody points at anything */
    let told = "";

    function draw_cursor() {
        const at = cursor_ms === null ? seen.all.length - 1 : nearest(seen, cursor_ms);
        figures.forEach((figure) => figure.point(seen, scale, at, cursor_ms === null));
    }

    function draw_table() {
        if (hours.open && seen !== null)
            replace(hours.lastChild, table("The backlog at the end of each hour", COLUMNS, hours_of(seen)));
    }

    function move_to(time) {
        cursor_ms = time;
        if (seen !== null)
            draw_cursor();
    }

    function step(key) {
        const last = seen.all.length - 1;
        const at = cursor_ms === null ? last : nearest(seen, cursor_ms);
        const to = {ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1,
            PageDown: at - 60, PageUp: at + 60, Home: 0, End: last}[key];
        return to === undefined ? null : seen.all[Math.min(last, Math.max(0, to))].at;
    }

    for (const {plot} of figures) {
        const follow = (event) => {
            const box = plot.getBoundingClientRect();
            if (seen !== null && box.width > 0)
                move_to(scale.from + (event.clientX - box.left) / box.width * (scale.to - scale.from));
        };
        plot.addEventListener("pointermove", follow);
        plot.addEventListener("pointerdown", follow);
        plot.addEventListener("pointerleave", () => move_to(null));
        plot.addEventListener("blur", () => move_to(null));
        plot.addEventListener("keydown", (event) => {
            const time = event.key === "Escape" ? null : step(event.key);
            if (event.ctrlKey || event.altKey || event.metaKey || (time === null && event.key !== "Escape"))
                return;
            event.preventDefault();
            move_to(time);
        });
    }
    hours.addEventListener("toggle", draw_table);

    return {
        node,
        draw() {
            seen = history.points();
            node.hidden = seen === null;
            if (seen === null)
                return;
            scale = scale_of(seen);
            figures.forEach((figure) => figure.draw(seen, scale));
            draw_cursor();
            const minute_now = JSON.stringify([seen.all.length, Math.floor(seen.now / MINUTE_MS),
                seen.all[seen.all.length - 1].unknown]);
            if (minute_now === told)
                return;
            told = minute_now;
            replace(words, sentences_of(seen));
            draw_table();
        },
    };
}
