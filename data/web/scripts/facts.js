// What is seen in a page, in the order of its code: kind, own words, colour, box. Boxes are in CSS pixels of the page.
// `area` is the picture's [left, top, right, bottom]; at most `most` parts are given, `cut` says that there are more.
({ area, most }) => {
  const hex = (color) => {
    const found = color.match(/^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)$/);
    if (!found || (found[4] !== undefined && Number(found[4]) < 1)) return "";
    return "#" + found.slice(1, 4).map((part) => Number(part).toString(16).padStart(2, "0")).join("");
  };
  const words = (text) => text.replace(/\s+/g, " ").trim();
  const inputs = {
    checkbox: "check box", radio: "radio button", range: "slider", color: "colour field", file: "file field",
    submit: "button", button: "button", reset: "button", image: "picture button",
  };
  const kinds = {
    H1: "heading", H2: "heading", H3: "heading", H4: "heading", H5: "heading", H6: "heading", P: "paragraph",
    BUTTON: "button", A: "link", IMG: "picture", SVG: "drawing", LI: "list item", TABLE: "table", TH: "table heading",
    TD: "table cell", SELECT: "drop-down list", TEXTAREA: "text area", LABEL: "field label", NAV: "navigation bar",
    HEADER: "page header", FOOTER: "page footer", FORM: "form", PRE: "code block", BLOCKQUOTE: "quotation",
    FIGURE: "figure", FIGCAPTION: "caption", CAPTION: "caption", DT: "term", DD: "definition", PROGRESS: "progress bar",
    METER: "gauge", SUMMARY: "disclosure line", HR: "dividing line", ASIDE: "sidebar", CANVAS: "canvas",
  };
  const texty = new Set(["heading", "paragraph", "button", "link", "list item", "table heading", "table cell", "field label", "caption", "term", "quotation", "disclosure line"]);
  // A block is as wide as its column whatever it says: of words alone the box is that of the words.
  const boxOf = (element, look) => {
    const whole = element.getBoundingClientRect();
    const edge = ["Top", "Right", "Bottom", "Left"].some((side) => parseFloat(look[`border${side}Width`]) > 0 && look[`border${side}Style`] !== "none");
    const paper = look.backgroundImage !== "none" || !/^(transparent|rgba\(.*, 0\))$/.test(look.backgroundColor);
    if (edge || paper || look.boxShadow !== "none" || look.outlineStyle !== "none") return whole;
    const range = document.createRange();
    range.selectNodeContents(element);
    const found = [...range.getClientRects()].filter((rect) => rect.width > 0 && rect.height > 0);
    if (!found.length) return null;
    const [left, top] = [Math.min(...found.map((rect) => rect.left)), Math.min(...found.map((rect) => rect.top))];
    const [right, bottom] = [Math.max(...found.map((rect) => rect.right)), Math.max(...found.map((rect) => rect.bottom))];
    return new DOMRect(left, top, right - left, bottom - top);
  };
  const parts = [];
  let cut = false;
  for (const element of document.body.querySelectorAll("*")) {
    const tag = element.tagName.toUpperCase();
    if (element.parentElement.closest("svg,select,math")) continue;
    let kind = tag === "INPUT" ? inputs[element.type] ?? "input field" : kinds[tag];
    const look = getComputedStyle(element);
    if (kind === "link" && (/(^|[\s_-])(btn|button)/.test(element.className) || (hex(look.backgroundColor) && look.display !== "inline" && parseFloat(look.paddingTop) > 2))) kind = "button";
    if (!kind && (/(^|[\s_-])(badge|chip|tag|pill)([\s_-]|$)/.test(element.className))) kind = "badge";
    if (!kind && /(^|[\s_-])card([\s_]|$)/.test(element.className)) kind = "card";
    if (!kind) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true })) continue;
    const box = texty.has(kind) || kind === "definition" ? boxOf(element, look) : element.getBoundingClientRect();
    if (!box) continue;
    let [left, top, right, bottom] = [box.left + scrollX, box.top + scrollY, box.right + scrollX, box.bottom + scrollY];
    // What is around it may show a part of it only.
    for (let around = element.parentElement; around && around !== document.body; around = around.parentElement) {
      const rule = getComputedStyle(around);
      if (rule.overflowX === "visible" && rule.overflowY === "visible") continue;
      const frame = around.getBoundingClientRect();
      [left, right] = [Math.max(left, frame.left + scrollX), Math.min(right, frame.right + scrollX)];
      [top, bottom] = [Math.max(top, frame.top + scrollY), Math.min(bottom, frame.bottom + scrollY)];
    }
    if ((right - left) * (bottom - top) < 0.5 * box.width * box.height || right <= left) continue;
    const above = document.elementFromPoint((left + right) / 2 - scrollX, (top + bottom) / 2 - scrollY);
    if (above && !element.contains(above) && !above.contains(element)) continue; // covered
    if (box.width < 2 || box.height < 2 || top >= area[3] || bottom <= area[1] || left >= area[2] || right <= area[0]) continue;
    if (bottom > area[3] && kind !== "card" && top > area[3] - 2) continue;
    const own = words(element.innerText ?? element.textContent ?? "");
    const part = { kind, box: [left - area[0], top - area[1], right - area[0], bottom - area[1]].map((value) => Math.round(value * 100) / 100) };
    const nested = texty.has(kind) && element.querySelector("p,li,table,h1,h2,h3,h4,h5,h6,button");
    const text = tag === "INPUT" ? (element.type === "submit" || element.type === "button" ? element.value : element.value || element.placeholder) : tag === "TEXTAREA" ? element.value || element.placeholder : own;
    const clipped = element.scrollWidth > element.clientWidth + 1 && look.overflow !== "visible" && element.clientWidth > 0;
    if ((texty.has(kind) || tag === "INPUT" || tag === "TEXTAREA") && !nested && text && text.length <= 200 && !clipped && element.type !== "password" && look.textTransform === "none") part.text = text;
    const name = tag === "IMG" ? words(element.alt ?? "") : tag === "SELECT" ? words(element.selectedOptions[0]?.text ?? "") : tag === "CARD" || kind === "card" ? words(element.querySelector("h1,h2,h3,h4,h5,h6")?.innerText ?? "") : "";
    if (name && name.length <= 60) part.name = name;
    const filled = ["button", "badge", "card", "navigation bar", "page header", "page footer", "sidebar"].includes(kind);
    const color = hex(filled ? look.backgroundColor : texty.has(kind) ? look.color : "");
    const channels = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
    const plain = Math.max(...channels) - Math.min(...channels) < 40; // one of many greys: nobody could say which
    if (color && (!plain || color === "#ffffff" || color === "#000000") && look.backgroundImage === "none" && look.opacity === "1") part.color = color;
    if (texty.has(kind) && part.text) part.sizes = { "font size px": Math.round(parseFloat(look.fontSize) * 100) / 100 };
    if (parts.length >= most) { cut = true; break; }
    parts.push(part);
  }
  // A title that stands nowhere in the page can't be seen.
  const title = words(document.title);
  const seen = title && words(document.body.innerText).includes(title) ? title : "";
  return { parts, cut, title: seen, lang: document.documentElement.lang };
}
