/* Looks again every few seconds, and with growing pauses while nothing answers. Must
 * never run twice at once, and never ask while nobody looks at the page. */

import {Lost} from "./api.js";

const EVERY_MS = 5000;
const PAUSE_MS_MAX = 30000;

let look = async () => {};
let tell = () => {};
let timer = 0;
let is_running = false;
let wants_again = false;
let is_stopped = true;
let failures = 0;

/* fn_look: one look, may throw. fn_tell: (error or null, when the next look is). The
 * first look is asked for with now(). */
export function begin(fn_look, fn_tell) {
    look = fn_look;
    tell = fn_tell;
    is_stopped = false;
    document.addEventListener("visibilitychange", () => {
        if (document.visibilityState === "visible")
            now();
    });
    window.addEventListener("online", now);
}

/* While the reader has to sign in there is nothing to ask. */
export function stop() {
    is_stopped = true;
    clearTimeout(timer);
}

export function go_on() {
    is_stopped = false;
    failures = 0;
    now();
}

export function now() {
    clearTimeout(timer);
    if (is_stopped)
        return;
    if (is_running)
        wants_again = true;
    else
        run();
}

function plan_next(delay_ms) {
    clearTimeout(timer);
    if (!is_stopped)
        timer = setTimeout(() => {
            if (document.visibilityState === "visible")
                now();
        }, delay_ms);
}

function is_trouble(error) {
    return error instanceof Lost || error.status >= 500 || error.status === 429;
}

async function run() {
    is_running = true;
    wants_again = false;
    let delay_ms = EVERY_MS;
    try {
        await look();
        failures = 0;
        tell(null, 0);
    } catch (error) {
        if (error.status === undefined && !(error instanceof Lost))
            console.error(error); /* our own mistake: for whoever looks into it */
        failures = is_trouble(error) ? failures + 1 : 0;
        if (failures > 0)
            delay_ms = Math.min(PAUSE_MS_MAX, 1000 * 2 ** (failures - 1));
        if (error.status !== 401)
            tell(error, Date.now() + delay_ms);
    }
    is_running = false;
    if (wants_again)
        now();
    else
        plan_next(delay_ms);
}
