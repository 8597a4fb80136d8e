/* The address is the state: #/operations?route=create-order. It lies behind the hash,
 * so that keys and owners never reach a server's log. */

export function parse(hash) {
    const text = hash.startsWith("#/") ? hash.slice(2) : "";
    const mark = text.indexOf("?");
    const path = (mark < 0 ? text : text.slice(0, mark)).split("/").map(decode);
    return {
        view: path[0] || "backlog",
        id: path[1] || "",
        query: new URLSearchParams(mark < 0 ? "" : text.slice(mark + 1)),
    };
}

function decode(text) {
    try {
        return decodeURIComponent(text);
    } catch (error) {
        return text; /* typed by hand, and no escape after all */
    }
}

/* href("operations", "", {route: "x"}) -> "#/operations?route=x" */
export function href(view, id, query) {
    const pairs = new URLSearchParams();
    const from = query instanceof URLSearchParams ? [...query] : Object.entries(query || {});
    for (const [name, value] of from)
        if (value !== "" && value !== null && value !== undefined)
            pairs.append(name, value);
    const text = pairs.toString();
    return "#/" + (view === "backlog" ? "" : encodeURIComponent(view)) +
        (id ? "/" + encodeURIComponent(id) : "") + (text ? "?" + text : "");
}

export function go(where) {
    location.hash = where;
}
