/* How the backlog went in the last 24 hours, as Recibo remembers it: asked for once in
 * whole, then for what is new. Must never invent a figure: a gap stays one. */

import * as api from "./api.js";

const DAY_MS = 24 * 3600 * 1000;
const SAMPLES_MAX = 3000; /* twice what the server keeps: a clock that was set back */
const GAP_STEPS = 2.5;    /* so many steps without a sample are a gap */
const LATE_MS = 1500;     /* a sample is there a moment after its minute began */

let known = null;   /* {since_ms, every_ms, samples} */
let latest = null;  /* the newest summary, as a sample */

function sample_of(found) {
    const at = Date.parse(found.at);
    const oldest = found.oldest_unknown_at ? Date.parse(found.oldest_unknown_at) : at;
    return {at, unknown: found.unknown, age: found.unknown === null ? null : Math.max(0, (at - oldest) / 1000),
        in_flight: found.in_flight, paused: found.paused, breakers_open: found.breakers_open};
}

async function ask(query) {
    const found = await api.get("/v1/history" + query);
    return {since_ms: Date.parse(found.since), every_ms: found.every_ms, at: Date.parse(found.at),
        samples: found.samples.map(sample_of)};
}

function is_due() {
    const last = known.samples[known.samples.length - 1];
    const now = latest === null ? known.at : Math.max(known.at, latest.at);
    return last === undefined || now >= last.at + known.every_ms + LATE_MS;
}

/* After a restart Recibo remembers nothing of before, and so does the page. */
export async function look() {
    if (known !== null && !is_due())
        return;
    const last = known && known.samples[known.samples.length - 1];
    let found = await ask(last ? "?after=" + encodeURIComponent(new Date(last.at).toISOString()) : "");
    if (last && found.since_ms !== known.since_ms)
        found = await ask("");
    else if (last)
        found.samples = [...known.samples, ...found.samples];
    found.samples = found.samples.filter((sample) => sample.at > found.at - DAY_MS).slice(-SAMPLES_MAX)
        .sort((a, b) => a.at - b.at);
    known = found;
}

/* What is so now. */
export function take_summary(summary, routes) {
    latest = sample_of({...summary, paused: summary.paused.length,
        breakers_open: routes.filter((route) => route.breaker === "open").length});
}

/* What a curve is drawn from; null: nothing is known yet. Each point holds until
 * `until`; where the next one begins later, nothing is known between. */
export function points() {
    if (known === null || latest === null)
        return null;
    const samples = known.samples.filter((sample) => sample.at < latest.at);
    const all = [...samples, latest].map((sample) => ({...sample, until: sample.at}));
    for (let at = 0; at + 1 < all.length; at++) {
        const next = all[at + 1].at;
        all[at].until = next - all[at].at > known.every_ms * GAP_STEPS ? all[at].at + known.every_ms : next;
    }
    return {all, now: latest.at, since: known.since_ms, is_cut: known.since_ms < latest.at - DAY_MS};
}

/* Times in which something was so: [[from, until]]. */
export function spans(all, is_so) {
    const found = [];
    for (const point of all) {
        const last = found[found.length - 1];
        if (!is_so(point))
            continue;
        if (last && last[1] === point.at)
            last[1] = point.until;
        else
            found.push([point.at, point.until]);
    }
    return found;
}

/* Times in which nothing is known. */
export function gaps(all) {
    const found = spans(all, (point) => point.unknown === null);
    all.forEach((point, at) => {
        if (at + 1 < all.length && point.until < all[at + 1].at)
            found.push([point.until, all[at + 1].at]);
    });
    return found.sort((a, b) => a[0] - b[0]);
}
