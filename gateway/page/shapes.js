/* How an operation looks in a table and above its own page: its state, its name, its
 * end. Shapes only. */

import {el, said, visible} from "./dom.js";
import {href} from "./router.js";
import {ENDS, PROBES, STATES, person} from "./words.js";

export function state_mark(operation) {
    return el("span", {class: "state state-" + (STATES[operation.state] ? operation.state : "other")},
        STATES[operation.state] || visible(operation.state));
}

export function marks(operation) {
    return [
        state_mark(operation),
        operation.contradicted ? [" ", el("span", {class: "state state-bad"}, "Contradicted")] : null,
        operation.cancel_requested ? [" ", el("span", {class: "state"}, "Cancel requested")] : null,
    ];
}

export function end_of(operation) {
    if (!operation.end)
        return "–";
    return el("span", {class: "how"}, ENDS[operation.end] || visible(operation.end),
        operation.status === null || operation.status === undefined ? null
            : [" ", el("span", {class: "status"}, operation.status)]);
}

export function labels_of(operation) {
    return Object.entries(operation.labels || {}).map(([name, value]) => [
        el("span", {class: "label-name"}, said(name)), " ", said(value, "label-value"), " "]);
}

/* What a person calls it: its labels, else its key. */
export function title_of(operation) {
    const labels = Object.entries(operation.labels || {});
    return labels.length > 0
        ? labels.slice(0, 2).map(([name, value]) => visible(name) + " " + visible(value)).join(", ")
        : "key " + visible(operation.key);
}

export function link_to(operation) {
    const labels = labels_of(operation);
    return [
        el("a", {href: href("operations", operation.id), id: operation.id, class: "row-link"},
            labels.length > 0 ? labels : said(operation.key)),
        el("span", {class: "under"}, said(operation.method + " " + operation.target),
            labels.length > 0 ? [" · ", said(operation.key, "mono")] : null),
    ];
}

export function probe_of(operation) {
    return operation.probe ? PROBES[operation.probe] || visible(operation.probe) : "–";
}

export function claimed_by(operation) {
    return operation.claimed_by ? said(person(operation.claimed_by), "name") : "–";
}

/* A small table of operations, as samples of something larger. */
export function sample_columns() {
    return [
        {name: "Operation", head: true, cell: link_to},
        {name: "State", cell: marks},
        {name: "Route", cell: (operation) => said(operation.route, "name")},
        {name: "How it ended", cell: end_of},
        {name: "Owner", cell: (operation) => said(operation.owner)},
    ];
}
