/* Shortcuts. They never act while somebody types, can be switched off, and do nothing
 * that changes an operation by themselves. */

import {el} from "./dom.js";

const STORED = "recibo.keys";
const GO_MS = 1500;

const SHORTCUTS = [
    ["?", "This list"],
    ["g then b", "Backlog"], ["g then o", "Operations"], ["g then p", "Plans"],
    ["g then r", "Routes"], ["g then a", "Audit"], ["g then v", "Observed routes"],
    ["j, k", "Next and previous row of a table; Enter opens it"],
    ["n, p", "Next and previous page"],
    ["/", "To the filter"],
    ["u", "Show what has changed"],
    ["s", "To the verdict of an operation"],
    ["Esc", "Leave a dialog"],
];

const PLACES = {b: "#/", o: "#/operations", p: "#/plans", r: "#/routes", a: "#/audit",
    v: "#/report"};

function are_on() {
    try {
        return sessionStorage.getItem(STORED) !== "no";
    } catch (error) {
        return true;
    }
}

export function show_list() {
    if (document.querySelector("dialog[open]"))
        return;
    const on = el("input", {type: "checkbox", id: "keys-on", checked: are_on()});
    on.addEventListener("change", () => {
        try {
            sessionStorage.setItem(STORED, on.checked ? "yes" : "no");
        } catch (error) {
            /* Storage is off: they stay on. */
        }
    });
    const dialog = el("dialog", {"aria-labelledby": "keys-title", class: "sheet"},
        el("h2", {id: "keys-title"}, "Shortcuts"),
        el("dl", {class: "facts keys"}, SHORTCUTS.map(([key, what]) =>
            el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)))),
        el("label", {class: "switch", for: "keys-on"}, on, " Shortcuts are on"),
        el("div", {class: "actions"},
            el("button", {type: "button", class: "primary", on_click: () => dialog.close()}, "Close")));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
}

function is_typing(target) {
    return target instanceof Element && target.closest("input:not([type=checkbox]):not([type=radio]), " +
        "textarea, select, [contenteditable]") !== null;
}

/* The rows are gone through by their links. */
function move_row(by) {
    const links = [...document.querySelectorAll("main tbody th a:first-of-type")];
    const at = links.indexOf(document.activeElement);
    const next = links[at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by];
    if (next)
        next.focus();
}

function press(id) {
    const node = document.getElementById(id);
    if (node)
        node.click();
}

/* view(): the view that is open. */
export function begin(view) {
    let after_g = 0;
    const actions = {
        "?": show_list,
        j: () => move_row(1),
        k: () => move_row(-1),
        n: () => press("next"),
        p: () => press("previous"),
        u: () => view() && view().show_changes && view().show_changes(),
        s: () => view() && view().focus_settle && view().focus_settle(),
        "/": () => {
            const node = document.getElementById((view() && view().filter_id) || "");
            if (!node)
                return;
            if (node.closest("details"))
                node.closest("details").open = true;
            node.focus();
        },
    };
    document.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || !are_on() ||
            is_typing(event.target) || document.querySelector("dialog[open]"))
            return;
        const is_go = Date.now() - after_g < GO_MS;
        after_g = event.key === "g" && !is_go ? Date.now() : 0;
        if (is_go && PLACES[event.key]) {
            event.preventDefault();
            location.hash = PLACES[event.key];
        } else if (actions[event.key]) {
            event.preventDefault();
            actions[event.key]();
        }
    });
}
