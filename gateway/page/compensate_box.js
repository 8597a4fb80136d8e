/* Takes an operation back, in two steps: what it does is read before it can be sent. It
 * never says "taken back" of what was only asked for. */

import * as api from "./api.js";
import {announce, el, field, said} from "./dom.js";
import {href} from "./router.js";
import {why_not} from "./session.js";
import {failed_change} from "./view.js";
import {STATES} from "./words.js";

function link(id) {
    return el("a", {href: href("operations", id), class: "mono"}, said(id));
}

/* The other operation of the two, for the facts above. */
export function takes_back(operation) {
    return operation.compensates ? ["Takes back", link(operation.compensates)] : null;
}

export function taken_back_by(operation) {
    if (!operation.compensated_by)
        return null;
    return ["Taken back by", [link(operation.compensated_by), ", ",
        STATES[operation.compensation_state] || said(operation.compensation_state),
        operation.compensation_status
            ? [", answered ", el("span", {class: "status"}, operation.compensation_status)] : null]];
}

/* on_done(): the operation has changed. */
export function make_compensate_box(on_done) {
    let operation = null;
    const note = field("Note", el("textarea", {rows: "2", maxlength: "1000", id: "compensate-note"}),
        "Why it is taken back. It goes into the audit with your name.");
    const sure = el("input", {type: "checkbox", id: "compensate-sure"});
    const sure_box = el("div", {class: "radio warn-box"}, sure,
        el("label", {for: sure.id}, "Send it. What was sent cannot be stopped."));
    const button = el("button", {type: "submit", class: "danger", id: "compensate-send"}, "Take it back");
    const problem = el("p", {class: "refusal", role: "alert", hidden: true, id: "compensate-problem"});
    const refusal = el("p", {class: "refusal", hidden: true});
    const controls = el("fieldset", {class: "bare"}, note.box, sure_box, button);
    const form = el("form", {novalidate: true}, refusal, controls, problem);
    const node = el("details", {class: "sheet mark", id: "compensate"},
        el("summary", {}, "Take it back"),
        el("p", {class: "hint"}, "Sends to the upstream what the route's “compensate” says, once. It is an " +
            "operation of its own, with its own receipt and outcome; this one stays as it is."),
        form);

    function fail(text) {
        problem.textContent = text;
        problem.hidden = false;
    }

    async function send() {
        note.clear();
        problem.hidden = true;
        const text = note.control.value.trim();
        if (text === "") {
            note.fail("A note is wanted: why it is taken back.");
            return;
        }
        if (!sure.checked) {
            fail("Tick the box first: what was sent cannot be stopped.");
            return;
        }
        button.disabled = true;
        try {
            await api.post(api.path_of("operations", operation.id, "compensate"), {note: text});
            note.control.value = "";
            sure.checked = false;
            node.open = false;
            announce("It is on record that the operation is to be taken back.");
            await on_done();
        } catch (error) {
            fail(failed_change(error, true));
        }
        button.disabled = false;
    }

    form.addEventListener("submit", (event) => {
        event.preventDefault();
        send();
    });
    return {
        node,
        /* `shown`: the operation as the reader sees it. */
        update(shown) {
            const reason = why_not("control");
            operation = shown;
            node.hidden = !shown.may_compensate && note.control.value === "";
            controls.disabled = reason !== null || !shown.may_compensate;
            refusal.hidden = !controls.disabled;
            refusal.textContent = reason || (shown.may_compensate ? ""
                : "It cannot be taken back, or is being taken back already.");
        },
    };
}
