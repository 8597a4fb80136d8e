/* The response that repeats get after the verdict "executed". It is sent as typed:
 * the bytes of the text are the body. */

import {el, field, fresh_id} from "./dom.js";

function parse_headers(text) {
    const headers = {};
    for (const line of text.split("\n")) {
        if (line.trim() === "")
            continue;
        const colon = line.indexOf(":");
        if (colon < 1)
            return {fault: "“" + line.trim() + "” is not a header: write Name: value."};
        const name = line.slice(0, colon).trim();
        const value = line.slice(colon + 1).trim();
        if (Object.hasOwn(headers, name))
            headers[name] = [].concat(headers[name], value);
        else
            headers[name] = value;
    }
    return {headers};
}

function make_radio(group, value, text, is_on) {
    const input = el("input", {type: "radio", name: group, value, id: fresh_id("r"), checked: is_on});
    return {input, box: el("div", {class: "radio"}, input, el("label", {for: input.id}, text))};
}

export function make_response_box() {
    const group = fresh_id("response");
    const none = make_radio(group, "none", "Nobody knows it. Repeats learn that it ran, and nothing more.", true);
    const given = make_radio(group, "given", "This one:", false);
    const status = field("Status", el("input", {type: "text", inputmode: "numeric", value: "201",
        maxlength: "3", autocomplete: "off"}));
    const headers = field("Headers", el("textarea", {rows: "2", spellcheck: "false",
        value: "Content-Type: application/json"}), "One on a line.");
    const body = field("Body", el("textarea", {rows: "5", spellcheck: "false"}),
        "Sent as it stands here, byte for byte in UTF-8.");
    const details = el("div", {class: "indent", hidden: true}, status.box, headers.box, body.box);
    const node = el("fieldset", {class: "response"},
        el("legend", {}, "What repeats get as the response"), none.box, given.box, details);
    node.addEventListener("change", () => {
        details.hidden = !given.input.checked;
    });
    return {
        node,
        is_given: () => given.input.checked,
        /* -> {response} or null after a control was marked as wrong. */
        read() {
            [status, headers, body].forEach((each) => each.clear());
            if (!given.input.checked)
                return {response: null};
            if (!/^[2-5][0-9][0-9]$/.test(status.control.value.trim())) {
                status.fail("A final status: 200 to 599.");
                return null;
            }
            const parsed = parse_headers(headers.control.value);
            if (parsed.fault) {
                headers.fail(parsed.fault);
                return null;
            }
            return {response: {status: Number(status.control.value.trim()),
                headers: parsed.headers, body: body.control.value}};
        },
    };
}
