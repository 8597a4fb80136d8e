/* Builds elements. Text goes in as text nodes and nothing else: keys, labels, bodies
 * and notes are written by strangers. Must never parse markup, and never make a link
 * that leads out of the page. */

const SVG = "http://www.w3.org/2000/svg";

/* Characters that are not seen, or that turn the order of what is seen around. */
const HIDDEN = /[\u0000-\u001f\u007f-\u00a0\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udfff]/g;

function spelled(text) {
    return [...text].map((sign) => "\\u{" + sign.codePointAt(0).toString(16) + "}").join("");
}

/* One line of somebody else's text, with what cannot be seen spelled out. */
export function visible(text) {
    return String(text).replace(HIDDEN, spelled);
}

/* The same for a text of several lines. */
export function visible_lines(text) {
    return String(text).replace(/\r\n/g, "\n")
        .replace(HIDDEN, (sign) => sign === "\n" || sign === "\t" ? sign : spelled(sign));
}

function set(node, name, value) {
    if (value === undefined || value === null || value === false)
        return;
    if (name.startsWith("on_"))
        node.addEventListener(name.slice(3), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "selected")
        node[name] = value;
    else if (name === "href" && !String(value).startsWith("#"))
        throw new Error("a link may not lead out of the page");
    else
        node.setAttribute(name, value === true ? "" : value);
}

function add(node, child) {
    if (child === undefined || child === null || child === false)
        return;
    if (Array.isArray(child))
        child.forEach((each) => add(node, each));
    else
        node.append(child instanceof Node ? child : document.createTextNode(String(child)));
}

/* el("p", {class: "note", on_click: f}, "text", node, [more]) */
export function el(tag, props, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(props || {}))
        set(node, name, value);
    add(node, children);
    return node;
}

export function svg(tag, props, ...children) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(props || {}))
        set(node, name, value);
    add(node, children);
    return node;
}

/* Somebody else's words: set apart, so that their direction stays their own. */
export function said(text, name) {
    return el("bdi", {class: name}, visible(text));
}

/* New content for a container. What had the focus has it again, if it is still there
 * under its id; else the container's heading gets it, so that nobody is lost. */
export function replace(container, ...children) {
    const active = document.activeElement;
    const held = active && container.contains(active) ? active.id || "?" : null;
    container.replaceChildren();
    add(container, children);
    if (held === null)
        return;
    const again = held === "?" ? null : document.getElementById(held);
    const heading = container.querySelector("h1, h2, h3") || document.querySelector("h1");
    const target = again || heading;
    if (target) {
        if (!again)
            target.setAttribute("tabindex", "-1");
        target.focus({preventScroll: true});
    }
}

let next_id = 1;

export function fresh_id(stem) {
    return stem + "-" + next_id++;
}

/* A control with its label, a hint and a place for what is wrong with it. */
export function field(label, control, hint) {
    control.id = control.id || fresh_id("f");
    const error = el("p", {class: "field-error", id: control.id + "-error", hidden: true});
    const notes = hint ? el("p", {class: "hint", id: control.id + "-hint"}, hint) : null;
    control.setAttribute("aria-describedby",
        (notes ? notes.id + " " : "") + error.id);
    const box = el("div", {class: "field"}, el("label", {for: control.id}, label), notes, control,
        error);
    return {
        box,
        control,
        fail(text) {
            error.textContent = text;
            error.hidden = false;
            control.setAttribute("aria-invalid", "true");
            control.focus();
        },
        clear() {
            error.hidden = true;
            control.removeAttribute("aria-invalid");
        },
    };
}

/* A table that stays one for a screen reader when it is narrow and looks like cards.
 * columns: [{name, class, cell(row), head: true for the row's heading, hide_name}] */
export function table(caption, columns, rows, options) {
    const head = el("tr", {role: "row"}, columns.map((column) =>
        el("th", {scope: "col", role: "columnheader", class: column.class},
            column.hide_name ? el("span", {class: "unseen"}, column.name) : column.name)));
    const body = rows.map((row) => el("tr", {
        role: "row",
        class: options && options.row_class ? options.row_class(row) : null,
    }, columns.map((column) => {
        const props = {
            "data-name": column.hide_name ? null : column.name,
            class: column.class,
            role: column.head ? "rowheader" : "cell",
        };
        if (column.head)
            props.scope = "row";
        return el(column.head ? "th" : "td", props, el("div", {class: "cell"}, column.cell(row)));
    })));
    return el("div", {class: "table-box"},
        el("table", {role: "table", class: options && options.class},
            el("caption", {class: options && options.show_caption ? null : "unseen"}, caption),
            el("thead", {role: "rowgroup"}, head),
            el("tbody", {role: "rowgroup"}, body)));
}

/* Pairs of a name and a value. */
export function facts(pairs, name) {
    return el("dl", {class: "facts " + (name || "")},
        pairs.filter((pair) => pair).map(([term, value]) =>
            el("div", {}, el("dt", {}, term), el("dd", {}, value))));
}

/* A status line that screen readers read out. */
export function announce(text) {
    const live = document.getElementById("live");
    live.textContent = "";
    requestAnimationFrame(() => {
        live.textContent = text;
    });
}
