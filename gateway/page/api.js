/* The only way to the server: the public admin API. Must never send the token
 * anywhere else, and never keep an answer. */

const ASK_MS = 30000;

/* The server answered, and said no. */
export class Problem extends Error {
    constructor(status, value) {
        const text = value && typeof value === "object" ? value.detail || value.title : null;
        super(text || "The server answered with the status " + status + ".");
        this.status = status;
        this.value = value && typeof value === "object" ? value : {};
        this.code = this.value.code || "";
    }
}

/* No answer came. What was asked may have been done. */
export class Lost extends Error {
    constructor() {
        super("The connection to Recibo is lost.");
    }
}

let token = null;
let when_refused = () => {};

export function use_token(text) {
    token = text;
}

export function has_token() {
    return token !== null;
}

/* fn: runs when the token is no longer taken. */
export function on_refused(fn) {
    when_refused = fn;
}

async function send(method, path, body, accept) {
    const headers = {Accept: accept};
    if (token !== null)
        headers.Authorization = "Bearer " + token;
    if (body !== undefined)
        headers["Content-Type"] = "application/json";
    try {
        return await fetch(path, {
            method,
            headers,
            body: body === undefined ? undefined : JSON.stringify(body),
            cache: "no-store",
            credentials: "omit",
            redirect: "error",
            referrerPolicy: "no-referrer",
            signal: AbortSignal.timeout(ASK_MS),
        });
    } catch (error) {
        throw new Lost();
    }
}

async function refuse(response, used) {
    let value = null;
    try {
        value = await response.json();
    } catch (error) {
        value = null; /* not a problem document: the status has to do */
    }
    if (response.status === 401 && used !== null && used === token)
        when_refused();
    throw new Problem(response.status, value);
}

/* -> the answer's JSON. Throws Problem or Lost. */
export async function ask(method, path, body) {
    const used = token;
    const response = await send(method, path, body, "application/json");
    if (!response.ok)
        await refuse(response, used);
    try {
        const text = await response.text();
        return text === "" ? null : JSON.parse(text);
    } catch (error) {
        throw new Lost(); /* cut off on its way */
    }
}

export function get(path) {
    return ask("GET", path);
}

export function post(path, body) {
    return ask("POST", path, body);
}

/* Is Recibo well? null, or in its own words why not. */
export async function why_not_ready() {
    const response = await send("GET", "/readyz", undefined, "application/json");
    if (response.ok)
        return null;
    try {
        return (await response.json()).detail || "Recibo is not ready.";
    } catch (error) {
        return "Recibo is not ready.";
    }
}

/* Bytes as a file of the reader's: they are never shown as a page. */
export async function download(path, name) {
    const used = token;
    const response = await send("GET", path, undefined, "application/octet-stream");
    if (!response.ok)
        await refuse(response, used);
    const bytes = await response.blob();
    const url = URL.createObjectURL(new Blob([bytes], {type: "application/octet-stream"}));
    const link = document.createElement("a");
    link.setAttribute("download", name);
    link.href = url;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
}

/* A path of /v1 with a name in it. */
export function path_of(...parts) {
    return "/v1/" + parts.map(encodeURIComponent).join("/");
}
