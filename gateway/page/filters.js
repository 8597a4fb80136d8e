/* The filters of the list, named as in the API, so that the address, the command line
 * and the page say the same. */

import {el, fresh_id, visible} from "./dom.js";
import {href} from "./router.js";
import {ENDS, PROBES, STATES} from "./words.js";

const PLAIN = new Set(["limit", "cursor", "page"]); /* paging, not filtering */

const NAMES = {
    state: "State", route: "Route", owner: "Owner", key: "Key", end: "How it ended",
    status: "Status", claimed: "Claimed", probe: "Upstream asked", older_than: "Older than",
    newer_than: "Newer than", created_after: "Created after", created_before: "Created before",
    contradicted: "Contradicted", order: "Order",
};

/* The filters of a query without paging, as the API takes them. */
export function filters_of(query) {
    return [...query].filter(([name]) => !PLAIN.has(name));
}

function choice(name, label, query, options) {
    const present = query.get(name) || "";
    const known = options.some(([value]) => value === present);
    const all = known ? options : [...options, [present, visible(present)]];
    const select = el("select", {name, id: fresh_id("f")}, all.map(([value, text]) =>
        el("option", {value, selected: value === present}, text)));
    return el("div", {class: "field"}, el("label", {for: select.id}, label), select);
}

function text_field(name, label, query, props) {
    const input = el("input", {type: "text", name, id: fresh_id("f"), value: query.get(name) || "",
        autocomplete: "off", spellcheck: "false", ...props});
    return el("div", {class: "field"}, el("label", {for: input.id}, label), input);
}

/* RFC 3339 in UTC and the local time of the input, both ways. */
function to_local(iso) {
    const date = new Date(iso);
    if (Number.isNaN(date.getTime()))
        return "";
    const at = new Date(date.getTime() - date.getTimezoneOffset() * 60000);
    return at.toISOString().slice(0, 19);
}

function time_field(name, label, query) {
    const input = el("input", {type: "datetime-local", name, step: "1", id: fresh_id("f"),
        value: to_local(query.get(name) || "")});
    return el("div", {class: "field"}, el("label", {for: input.id}, label), input);
}

function named(words) {
    return [["", "Any"], ...Object.entries(words)];
}

function label_of(query) {
    const found = [...query].find(([name]) => name.startsWith("label."));
    return found ? {name: found[0].slice(6), value: found[1]} : {name: "", value: ""};
}

function more(query) {
    return [
        text_field("owner", "Owner", query),
        text_field("status", "Status", query, {placeholder: "503 or none"}),
        choice("claimed", "Claimed", query, [["", "Any"], ["true", "By somebody"], ["false", "By nobody"]]),
        choice("probe", "Upstream asked", query, named(PROBES)),
        choice("contradicted", "Contradicted", query, [["", "Any"], ["true", "Only those"]]),
        text_field("older_than", "Older than", query, {placeholder: "15m"}),
        text_field("newer_than", "Newer than", query, {placeholder: "2h"}),
        time_field("created_after", "Created after", query),
        time_field("created_before", "Created before", query),
        choice("order", "Order", query, [["", "Newest first"], ["oldest", "Oldest first"]]),
    ];
}

function read(form) {
    const found = {};
    let label = "";
    for (const [name, value] of new FormData(form)) {
        const text = value.trim();
        if (text === "")
            continue;
        if (name === "label_name")
            label = text;
        else if (name === "label_value")
            found["label." + label] = text;
        else if (name.startsWith("created_"))
            found[name] = new Date(text).toISOString();
        else
            found[name] = text;
    }
    return found;
}

/* on_search(filters) */
export function make_filters(query, on_search) {
    const label = label_of(query);
    const used = filters_of(query).some(([name]) =>
        !["state", "route", "key", "end"].includes(name) && !name.startsWith("label."));
    const form = el("form", {role: "search", class: "filters", "aria-label": "Filter operations"},
        el("div", {class: "fields"},
            choice("state", "State", query, named(STATES)),
            text_field("route", "Route", query, {list: "route-names"}),
            choice("end", "How it ended", query, named(ENDS)),
            text_field("key", "Key", query, {id: "filter-key"}),
            el("fieldset", {class: "pair"}, el("legend", {}, "Label"),
                el("input", {type: "text", name: "label_name", value: label.name,
                    "aria-label": "Label name", placeholder: "order", autocomplete: "off"}),
                el("input", {type: "text", name: "label_value", value: label.value,
                    "aria-label": "Label value", placeholder: "value", autocomplete: "off"}))),
        el("details", {open: used}, el("summary", {}, "More filters"),
            el("div", {class: "fields"}, more(query))),
        el("div", {class: "actions"}, el("button", {type: "submit", class: "primary"}, "Filter"),
            el("a", {href: href("operations"), class: "button"}, "Clear")));
    /* On a narrow screen the operations come first. */
    const box = el("details", {class: "filter-box", open: !matchMedia("(max-width: 47rem)").matches},
        el("summary", {}, "Filters"), form);
    const names = form.elements.label_name;
    names.addEventListener("input", () => names.setCustomValidity(""));
    form.addEventListener("submit", (event) => {
        event.preventDefault();
        const is_nameless = form.elements.label_value.value.trim() !== "" && names.value.trim() === "";
        names.setCustomValidity(is_nameless ? "Name the label, such as order." : "");
        if (form.reportValidity())
            on_search(read(form));
    });
    return box;
}

function name_of(name) {
    return name.startsWith("label.") ? visible(name.slice(6)) : NAMES[name] || visible(name);
}

function value_of(name, value) {
    const words = {state: STATES, end: ENDS, probe: PROBES}[name];
    if (words)
        return value.split(",").map((each) => words[each] || visible(each)).join(" or ");
    return visible(value);
}

/* What is filtered by, each with a link that takes it away. */
export function chips(query) {
    const filters = filters_of(query);
    if (filters.length === 0)
        return null;
    return el("ul", {class: "chips", "aria-label": "Filters in force"}, filters.map(([name, value]) =>
        el("li", {}, name_of(name), ": ", el("b", {}, el("bdi", {}, value_of(name, value))), " ",
            el("a", {
                href: href("operations", "", Object.fromEntries(filters.filter(([n]) => n !== name))),
                "aria-label": "Remove the filter " + name_of(name),
            }, "×"))));
}

export function in_words(filters) {
    return filters.length === 0 ? "all operations"
        : filters.map(([name, value]) => name_of(name) + " " + value_of(name, value)).join(", ");
}
