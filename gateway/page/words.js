/* The words of the page: states, ends, verdicts, times. Must never show a time
 * without its UTC form at hand. */

import {el} from "./dom.js";

export const STATES = {
    unknown: "Unknown",
    pending: "Pending",
    completed: "Completed",
    released: "Released",
    cancelled: "Cancelled",
    abandoned: "Abandoned",
    expired: "Expired",
};

/* The closed vocabulary of ends, in the page's words. */
export const ENDS = {
    dns_failed: "Name not resolved",
    connect_refused: "Connection refused",
    connect_timeout: "No connection in time",
    tls_failed: "TLS failed",
    stale_connection: "Kept connection was closed",
    queue_timeout: "No free connection in time",
    answered: "Answered",
    send_stalled: "Upstream stopped reading",
    answer_timeout: "No complete answer in time",
    idle_timeout: "Answer stood still",
    closed_no_answer: "Closed without an answer",
    reset_no_answer: "Reset without an answer",
    cut_answer: "Answer cut off",
    bad_answer: "Answer not well-formed",
    answer_too_large: "Answer too large",
    drained: "Recibo was stopped",
    crashed: "Recibo died",
};

export const VERDICTS = {
    executed: "It was carried out",
    not_executed: "It was not carried out",
    abandoned: "It cannot be found out",
    reopen: "Take the verdict back",
};

export const VERDICT_DONE = {
    executed: "settled as carried out",
    not_executed: "settled as not carried out",
    abandoned: "abandoned",
    reopen: "reopened",
};

export const PROBES = {
    executed: "ran",
    absent: "not there",
    unclear: "unclear",
    failed: "no answer",
    none: "not asked",
};

export const PLAN_STATES = {
    draft: "Not applied yet",
    waiting: "Waiting to take effect",
    applying: "Being applied",
    done: "Applied",
    stopped: "Stopped",
    expired: "Expired",
};

const whole = new Intl.NumberFormat("en");

export function number(value) {
    return whole.format(value);
}

/* "1 operation", "3,812 operations" */
export function count(value, one, many) {
    return number(value) + " " + (value === 1 ? one : many || one + "s");
}

/* 1024-based, as the configuration writes them. */
export function bytes(value) {
    const units = ["B", "KiB", "MiB", "GiB"];
    let size = value;
    let unit = 0;
    while (size >= 1024 && unit < units.length - 1) {
        size /= 1024;
        unit++;
    }
    return (unit === 0 ? size : size.toFixed(size < 10 ? 1 : 0)) + " " + units[unit];
}

const SPANS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

/* "41 min", "3 h 12 min": two units at most. */
export function duration(seconds) {
    let rest = Math.max(0, Math.floor(seconds));
    const parts = [];
    for (const [unit, size] of SPANS) {
        const of_unit = Math.floor(rest / size);
        if (of_unit > 0 && parts.length < 2)
            parts.push(of_unit + " " + unit);
        else if (parts.length > 0)
            break;
        rest -= of_unit * size;
    }
    return parts.length > 0 ? parts.join(" ") : "0 s";
}

export function seconds_since(iso, now_ms) {
    return (now_ms - Date.parse(iso)) / 1000;
}

const clock = new Intl.DateTimeFormat(undefined,
    {hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23"});
const short_clock = new Intl.DateTimeFormat(undefined,
    {hour: "2-digit", minute: "2-digit", hourCycle: "h23"});
const day_and_clock = new Intl.DateTimeFormat(undefined,
    {month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit",
        hourCycle: "h23"});
const year_too = new Intl.DateTimeFormat(undefined,
    {year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit",
        hourCycle: "h23"});

/* Local and short; the day only where it is another one than today. */
export function local_time(iso) {
    const date = new Date(iso);
    const today = new Date();
    if (date.toDateString() === today.toDateString())
        return clock.format(date);
    return date.getFullYear() === today.getFullYear() ? day_and_clock.format(date)
        : year_too.format(date);
}

/* "03:12": for times of the last day. */
export function minute_text(ms) {
    return short_clock.format(ms);
}

export function minute(ms) {
    const iso = new Date(ms).toISOString();
    return el("time", {datetime: iso, title: iso + " (UTC)"}, minute_text(ms));
}

/* A time for people, with the one for the log at hand. */
export function time(iso, without) {
    if (!iso)
        return without === undefined ? "–" : without;
    return el("time", {datetime: iso, title: iso + " (UTC)"}, local_time(iso));
}

/* "token:ana" is who is named ana. */
export function person(actor) {
    return actor.startsWith("token:") ? actor.slice(6) : actor;
}
