/* Plans: many verdicts at once. One is looked at before it is applied, can be stopped
 * while it waits, and tells what became of each entry. */

import * as api from "./api.js";
import {announce, el, facts, field, replace, said, table, visible} from "./dom.js";
import {in_words} from "./filters.js";
import {href} from "./router.js";
import {why_not} from "./session.js";
import {sample_columns} from "./shapes.js";
import {PAGE_ROWS, failed_change, make_frame, page_of, pager} from "./view.js";
import {PLAN_STATES, VERDICTS, count, duration, number, person, time} from "./words.js";
import * as live from "./live.js";

const SOON_MS = 1000;

function is_over(plan) {
    return plan.state === "draft" && plan.expires_at && Date.parse(plan.expires_at) <= Date.now();
}

function state_of(plan) {
    return is_over(plan) ? "expired" : plan.state;
}

function state_mark(plan) {
    const state = state_of(plan);
    const kind = {waiting: "warn", applying: "warn", done: "completed", draft: "pending"}[state] || "other";
    return el("span", {class: "state state-" + kind}, PLAN_STATES[state] || visible(state));
}

function where_of(plan) {
    const where = plan.where;
    if (!where)
        return "chosen operations";
    if (typeof where === "string")
        return said(where, "mono");
    const pairs = Object.entries(where);
    return pairs.length === 0 ? "everything unknown" : in_words(pairs);
}

function verdict_of(plan) {
    return VERDICTS[plan.verdict] || visible(plan.verdict);
}

/* ---- all plans ---- */

const COLUMNS = [
    {name: "Plan", head: true, cell: (plan) => [
        el("a", {href: href("plans", plan.id), id: plan.id, class: "row-link"}, verdict_of(plan)),
        el("span", {class: "under"}, where_of(plan))]},
    {name: "State", cell: state_mark},
    {name: "Operations", class: "num", cell: (plan) => number(plan.count)},
    {name: "Settled", class: "num", cell: (plan) => number(plan.settled)},
    {name: "Left out", class: "num", cell: (plan) => number(plan.changed + plan.refused)},
    {name: "Made", cell: (plan) => [time(plan.created_at), el("span", {class: "under"}, "by ",
        said(person(plan.actor)))]},
    {name: "Applied by", cell: (plan) => plan.applied_by ? said(person(plan.applied_by)) : "–"},
];

function open_all(route) {
    const frame = make_frame("Plans", "Many verdicts at once: made first, looked at, then applied.");
    let shown = "";
    return {
        title: "Plans",
        node: frame.node,
        async refresh() {
            const found = await api.get("/v1/plans");
            const text = JSON.stringify(found);
            if (text === shown)
                return;
            shown = text;
            const part = page_of(found.plans, route.query);
            replace(frame.body, found.plans.length === 0
                ? el("div", {class: "lone"}, el("h2", {}, "No plans"),
                    el("p", {}, "A plan begins with a filter: open ",
                        el("a", {href: href("operations", "", {state: "unknown"})}, "what is unknown"),
                        ", narrow it, and choose “Settle many at once” under the list."))
                : [table("Plans, the newest first", COLUMNS, part.rows, {class: "plans"}),
                    pager(part.page, part.pages, (page) => href("plans", "", {page}))]);
        },
    };
}

/* ---- one plan ---- */

/* How many of the callers get what, by the rule that answers them. */
function sights_of(plan) {
    const sights = Object.values(plan.client_sees || {}).filter((sight) => sight);
    if (sights.length === 0)
        return el("p", {}, "Nobody gets anything else than now.");
    return el("ul", {class: "plain"}, sights.map((sight) => el("li", {},
        el("b", {}, count(sight.count, "operation")), ": ",
        sight.status ? [el("span", {class: "status"}, sight.status), " "] : null,
        said(sight.text))));
}

function progress_of(plan) {
    const done = plan.settled + plan.changed + plan.refused;
    return el("div", {class: "progress"},
        el("label", {for: "plan-progress"}, number(done) + " of " + number(plan.count)), " ",
        el("progress", {id: "plan-progress", max: Math.max(1, plan.count), value: done}));
}

function left_out_part(plan) {
    const list = plan.left_out || [];
    if (list.length === 0)
        return null;
    const rows = list.slice(0, PAGE_ROWS);
    return el("section", {class: "part"}, el("h2", {}, "Left out"),
        list.length > rows.length ? el("p", {class: "hint"}, "The first " + rows.length + ".") : null,
        table("Operations that were left out, and why", [
            {name: "Operation", head: true, cell: (row) => row.id
                ? el("a", {href: href("operations", row.id), class: "mono"}, visible(row.id)) : "gone"},
            {name: "Why", cell: (row) => said(row.reason)},
        ], rows));
}

function countdown(plan) {
    const left = Math.max(0, (Date.parse(plan.apply_at) - Date.now()) / 1000);
    return left > 0 ? "in " + duration(Math.ceil(left)) : "now";
}

