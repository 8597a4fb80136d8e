/* Who is signed in, with which rights. The token lies in this tab's sessionStorage
 * and ends with the tab; a code from a link leaves the address before it is used. */

import * as api from "./api.js";
import {el, field, visible} from "./dom.js";

const STORED = "recibo.token";
const RIGHTS = ["read", "evidence", "settle", "control"];

let who = null;
let dialog = null;

export function me() {
    return who;
}

export function may(right) {
    return who !== null && who.rights.includes(right);
}

/* null, or why this may not be done: to be shown beside a disabled control. */
export function why_not(right) {
    return may(right) ? null
        : "This needs the right “" + right + "”, which " + visible(who ? who.name : "nobody") +
          " does not have.";
}

function remember(token) {
    try {
        if (token === null)
            sessionStorage.removeItem(STORED);
        else
            sessionStorage.setItem(STORED, token);
    } catch (error) {
        /* Storage is off: the session ends with a reload. */
    }
}

function remembered() {
    try {
        return sessionStorage.getItem(STORED);
    } catch (error) {
        return null;
    }
}

function code_from_address() {
    const found = /^#code=([A-Za-z0-9_.~-]+)$/.exec(location.hash);
    if (location.hash.startsWith("#code="))
        history.replaceState(null, "", location.pathname + "#/");
    return found ? found[1] : null;
}

async function take(token) {
    api.use_token(token);
    const value = await api.get("/v1/whoami");
    const rights = Array.isArray(value.rights) ? value.rights : String(value.rights).split(/[ ,]+/);
    who = {name: value.name, actor: value.actor, rights: RIGHTS.filter((r) => rights.includes(r))};
    remember(token);
    return who;
}

/* How somebody who is not signed in is told so; null: he is. */
async function enter(token) {
    try {
        await take(token);
        return null;
    } catch (error) {
        if (!(error instanceof api.Problem) || error.status !== 401)
            throw error;
        api.use_token(null);
        remember(null);
        return token === null ? "" : "The token is not taken. It may have been mistyped, removed " +
            "from the configuration, or its session is over.";
    }
}

async function enter_by_code(code) {
    try {
        const session = await api.post("/v1/page/session", {code});
        return await enter(session.token);
    } catch (error) {
        if (!(error instanceof api.Problem))
            throw error;
        return "The link is not good any more: a code is good once and for a short time. " +
            "Run “recibo page” again.";
    }
}

/* Signs in by what there is: a code in the address, the tab's token, or a connection
 * that needs none. null: done; else the text for the form. */
export async function begin() {
    const code = code_from_address();
    if (code !== null)
        return enter_by_code(code);
    return enter(remembered());
}

export function sign_out() {
    remember(null);
    api.use_token(null);
    who = null;
    location.reload(); /* nothing of what was shown stays in the page */
}

export function is_asking() {
    return dialog !== null && dialog.open;
}

/* A dialog over what is there: what was typed stays. on_done runs once it is over. */
export function ask_to_sign_in(text, on_done) {
    if (is_asking())
        return;
    let is_over = false;
    const token = field("Token", el("input", {
        type: "password", id: "token", required: true, autocomplete: "off", spellcheck: "false",
        maxlength: "512",
    }));
    const problem = el("p", {class: "field-error", role: "alert", hidden: text === ""}, text);
    const button = el("button", {type: "submit", class: "primary"}, "Sign in");
    const form = el("form", {method: "dialog", class: "sign-in"},
        el("h2", {id: "sign-in-title"}, "Sign in to Recibo"),
        problem, token.box, button,
        el("p", {class: "hint"}, "Or run ", el("code", {}, "recibo page"),
            " on the host: it prints a link that signs you in."));
    form.addEventListener("submit", async (event) => {
        event.preventDefault();
        button.disabled = true;
        const failed = await try_token(token.control.value.trim());
        button.disabled = false;
        problem.hidden = failed === null;
        if (failed === null) {
            is_over = true;
            dialog.close();
            dialog.remove();
            on_done();
            return;
        }
        problem.textContent = failed;
        token.control.focus();
    });
    dialog = el("dialog", {"aria-labelledby": "sign-in-title", class: "sheet"}, form);
    /* A browser lets a second Escape through whatever the page says. */
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.addEventListener("close", () => {
        if (!is_over)
            dialog.showModal();
    });
    document.body.append(dialog);
    dialog.showModal();
}

async function try_token(text) {
    if (text === "")
        return "Enter a token.";
    try {
        return await enter(text);
    } catch (error) {
        return error.message;
    }
}
