/* One operation: what happened, what its client sees, who is on it, and the verdict.
 * What is shown stays until the reader asks for what is new. */

import * as api from "./api.js";
import {make_compensate_box} from "./compensate_box.js";
import {announce, el, field, replace, said, visible} from "./dom.js";
import * as parts from "./entry_parts.js";
import {make_mark_box} from "./mark_box.js";
import {href} from "./router.js";
import {me, why_not} from "./session.js";
import {make_settle_box} from "./settle_box.js";
import {marks, title_of} from "./shapes.js";
import {error_box, failed_change, make_change_bar, make_frame} from "./view.js";
import {STATES, count, person, time} from "./words.js";

/* What a reader has to know before he acts on what he sees. */
function what_changed(old, now) {
    const told = [];
    if (old.state !== now.state)
        told.push("state " + (STATES[old.state] || old.state) + " → " + (STATES[now.state] || now.state));
    if (old.contradicted !== now.contradicted)
        told.push(now.contradicted ? "it is contradicted" : "it is no longer contradicted");
    if (old.claimed_by !== now.claimed_by)
        told.push(now.claimed_by ? "claimed by " + visible(person(now.claimed_by)) : "nobody claims it any more");
    if (old.probe_count !== now.probe_count)
        told.push("the upstream was asked");
    if (old.repeats !== now.repeats)
        told.push("asked again " + count(now.repeats, "time"));
    if (old.compensated_by !== now.compensated_by || old.compensation_state !== now.compensation_state)
        told.push("taking it back: " + (STATES[now.compensation_state] || now.compensation_state));
    if ((old.comments || []).length !== (now.comments || []).length)
        told.push("new comments");
    if (old.audit.length !== now.audit.length && told.length === 0)
        told.push("new audit entries");
    if (told.length === 0 && old.version !== now.version)
        told.push("version " + old.version + " → " + now.version);
    return told.join(", ");
}

/* A button that does one call and says what became of it. */
function act(label, id, right, fn) {
    const problem = el("span", {class: "field-error", role: "alert", hidden: true});
    const button = el("button", {type: "button", id, class: "small"}, label);
    const reason = why_not(right);
    button.disabled = reason !== null;
    button.addEventListener("click", async () => {
        problem.hidden = true;
        button.disabled = true;
        try {
            await fn();
        } catch (error) {
            problem.textContent = failed_change(error, true);
            problem.hidden = false;
        }
        button.disabled = false;
    });
    return el("span", {class: "act"}, button,
        reason === null ? null : el("span", {class: "hint"}, reason), problem);
}

function claim_part(operation, change) {
    const path = api.path_of("operations", operation.id, "claim");
    const holder = operation.claimed_by;
    const is_mine = holder && me() && holder === me().actor;
    const text = !holder ? "Nobody is on it."
        : [is_mine ? "You are on it" : [said(person(holder), "name"), " is on it"], " since ",
            time(operation.claimed_at), "."];
    const button = !holder ? act("I am on it", "claim", "settle", () => change(path, {}, "You are on it now."))
        : is_mine ? act("Give it back", "claim", "settle", () =>
            change(path, {release: true}, "Nobody is on it now."))
            : act("Take it over", "claim", "settle", () =>
                change(path, {take_over: true}, "You are on it now."));
    return el("div", {class: "claim"}, el("span", {}, text), " ",
        operation.state === "unknown" || operation.contradicted || is_mine ? button : null);
}

function probe_button(operation, change) {
    if (operation.state !== "unknown")
        return null;
    return act("Ask the upstream now", "probe", "settle", () =>
        change(api.path_of("operations", operation.id, "probe"), {},
            "The upstream is being asked. The result comes by itself."));
}

function make_comment_form(id, on_done) {
    const text = field("Comment", el("textarea", {rows: "2", maxlength: "1000", id: "comment-text"}));
    const button = el("button", {type: "submit", class: "small"}, "Comment");
    const problem = el("p", {class: "field-error", role: "alert", hidden: true});
    const reason = el("p", {class: "refusal", hidden: true});
    const controls = el("fieldset", {class: "bare"}, text.box, problem, button);
    const form = el("form", {novalidate: true}, reason, controls);
    form.addEventListener("submit", async (event) => {
        event.preventDefault();
        text.clear();
        problem.hidden = true;
        if (text.control.value.trim() === "") {
            text.fail("Write something first.");
            return;
        }
        button.disabled = true;
        try {
            await api.post(api.path_of("operations", id, "comment"), {text: text.control.value.trim()});
            text.control.value = "";
            announce("The comment is on record.");
            await on_done();
        } catch (error) {
            problem.textContent = failed_change(error, false);
            problem.hidden = false;
        }
        button.disabled = false;
    });
    return {
        form,
        update() {
            const why = why_not("settle");
            controls.disabled = why !== null;
            reason.hidden = why === null;
            reason.textContent = why || "";
        },
    };
}

export function open(route) {
    const id = route.id;
    const frame = make_frame("Operation", "");
    const head = el("div", {class: "slip sheet"});
    const story = el("div", {class: "story"});
    const comments = el("div", {});
    const rest = el("div", {class: "story"});
    const settle = make_settle_box(take);
    const mark = make_mark_box(take);
    const compensate = make_compensate_box(take);
    const comment = make_comment_form(id, take);
    const bar = make_change_bar(show);
    const comment_part = parts.section("Comments", comments, comment.form);
    const layout = el("div", {class: "entry"},
        el("div", {class: "entry-main"}, story, comment_part, rest),
        el("div", {class: "entry-side"}, settle.node, compensate.node,
            mark.node));
    let shown = null;
    let newest = null;
    let is_gone = false;

    async function fetch_both() {
        const path = api.path_of("operations", id);
        const [operation, why] = await Promise.all([api.get(path), api.get(path + "/why")]);
        newest = {operation, why};
    }

    /* After a change of the reader's own: what is new is what he wants to see. */
    async function take() {
        await fetch_both();
        show();
    }

    async function change(path, body, words) {
        await api.post(path, body);
        announce(words);
        await take();
    }

    function show() {
        const {operation, why} = newest;
        shown = newest;
        bar.clear();
        frame.heading.textContent = title_of(operation);
        document.title = title_of(operation) + " – Recibo";
        replace(frame.note, marks(operation));
        replace(head, claim_part(operation, change), parts.identity(operation));
        replace(story, parts.client_sees(operation), parts.timeline(why), parts.attempts(operation),
            parts.probes(operation, probe_button(operation, change)));
        replace(comments, parts.comment_list(operation));
        replace(rest, parts.evidence(operation), parts.audit(operation));
        settle.update(operation);
        compensate.update(operation);
        mark.update(operation);
    }

    frame.tools.append(el("a", {href: href("operations"), class: "button"}, "All operations"));
    return {
        title: "Operation",
        node: frame.node,
        show_changes: () => bar.is_told() && show(),
        focus_settle: () => settle.focus(),
        async refresh() {
            try {
                await fetch_both();
            } catch (error) {
                if (error.status !== 404 || shown === null)
                    throw error;
                if (!is_gone)
                    frame.body.prepend(error_box(error)); /* the rest stays to be read */
                is_gone = true;
                return;
            }
            if (shown === null) {
                frame.body.replaceChildren(bar.node, head, layout);
                show();
            }
            const words = what_changed(shown.operation, newest.operation);
            if (words === "")
                bar.clear();
            else
                bar.tell(words + ".");
            comment.update();
            settle.update(shown.operation);
            compensate.update(shown.operation);
            mark.update(shown.operation);
        },
    };
}
