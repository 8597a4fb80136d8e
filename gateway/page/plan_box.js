/* Under the list: one verdict for all that fits the filters, first as a plan that
 * settles nothing. */

import * as api from "./api.js";
import {el, field, fresh_id} from "./dom.js";
import {in_words} from "./filters.js";
import {make_response_box} from "./response_box.js";
import {go, href} from "./router.js";
import {why_not} from "./session.js";
import {failed_change} from "./view.js";
import {VERDICTS} from "./words.js";

const OFFERED = ["executed", "not_executed", "abandoned"];

function make_verdicts(on_change) {
    const name = fresh_id("verdict");
    const radios = OFFERED.map((verdict) => {
        const input = el("input", {type: "radio", name, value: verdict, id: fresh_id("r"), required: true});
        return {input, box: el("div", {class: "radio"}, input,
            el("label", {for: input.id}, VERDICTS[verdict]))};
    });
    const node = el("fieldset", {}, el("legend", {}, "Verdict"), radios.map((radio) => radio.box));
    node.addEventListener("change", on_change);
    return {
        node,
        value() {
            const found = radios.find((radio) => radio.input.checked);
            return found ? found.input.value : "";
        },
    };
}

/* `where`: [[name, value]] as the list has them. */
export function make_plan_box(where) {
    const verdicts = make_verdicts(() => {
        response.node.hidden = verdicts.value() !== "executed";
        force_box.hidden = verdicts.value() !== "not_executed";
    });
    const response = make_response_box();
    const note = field("Note", el("textarea", {rows: "2", maxlength: "1000"}),
        "Optional here; applying the plan asks for one.");
    const force = el("input", {type: "checkbox", id: fresh_id("force")});
    const force_box = el("div", {class: "radio", hidden: true}, force, el("label", {for: force.id},
        "Also those whose quiet time is not over: their request may still arrive"));
    const problem = el("p", {class: "field-error", role: "alert", hidden: true});
    const button = el("button", {type: "submit", class: "primary"}, "Make the plan");
    const refusal = el("p", {class: "refusal", hidden: true});
    const controls = el("fieldset", {class: "bare"}, verdicts.node, response.node, force_box, note.box,
        problem, button);
    const form = el("form", {}, refusal, controls);
    const filters = where.filter(([name]) => name !== "order");
    const node = el("details", {class: "plan-box sheet", hidden: true, id: "plan-box"},
        el("summary", {}, "Settle many at once"),
        el("p", {}, "A plan for every unknown operation that fits: ",
            el("b", {}, in_words(filters)),
            ". It settles nothing yet: you see how many they are and what clients get, then decide."),
        form);
    response.node.hidden = true;

    async function make() {
        const read = verdicts.value() === "executed" ? response.read() : {response: null};
        problem.hidden = true;
        if (read === null)
            return;
        const body = {where: Object.fromEntries(filters), verdict: verdicts.value()};
        if (read.response !== null)
            body.response = read.response;
        if (force.checked && body.verdict === "not_executed")
            body.force = true;
        if (note.control.value.trim() !== "")
            body.note = note.control.value.trim();
        button.disabled = true;
        try {
            const made = await api.post("/v1/plans", body);
            go(href("plans", made.plan.id));
        } catch (error) {
            problem.textContent = failed_change(error, true);
            problem.hidden = false;
        }
        button.disabled = false;
    }

    form.addEventListener("submit", (event) => {
        event.preventDefault();
        make();
    });
    return {
        node,
        offer(has_rows) {
            const states = where.filter(([name]) => name === "state").map(([, value]) => value);
            node.hidden = !has_rows || (states.length > 0 && !states[0].split(",").includes("unknown"));
        },
        update() {
            const reason = why_not("settle");
            controls.disabled = reason !== null;
            refusal.hidden = reason === null;
            refusal.textContent = reason || "";
        },
    };
}
