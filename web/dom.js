// Elements. Text enters the page as text nodes and attribute values only, never as markup.

/** @typedef {Node | string | null | undefined} Child */

/**
 * @param {Element} element
 * @param {Record<string, string | number | boolean | ((event: any) => void)>} attributes
 * @param {Child[]} children
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), value);
    } else if (name === "vars") {
      for (const part of String(value).split(";")) {
        const at = part.indexOf(":");
        if (at > 0) /** @type {HTMLElement} */ (element).style.setProperty(part.slice(0, at), part.slice(at + 1));
      }
    } else if (value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const child of children) {
    if (child !== null && child !== undefined) element.append(child);
  }
}

/**
 * An HTML element; `on...` attributes are listeners, `vars` sets CSS properties ("name:value;...").
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number | boolean | ((event: any) => void)>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

/**
 * The same for drawings.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number | boolean | ((event: any) => void)>} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return /** @type {SVGElementTagNameMap[Tag]} */ (element);
}

/**
 * A part of the page with its heading.
 * @param {string} id @param {string} title @param {Child} lead @param {...Child} children
 */
export function section(id, title, lead, ...children) {
  return el(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title),
    lead ? el("p", { class: "lead" }, lead) : null,
    ...children,
  );
}

/**
 * @param {string[]} head column titles; a leading "#" marks a column of figures
 * @param {Child[][]} rows
 * @param {string} label
 */
export function table(head, rows, label) {
  const figures = head.map((title) => title.startsWith("#"));
  const kind = (/** @type {number} */ c) => ({ class: figures[c] ? "figure" : "text" });
  return el(
    "div",
    { class: "scroll-x", tabindex: 0, role: "region", "aria-label": label },
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, ...head.map((t, c) => el("th", { scope: "col", ...kind(c) }, t.replace(/^#/, ""))))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell, c) => el("td", kind(c), cell))))),
    ),
  );
}

/** @param {string} text @param {string} label @param {() => void} action */
export function button(text, label, action) {
  return el("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
}
