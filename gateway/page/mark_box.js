/* Says that an operation was found twice, or that something about it does not fit. It
 * marks and settles nothing; it holds for the version that is shown. */

import * as api from "./api.js";
import {announce, el, field} from "./dom.js";
import {why_not} from "./session.js";
import {failed_change} from "./view.js";

const STATES = ["unknown", "pending", "completed", "released", "cancelled", "abandoned"];

/* What follows from the mark, besides that everybody sees it. */
function then_of(operation) {
    if (operation.state === "released" || operation.state === "cancelled" || operation.phase === "deferred")
        return "It becomes unknown again, and its key is held: a repeat is not sent.";
    return "It stays " + operation.state + ".";
}

/* on_done(): the operation has changed. */
export function make_mark_box(on_done) {
    let operation = null;
    const note = field("Note", el("textarea", {rows: "2", maxlength: "1000", id: "mark-note"}),
        "What you found and where. It goes into the audit with your name.");
    const then = el("p", {class: "hint"});
    const button = el("button", {type: "submit", class: "danger", id: "mark-send"}, "Mark as contradicted");
    const problem = el("p", {class: "refusal", role: "alert", hidden: true, id: "mark-problem"});
    const refusal = el("p", {class: "refusal", hidden: true});
    const controls = el("fieldset", {class: "bare"}, note.box, then, button);
    const form = el("form", {novalidate: true}, refusal, controls, problem);
    const node = el("details", {class: "sheet mark", id: "mark"},
        el("summary", {}, "Found twice / contradiction"),
        el("p", {class: "hint"}, "For what does not fit: it was carried out twice, or against what is on " +
            "record. It settles nothing: it says above every view that somebody has to look."),
        form);

    async function send() {
        note.clear();
        problem.hidden = true;
        const text = note.control.value.trim();
        if (text === "") {
            note.fail("A note is wanted: what you found, and where.");
            return;
        }
        button.disabled = true;
        try {
            await api.post(api.path_of("operations", operation.id, "contradiction"),
                {version: operation.version, note: text});
            note.control.value = "";
            node.open = false;
            announce("The operation is marked as contradicted.");
            await on_done();
        } catch (error) {
            problem.textContent = failed_change(error, true);
            problem.hidden = false;
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
            const reason = why_not("settle");
            if (operation !== null && operation.version !== shown.version)
                problem.hidden = true;
            operation = shown;
            node.hidden = !STATES.includes(shown.state) && note.control.value === "";
            controls.disabled = reason !== null;
            refusal.hidden = reason === null;
            refusal.textContent = reason || "";
            then.textContent = (shown.contradicted ? "It is marked already. " : "") + then_of(shown);
        },
    };
}
