/* The backlog over the time that the page is open: how many, and how old the oldest.
 * Samples lie in memory and are thinned out; their number is bounded. */

import {el, svg} from "./dom.js";
import {duration, local_time, number} from "./words.js";

const SAMPLES_MAX = 720;
const WIDTH = 320;
const HEIGHT = 64;

let samples = [];

/* Every other sample goes when there are too many: an hour at full detail, a night at less. */
export function add_sample(summary) {
    const at = Date.parse(summary.at);
    const oldest = summary.oldest_unknown_at ? Date.parse(summary.oldest_unknown_at) : at;
    samples.push({at, unknown: summary.unknown, age: Math.max(0, (at - oldest) / 1000)});
    if (samples.length > SAMPLES_MAX)
        samples = samples.filter((_, index) => index % 2 === 0 || index > SAMPLES_MAX - 20);
}

/* A round number at or above the value, so that the line does not touch the top. */
function ceiling(value) {
    if (value <= 4)
        return 4;
    const power = 10 ** Math.floor(Math.log10(value));
    return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value);
}

function line(pick, top) {
    const first = samples[0].at;
    const width = Math.max(1, samples[samples.length - 1].at - first);
    const points = samples.map((sample) => [
        (sample.at - first) / width * WIDTH,
        HEIGHT - pick(sample) / top * HEIGHT,
    ]);
    let path = "M0 " + points[0][1].toFixed(1);
    for (const [x, y] of points)
        path += " H" + x.toFixed(1) + " V" + y.toFixed(1);
    return path + " H" + WIDTH;
}

function figure(title, pick, write, top) {
    const last = samples[samples.length - 1];
    const first = samples[0];
    const path = line(pick, top);
    const words = title + ": " + write(pick(last)) + " now, " + write(pick(first)) + " at " +
        local_time(new Date(first.at).toISOString());
    return el("figure", {class: "chart"},
        el("figcaption", {}, title, " ", el("b", {}, write(pick(last)))),
        svg("svg", {viewBox: "0 0 " + WIDTH + " " + HEIGHT, preserveAspectRatio: "none",
            role: "img", "aria-label": words},
            svg("path", {class: "chart-grid",
                d: "M0 0.5 H" + WIDTH + " M0 " + HEIGHT / 2 + " H" + WIDTH}),
            svg("path", {class: "chart-area", d: path + " V" + HEIGHT + " H0 Z"}),
            svg("path", {class: "chart-line", d: path})),
        el("div", {class: "chart-scale", "aria-hidden": "true"},
            el("span", {}, local_time(new Date(first.at).toISOString())),
            el("span", {}, "up to " + write(top)),
            el("span", {}, local_time(new Date(last.at).toISOString()))));
}

/* Redrawn with each look: it is a picture, nobody reads inside it. */
export function draw(box) {
    if (samples.length === 0)
        return;
    const most = Math.max(...samples.map((sample) => sample.unknown));
    const oldest = Math.max(...samples.map((sample) => sample.age));
    box.replaceChildren(
        figure("Unknown", (sample) => sample.unknown, number, ceiling(most)),
        figure("Age of the oldest", (sample) => sample.age, duration,
            Math.max(60, Math.ceil(oldest / 60) * 60)));
}
