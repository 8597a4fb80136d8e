/* The verdict on one operation. It holds for the version that is shown, and nothing
 * that was typed is ever taken away by a refresh or a refusal. */

import * as api from "./api.js";
import {announce, el, field, fresh_id, visible} from "./dom.js";
import {make_response_box} from "./response_box.js";
import {why_not} from "./session.js";
import {failed_change} from "./view.js";
import {VERDICTS, VERDICT_DONE, time} from "./words.js";

const SEEN_AS = {executed: ["executed", "executed_without_response"], not_executed: ["not_executed"],
    abandoned: ["abandoned"], reopen: ["reopen"]};

function make_choices(on_change) {
    const name = fresh_id("verdict");
    const choices = Object.keys(VERDICTS).map((verdict) => {
        const input = el("input", {type: "radio", name, value: verdict, id: "verdict-" + verdict,
            required: true});
        const then = el("span", {class: "hint", id: "then-" + verdict});
        input.setAttribute("aria-describedby", then.id);
        return {verdict, input, then, box: el("div", {class: "radio"}, input,
            el("label", {for: input.id}, VERDICTS[verdict]), then)};
    });
    const node = el("fieldset", {}, el("legend", {}, "Verdict"), choices.map((choice) => choice.box));
    node.addEventListener("change", on_change);
    return {
        node,
        choices,
        value() {
            const found = choices.find((choice) => choice.input.checked && !choice.input.disabled);
            return found ? found.verdict : "";
        },
    };
}

/* What its caller gets under that verdict; null: it cannot be given now. */
function sight_of(operation, verdict, has_response) {
    const sees = operation.client_sees;
    if (!sees)
        return {text: "Its route is no longer configured: what a repeat gets is up to other routes."};
    const names = SEEN_AS[verdict];
    return sees[has_response || names.length === 1 ? names[0] : names[1]];
}

/* on_done(): the operation has changed. */
export function make_settle_box(on_done) {
    let operation = null;
    const choices = make_choices(update_choice);
    const response = make_response_box();
    const note = field("Note", el("textarea", {rows: "3", maxlength: "1000", id: "settle-note"}),
        "What you found and where. It goes into the audit with your name.");
    const force = el("input", {type: "checkbox", id: "settle-force"});
    const quiet = el("span", {});
    const force_box = el("div", {class: "radio warn-box", hidden: true}, force,
        el("label", {for: force.id}, "Go past the quiet time. ", quiet));
    const problem = el("div", {class: "refusal", role: "alert", hidden: true, id: "settle-problem"});
    const outcome = el("p", {class: "outcome", "aria-live": "polite"});
    const button = el("button", {type: "submit", class: "primary", id: "settle-send"}, "Settle");
    const refusal = el("p", {class: "refusal", hidden: true});
    const controls = el("fieldset", {class: "bare"}, choices.node, response.node, force_box, note.box,
        outcome, button);
    const form = el("form", {novalidate: true}, refusal, controls, problem);
    const title = el("h2", {id: "settle-title", tabindex: "-1"}, "Settle");
    const node = el("section", {class: "sheet settle", "aria-labelledby": "settle-title"}, title, form);
    response.node.hidden = true;
    response.node.addEventListener("change", update_choice);

    function update_choice() {
        const verdict = choices.value();
        response.node.hidden = verdict !== "executed";
        const until = operation && operation.quiet_until;
        const is_early = Boolean(until) && Date.parse(until) > Date.now();
        force_box.hidden = verdict !== "not_executed" || !(is_early || force.checked);
        if (is_early)
            quiet.replaceChildren("The request may still arrive at the upstream until ", time(until),
                ". Say in the note why it cannot.");
        const sight = verdict === "" ? null : sight_of(operation, verdict, response.is_given());
        outcome.replaceChildren(sight ? el("b", {}, "A repeat then: ") : "", sight ? sight.text : "");
        button.textContent = verdict === "reopen" ? "Reopen" : "Settle";
    }

    function update_possible() {
        for (const choice of choices.choices) {
            const sight = sight_of(operation, choice.verdict, true);
            choice.input.disabled = sight === null || sight === undefined;
            choice.then.textContent = choice.input.disabled
                ? "Not possible while it is " + visible(operation.state) + "." : "";
            choice.box.hidden = choice.input.disabled && !choice.input.checked;
        }
    }

    function fail(...content) {
        problem.replaceChildren(...content);
        problem.hidden = false;
    }

    async function look_again() {
        try {
            await on_done();
            title.focus();
        } catch (error) {
            show_refusal(error);
        }
    }

    function show_refusal(error) {
        const now = error.value && error.value.operation;
        const parts = [el("p", {}, failed_change(error, true))];
        if (now && now.version !== operation.version)
            parts.push(el("p", {}, "It is now ", el("b", {}, visible(now.state)), ", version " + now.version +
                " since ", time(now.updated_at), ". What you typed is kept. "),
                el("button", {type: "button", class: "small", id: "settle-show", on_click: look_again},
                    "Show it as it is now"));
        if (error.code === "quiet-time") {
            force_box.hidden = false;
            quiet.replaceChildren("The request may still arrive at the upstream until ",
                time(error.value.quiet_until), ". Say in the note why it cannot.");
            parts.push(el("p", {}, "Wait until then, or tick the box above if you know better."));
        }
        fail(...parts);
    }

    function read() {
        note.clear();
        problem.hidden = true;
        const verdict = choices.value();
        if (verdict === "") {
            fail(el("p", {}, "Choose a verdict."));
            return null;
        }
        const read_response = verdict === "executed" ? response.read() : {response: null};
        if (read_response === null)
            return null;
        const text = note.control.value.trim();
        if (text === "") {
            note.fail("A note is wanted: what you found, and where.");
            return null;
        }
        const body = {verdict, version: operation.version, note: text};
        if (verdict === "executed")
            body.response = read_response.response;
        if (verdict === "not_executed" && force.checked)
            body.force = true;
        return body;
    }

    async function send() {
        const body = read();
        if (body === null)
            return;
        button.disabled = true;
        try {
            await api.post(api.path_of("operations", operation.id, "settle"), body);
            note.control.value = "";
            force.checked = false;
            choices.choices.forEach((choice) => {
                choice.input.checked = false;
            });
            announce("The operation was " + VERDICT_DONE[body.verdict] + ".");
            await on_done();
        } catch (error) {
            show_refusal(error);
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
            const is_other = operation !== null && operation.version !== shown.version;
            operation = shown;
            const reason = why_not("settle");
            const is_open = Object.keys(VERDICTS).some((verdict) => sight_of(shown, verdict, true));
            controls.disabled = reason !== null || !is_open;
            refusal.hidden = !controls.disabled;
            refusal.textContent = reason || (is_open ? "" : "There is nothing to settle: it is " +
                visible(shown.state) + ".");
            controls.hidden = !is_open && note.control.value === "";
            if (is_other)
                problem.hidden = true;
            update_possible();
            update_choice();
        },
        focus() {
            const first = choices.choices.find((choice) => !choice.input.disabled);
            if (first && !controls.disabled)
                first.input.focus();
        },
    };
}
