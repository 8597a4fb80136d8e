/* The parts of an operation's page that only show something. */

import * as api from "./api.js";
import {taken_back_by, takes_back} from "./compensate_box.js";
import {el, facts, fresh_id, said, table, visible, visible_lines} from "./dom.js";
import {labels_of} from "./shapes.js";
import {may} from "./session.js";
import {ENDS, PROBES, bytes, count, number, person, time} from "./words.js";

const BODY_SENT_MAX = 65536; /* bytes; the API sends no longer one */
const BODY_SHOWN_MAX = 16384; /* characters; the rest is in the download */
const STEPS_SHOWN = 50;

export function section(title, ...content) {
    const id = fresh_id("part");
    return el("section", {class: "part", "aria-labelledby": id}, el("h2", {id}, title), content);
}

export function identity(operation) {
    return facts([
        ["Labels", Object.keys(operation.labels || {}).length > 0 ? labels_of(operation) : "–"],
        ["Route", said(operation.route, "name")],
        ["Request", said(operation.method + " " + operation.target, "mono")],
        ["Owner", said(operation.owner)],
        ["Key", said(operation.key, "mono")],
        ["Operation", el("span", {class: "mono"}, operation.id)],
        takes_back(operation),
        taken_back_by(operation),
        ["Created", time(operation.created_at)],
        ["Last change", [time(operation.updated_at), ", version " + operation.version]],
        ["Asked again", operation.repeats > 0
            ? [count(operation.repeats, "time"), ", last ", time(operation.last_repeat_at)]
            : "not since it is so"],
        operation.next_attempt_at ? ["Runs next", time(operation.next_attempt_at)] : null,
        operation.expires_at ? ["Kept until", time(operation.expires_at)] : null,
    ], "wide");
}

const SIGHTS = [["now", "Now"], ["executed", "If carried out, with a response"],
    ["executed_without_response", "If carried out, response not known"],
    ["not_executed", "If not carried out"], ["abandoned", "If abandoned"],
    ["reopen", "If the verdict is taken back"]];

export function client_sees(operation) {
    const sees = operation.client_sees;
    if (!sees)
        return section("What the client sees", el("p", {}, "Its route is no longer configured: what " +
            "a repeat gets is up to the other routes."));
    const rows = SIGHTS.filter(([name]) => sees[name]).map(([name, title]) => ({title, sight: sees[name]}));
    return section("What the client sees", table("What a repeat gets now and under each verdict", [
        {name: "When", head: true, cell: (row) => row.title},
        {name: "Answer", cell: (row) => [
            row.sight.status ? el("span", {class: "status"}, row.sight.status) : null, " ",
            row.sight.code ? el("code", {}, visible(row.sight.code)) : null,
            row.sight.sent_upstream ? el("span", {class: "state state-warn"}, "Sent to the upstream")
                : row.sight.status || row.sight.code ? null : "The response you give"]},
        {name: "In words", cell: (row) => said(row.sight.text)},
    ], rows, {class: "sights"}));
}

function step_item(step) {
    return el("li", {},
        el("span", {class: "when"}, time(step.at)),
        el("div", {}, said(step.text),
            step.basis || step.line ? el("span", {class: "under"},
                step.basis ? ["Basis: ", visible(step.basis)] : null,
                step.line ? [step.basis ? ", " : "", "line " + step.line + " of the configuration"] : null)
                : null));
}

export function timeline(why) {
    const steps = why.timeline;
    const list = el("ol", {class: "timeline"}, steps.slice(-STEPS_SHOWN).map(step_item));
    const rest = steps.length - STEPS_SHOWN;
    return section("Why it is so", el("p", {}, said(why.summary)),
        rest > 0 ? el("p", {class: "hint"}, "The last " + STEPS_SHOWN + " of " + steps.length +
            " steps. All: ", el("code", {}, "recibo why " + why.id)) : null, list);
}

export function attempts(operation) {
    if (operation.attempts.length === 0)
        return section("Attempts", el("p", {}, "None: nothing was sent."));
    return section("Attempts", table("Attempts to send it", [
        {name: "Attempt", head: true, cell: (attempt) => attempt.number},
        {name: "Sent", cell: (attempt) => time(attempt.sent_at || attempt.started_at)},
        {name: "Ended", cell: (attempt) => time(attempt.ended_at)},
        {name: "How it ended", cell: (attempt) => [
            el("span", {class: "how"}, ENDS[attempt.end] || visible(attempt.end),
                attempt.status ? [" ", el("span", {class: "status"}, attempt.status)] : null),
            el("span", {class: "under"}, said(attempt.reason || attempt.end_means))]},
        {name: "Known by", cell: (attempt) => attempt.basis === "none" ? "–" : visible(attempt.basis)},
        {name: "Bytes", class: "num", cell: (attempt) => [
            number(attempt.bytes_out) + " out", el("br"), number(attempt.bytes_in) + " in"]},
        {name: "Upstream", cell: (attempt) => [said(attempt.upstream, "mono"),
            attempt.trace_id ? el("span", {class: "under"}, "trace ", said(attempt.trace_id)) : null]},
    ], operation.attempts, {class: "attempts"}));
}

