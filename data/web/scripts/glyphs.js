// Characters of what is read in the picture for which no font has a glyph: they show as the box of a missing one.
// `area` is the picture's [left, top, right, bottom] in CSS pixels of the page. A character is drawn alone, in its own
// font and those that stand in for it, and compared with one that no font has.
({ area }) => {
  const NONE = "\u0378"; // in no Unicode yet
  const RARE = /[^\u0000-\u017f\s\p{M}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
  const SIZE = 32;
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 2 * SIZE;
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const picture = (character) => {
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.fillText(character, SIZE / 2, 1.5 * SIZE);
    return new Uint32Array(pen.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  };
  const known = new Map(); // by font, then by character: whether it is missing
  const missing = (font, character) => {
    if (!known.has(font)) known.set(font, new Map());
    const seen = known.get(font);
    if (!seen.has(character)) {
      pen.font = font;
      let same = Math.abs(pen.measureText(character).width - pen.measureText(NONE).width) < 0.01;
      if (same) {
        const none = picture(NONE);
        same = picture(character).every((pixel, at) => pixel === none[at]);
      }
      seen.set(character, same);
    }
    return seen.get(character);
  };
  const found = new Set();
  const look = (text, style) => {
    const font = `${style.fontStyle} ${style.fontWeight} ${SIZE}px ${style.fontFamily}`;
    for (const [character] of text.matchAll(RARE)) if (missing(font, character)) found.add(character);
  };
  const inside = (box) =>
    box.width > 0 && box.height > 0 && box.left + scrollX < area[2] && box.right + scrollX > area[0]
    && box.top + scrollY < area[3] && box.bottom + scrollY > area[1];
  const shown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const range = document.createRange();
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    const node = nodes.currentNode;
    if (node.data.search(RARE) < 0 || !shown(node.parentElement) || node.parentElement.closest("select,textarea")) continue;
    range.selectNodeContents(node);
    if (inside(range.getBoundingClientRect())) look(node.data, getComputedStyle(node.parentElement));
  }
  for (const element of document.body.querySelectorAll("*")) {
    const field = element.matches("input,textarea") ? element.value || element.placeholder || ""
      : element.matches("select") ? element.selectedOptions[0]?.text ?? "" : "";
    const signs = ["::before", "::after"].map((name) => getComputedStyle(element, name))
      .filter((style) => style.content.search(RARE) >= 0);
    if ((field.search(RARE) < 0 && !signs.length) || !shown(element) || !inside(element.getBoundingClientRect())) continue;
    look(element.type === "password" ? "" : field, getComputedStyle(element));
    for (const style of signs) for (const [text] of style.content.matchAll(/"(?:[^"\\]|\\.)*"/g)) look(text, style);
  }
  return Array.from(found).slice(0, 40).join("");
}