function make_apply_form(id, on_done) {
    const note = field("Note", el("textarea", {rows: "3", maxlength: "1000", id: "plan-note"}),
        "What you found and where. It goes into the audit of every operation.");
    const button = el("button", {type: "submit", class: "primary", id: "plan-apply"}, "Apply");
    const problem = el("p", {class: "refusal", role: "alert", hidden: true});
    const refusal = el("p", {class: "refusal", hidden: true});
    const then = el("p", {class: "outcome"});
    const controls = el("fieldset", {class: "bare"}, note.box, then, button);
    const form = el("form", {novalidate: true}, el("h2", {}, "Apply"), refusal, controls, problem);
    form.addEventListener("submit", async (event) => {
        event.preventDefault();
        note.clear();
        problem.hidden = true;
        if (note.control.value.trim() === "") {
            note.fail("A note is wanted: what you found, and where.");
            return;
        }
        button.disabled = true;
        try {
            await api.post(api.path_of("plans", id, "apply"), {note: note.control.value.trim()});
            announce("The plan is applied.");
            await on_done();
        } catch (error) {
            problem.textContent = failed_change(error, true);
            problem.hidden = false;
        }
        button.disabled = false;
    });
    return {
        form,
        update(plan) {
            const reason = why_not("settle");
            form.hidden = plan.state !== "draft" || is_over(plan) || plan.count === 0;
            controls.disabled = reason !== null;
            refusal.hidden = reason === null;
            refusal.textContent = reason || "";
            button.textContent = "Settle " + count(plan.count, "operation");
            then.textContent = plan.verdict === "not_executed"
                ? "It takes effect after a delay in which you can stop it." : "";
        },
    };
}

function make_stop(id, on_done) {
    const button = el("button", {type: "button", class: "danger", id: "plan-stop"}, "Stop");
    const problem = el("p", {class: "field-error", role: "alert", hidden: true});
    button.addEventListener("click", async () => {
        problem.hidden = true;
        button.disabled = true;
        try {
            await api.ask("DELETE", api.path_of("plans", id));
            announce("The plan is stopped.");
            await on_done();
        } catch (error) {
            problem.textContent = failed_change(error, true);
            problem.hidden = false;
        }
        button.disabled = false;
    });
    return {
        node: el("p", {class: "stop"}, button, problem),
        update(plan) {
            const reason = why_not("settle");
            this.node.hidden = plan.state !== "waiting" && plan.state !== "applying";
            button.disabled = reason !== null;
            problem.hidden = reason === null;
            problem.textContent = reason || "";
        },
    };
}

function plan_facts(plan) {
    const routes = Object.entries(plan.by_route || {});
    return facts([
        ["Verdict", verdict_of(plan)],
        ["For", where_of(plan)],
        ["Operations", number(plan.count)],
        routes.length > 0 ? ["By route", el("ul", {class: "plain"}, routes.slice(0, 50).map(([name, of]) =>
            el("li", {}, said(name, "name"), " " + number(of))))] : null,
        ["Settled", number(plan.settled)],
        plan.changed > 0 ? ["Changed meanwhile, left alone", number(plan.changed)] : null,
        plan.refused > 0 ? ["Refused", number(plan.refused)] : null,
        ["Made", [time(plan.created_at), " by ", said(person(plan.actor))]],
        plan.applied_by ? ["Applied or stopped by", said(person(plan.applied_by))] : null,
        plan.note ? ["Note", said(plan.note)] : null,
        plan.state === "draft" ? [is_over(plan) ? "Expired" : "Good until", time(plan.expires_at)] : null,
        plan.ended_at ? ["Ended", time(plan.ended_at)] : null,
    ], "wide");
}

function open_one(route) {
    const frame = make_frame("Plan", "");
    const head = el("div", {class: "slip sheet"});
    const going = el("div", {class: "going", id: "plan-going"});
    const apply = make_apply_form(route.id, take);
    const stop = make_stop(route.id, take);
    const details = el("div", {class: "story"});
    let plan = null;
    let told = "";
    let timer = 0;

    function draw_going() {
        if (plan.state === "waiting")
            going.replaceChildren(el("p", {class: "countdown"}, "Takes effect ",
                el("b", {}, countdown(plan)), ", at ", time(plan.apply_at), "."));
        else if (plan.state === "applying")
            going.replaceChildren(progress_of(plan));
        else
            going.replaceChildren();
    }

    /* Waiting and working plans move by the second. */
    function tick() {
        clearTimeout(timer);
        if (!frame.node.isConnected || (plan.state !== "waiting" && plan.state !== "applying"))
            return;
        draw_going();
        timer = setTimeout(() => {
            tick();
            if (plan.state === "applying" || Date.parse(plan.apply_at) <= Date.now())
                live.now();
        }, SOON_MS);
    }

    function show() {
        const text = JSON.stringify(plan) + is_over(plan);
        apply.update(plan);
        stop.update(plan);
        draw_going();
        tick();
        if (text === told)
            return;
        told = text;
        replace(frame.note, state_mark(plan));
        replace(head, plan_facts(plan));
        replace(details,
            el("section", {class: "part"}, el("h2", {}, "What clients will get"),
                sights_of(plan)),
            (plan.samples || []).length > 0 ? el("section", {class: "part"}, el("h2", {}, "Samples"),
                table("Some of the operations", sample_columns(), plan.samples.slice(0, PAGE_ROWS))) : null,
            left_out_part(plan));
    }

    async function take() {
        const found = await api.get(api.path_of("plans", route.id));
        const before = plan;
        plan = found.plan || found;
        if (before === null)
            frame.body.replaceChildren(head, el("div", {class: "sheet"}, going, stop.node, apply.form), details);
        if (before !== null && before.state !== plan.state)
            announce("The plan: " + (PLAN_STATES[plan.state] || plan.state) + ".");
        frame.heading.textContent = "Plan: " + verdict_of(plan).toLowerCase();
        show();
    }

    frame.tools.append(el("a", {href: href("plans"), class: "button"}, "All plans"));
    return {title: "Plan", node: frame.node, refresh: take};
}

export function open(route) {
    return route.id === "" ? open_all(route) : open_one(route);
}