export function probes(operation, actions) {
    const list = operation.probes || [];
    return section("What the upstream said when asked",
        list.length === 0 ? el("p", {}, "It was not asked.")
            : table("Probes", [
                {name: "Asked", head: true, cell: (probe) => time(probe.at)},
                {name: "Result", cell: (probe) => [
                    el("b", {}, PROBES[probe.result] || visible(probe.result)),
                    probe.status ? [" ", el("span", {class: "status"}, probe.status)] : null]},
                {name: "Reason", cell: (probe) => said(probe.reason)},
                {name: "What was asked", cell: (probe) => said(probe.target, "mono")},
                {name: "By", cell: (probe) => said(person(probe.by))},
            ], list, {class: "probes"}),
        operation.next_probe_at
            ? el("p", {class: "hint"}, "Asked again by itself ", time(operation.next_probe_at), ".") : null,
        actions);
}

function header_list(headers) {
    if (headers.length === 0)
        return el("p", {class: "hint"}, "No headers are kept.");
    return el("dl", {class: "headers"}, headers.map(([name, value]) =>
        el("div", {}, el("dt", {}, said(name)), el("dd", {}, said(value, "mono")))));
}

function download_button(operation, what, problem) {
    const button = el("button", {type: "button", class: "small", id: "download-" + what},
        "Download the " + what + " body");
    button.addEventListener("click", async () => {
        problem.hidden = true;
        try {
            await api.download(api.path_of("operations", operation.id, what),
                operation.id + "-" + what + ".bin");
        } catch (error) {
            problem.textContent = error.message;
            problem.hidden = false;
        }
    });
    return button;
}

function body_of(message) {
    if (!message.body_kept)
        return el("p", {class: "hint"}, "The body of " + bytes(message.body_bytes) + " is not kept.");
    if (message.body === null)
        return el("p", {class: "hint"}, bytes(message.body_bytes) +
            (message.body_bytes > BODY_SENT_MAX ? " are too many to show here." : " that are not text."));
    if (message.body === "")
        return el("p", {class: "hint"}, "Without a body.");
    const cut = message.body.length > BODY_SHOWN_MAX;
    return [el("pre", {tabindex: "0", role: "region", "aria-label": "Body"},
        visible_lines(cut ? message.body.slice(0, BODY_SHOWN_MAX) : message.body)),
    cut ? el("p", {class: "hint"}, "Cut after " + number(BODY_SHOWN_MAX) + " characters of " +
        bytes(message.body_bytes) + ".") : null];
}

function message_part(operation, what, message) {
    const problem = el("p", {class: "field-error", role: "alert", hidden: true});
    const title = what === "request" ? "Request" : "Response on record";
    if (!message)
        return section(title, el("p", {}, what === "request"
            ? "Nothing of it is kept. The route's “evidence” says what is." : "There is none."));
    return section(title,
        message.status ? el("p", {}, "Status ", el("span", {class: "status"}, message.status)) : null,
        header_list(message.headers), body_of(message),
        message.body_kept && message.body_bytes > 0 ? download_button(operation, what, problem) : null,
        problem);
}

export function evidence(operation) {
    if (!may("evidence"))
        return section("Request and response", el("p", {class: "refusal"},
            "Headers and bodies need the right “evidence”."));
    return [message_part(operation, "request", operation.request),
        message_part(operation, "response", operation.response)];
}

export function comment_list(operation) {
    const list = operation.comments || [];
    if (list.length === 0)
        return el("p", {}, "None yet.");
    return el("ol", {class: "comments"}, list.slice(-STEPS_SHOWN).map((comment) => el("li", {},
        el("p", {class: "by"}, el("b", {}, said(person(comment.actor))), " ", time(comment.at)),
        el("p", {class: "text"}, el("bdi", {}, visible_lines(comment.text))))));
}

export function audit_table(audit, caption) {
    return table(caption, [
        {name: "When", head: true, cell: (entry) => time(entry.at)},
        {name: "Who", cell: (entry) => said(person(entry.actor))},
        {name: "What", cell: (entry) => [said(entry.action), entry.detail
            ? el("span", {class: "under"}, said(entry.detail)) : null]},
        {name: "Note", cell: (entry) => said(entry.note)},
    ], audit, {class: "audit"});
}

export function audit(operation) {
    const list = operation.audit || [];
    return section("Audit", list.length === 0
        ? el("p", {}, "Nobody has changed anything by hand.")
        : [list.length > STEPS_SHOWN ? el("p", {class: "hint"}, "The last " + STEPS_SHOWN + " of " +
            number(list.length) + " entries; all of them under ",
        el("a", {href: "#/audit?operation=" + encodeURIComponent(operation.id)}, "Audit"), ".") : null,
        audit_table(list.slice(-STEPS_SHOWN), "Who changed what and why")]);
}
