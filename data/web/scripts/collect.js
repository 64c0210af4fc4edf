// Takes away what `mark` never saw drawn, and gives what is left: the body, the rules that match it, all addresses whole.
// `paths` are the page's own files; a picture that is none of them is taken away too.
(paths) => {
  const own = new Set(paths.map((path) => new URL(path.split("/").map(encodeURIComponent).join("/"), location.origin).href));
  const { drawn, media } = window.triviumSeen;
  const whole = (address, base) => {
    if (/^(data:|#)/i.test(address)) return address;
    try { return new URL(address, base).href; } catch { return ""; }
  };
  const urls = (text, base) =>
    text.replace(/url\("((?:[^"\\]|\\.)*)"\)/g, (_, address) => `url("${whole(address.replace(/\\(.)/g, "$1"), base)}")`);
  const drop = "script,style,link,meta,base,template,iframe,object,embed,video,audio,source,track,frame,portal,dialog:not([open])";
  const kept = "br,wbr,hr,option,optgroup,col,colgroup,map,area,td,th,tr,tbody,thead,tfoot,noscript";
  const body = document.body;

  for (const element of body.querySelectorAll(drop)) element.remove();
  // Icons written as words (`cloud_download`) for a font that was not to be had show as these words.
  const loaded = [...document.fonts].filter((font) => font.status === "loaded").map((font) => font.family.replace(/["']/g, ""));
  for (const element of body.querySelectorAll('[class*="material-icons"],[class*="material-symbols"]')) {
    const family = getComputedStyle(element).fontFamily.split(",")[0].replace(/["']/g, "").trim();
    if (/^\s*[a-z][a-z0-9_]*\s*$/.test(element.textContent) && !loaded.includes(family)) element.remove();
  }
  for (const element of [...body.querySelectorAll("noscript,picture")]) element.replaceWith(...element.childNodes);
  for (const element of [...body.querySelectorAll("*")]) {
    if (!element.isConnected || element.closest("svg,math")?.isConnected === true && !element.matches("svg,math")) continue;
    if (!drawn.has(element) && !(element.matches(kept) && drawn.has(element.parentElement))) element.remove();
  }
  const comments = document.createTreeWalker(body, NodeFilter.SHOW_COMMENT);
  for (const node of (() => { const all = []; while (comments.nextNode()) all.push(comments.currentNode); return all; })()) node.remove();
  for (const image of body.querySelectorAll("img")) {
    const address = whole(image.currentSrc || image.getAttribute("src") || "", document.baseURI);
    if (!address.startsWith("data:image/") && !own.has(address.replace(/[?#].*/, ""))) image.remove();
    else image.setAttribute("src", address);
  }
  for (const image of body.querySelectorAll("svg image,svg use")) {
    const address = image.getAttribute("href") || image.getAttributeNS("http://www.w3.org/1999/xlink", "href") || "";
    image.removeAttributeNS("http://www.w3.org/1999/xlink", "href");
    image.setAttribute("href", whole(address, document.baseURI));
  }
  for (const element of [document.documentElement, body, ...body.querySelectorAll("[style]")]) {
    if (element.getAttribute("style")) element.setAttribute("style", urls(element.style.cssText, document.baseURI));
  }

  // What an unfinished page shows: classes that nothing styles, and words for the program that was to fill it in.
  const classed = body.querySelectorAll("[class]").length;
  const styled = body.querySelectorAll("[style],[bgcolor]").length;
  const unfilled = (() => {
    const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
    const words = [];
    while (walker.nextNode()) {
      const at = walker.currentNode.parentElement;
      if (!at.closest("pre,code,kbd,samp,tt,var,textarea,svg,math")) words.push(walker.currentNode.data);
    }
    const found = words.join("\n").match(/@@(include|extend|if|for|loop)\b|\{%[^]{1,200}?%\}|<%[^]{1,200}?%>|\{\{[^{}]{1,100}\}\}/);
    return found ? found[0].replace(/\s+/g, " ").slice(0, 80) : "";
  })();

  const dynamic = /:(hover|focus|focus-visible|focus-within|active|visited|target|fullscreen|autofill|-webkit-autofill)(?![\w-])/;
  const pseudo = /::?(before|after|first-line|first-letter|marker|placeholder|selection|backdrop|file-selector-button|-webkit-[\w-]+|-moz-[\w-]+)(\([^)]*\))?/g;
  const parts = (selector) => {
    const found = [];
    let depth = 0, quote = "", start = 0;
    for (let at = 0; at < selector.length; at++) {
      const sign = selector[at];
      if (quote) { if (sign === quote) quote = ""; else if (sign === "\\") at++; }
      else if (sign === '"' || sign === "'") quote = sign;
      else if (sign === "(" || sign === "[") depth++;
      else if (sign === ")" || sign === "]") depth--;
      else if (sign === "," && !depth) { found.push(selector.slice(start, at).trim()); start = at + 1; }
    }
    return [...found, selector.slice(start).trim()];
  };
  const matches = (part) => {
    if (dynamic.test(part.replace(/:not\([^()]*\)/g, "")) || /::(selection|backdrop|-webkit-)/.test(part)) return false;
    const plain = part.replace(pseudo, "").trim().replace(/([>+~])$/, "$1 *") || "*";
    try { return !!document.querySelector(plain); } catch { return false; }
  };
  const walk = (rules, base) => {
    const found = [];
    for (const rule of rules) {
      const kind = rule.constructor.name;
      if (kind === "CSSStyleRule") {
        const selectors = parts(rule.selectorText).filter(matches);
        if (!selectors.length) continue;
        if (rule.cssRules.length) found.push({ kind: "nested", head: selectors.join(", "), body: urls(rule.cssText, base), rules: [] });
        else if (rule.style.length) found.push({ kind: "rule", head: selectors.join(", "), body: urls(rule.style.cssText, base), rules: [] });
      } else if (kind === "CSSImportRule" && rule.styleSheet) {
        const inner = walk(rule.styleSheet.cssRules, rule.styleSheet.href);
        if (!rule.media.mediaText) found.push(...inner);
        else if (media.has(rule.media.mediaText)) found.push({ kind: "block", head: `@media ${rule.media.mediaText}`, body: "", rules: inner });
      } else if (kind === "CSSMediaRule") {
        if (media.has(rule.media.mediaText)) found.push({ kind: "block", head: `@media ${rule.media.mediaText}`, body: "", rules: walk(rule.cssRules, base) });
      } else if (kind === "CSSSupportsRule") {
        if (CSS.supports(rule.conditionText)) found.push(...walk(rule.cssRules, base));
      } else if (kind === "CSSLayerBlockRule") {
        found.push({ kind: "block", head: `@layer ${rule.name}`.trim(), body: "", rules: walk(rule.cssRules, base) });
      } else if (kind === "CSSContainerRule") {
        found.push({ kind: "block", head: `@container ${rule.conditionText}`, body: "", rules: walk(rule.cssRules, base) });
      } else if (kind === "CSSLayerStatementRule") {
        found.push({ kind: "statement", head: rule.cssText, body: "", rules: [] });
      } else if (kind === "CSSFontFaceRule") {
        found.push({ kind: "font", head: rule.style.getPropertyValue("font-family").replace(/["']/g, ""), body: urls(rule.style.cssText, base), rules: [] });
      } else if (kind === "CSSKeyframesRule") {
        found.push({ kind: "frames", head: rule.name, body: urls(rule.cssText, base), rules: [] });
      } else if (kind === "CSSPropertyRule") {
        found.push({ kind: "property", head: rule.name, body: rule.cssText, rules: [] });
      }
    }
    return found;
  };
  const rules = [];
  for (const sheet of document.styleSheets) {
    let inner = [];
    try { inner = walk(sheet.cssRules, sheet.href || document.baseURI); } catch { continue; }
    const condition = sheet.media.mediaText;
    if (sheet.disabled || !media.has(condition)) continue;
    if (condition && condition !== "all" && condition !== "screen") rules.push({ kind: "block", head: `@media ${condition}`, body: "", rules: inner });
    else rules.push(...inner);
  }

  // Only classes, ids and other attributes that a kept rule, a link or a label speaks of.
  const heads = [];
  const gather = (all) => { for (const rule of all) { heads.push(rule.kind === "nested" ? rule.body : rule.head); gather(rule.rules); } };
  gather(rules);
  const css = heads.join("\n");
  const classes = new Set([...css.matchAll(/\.((?:[\w-]|[^\x00-\x7f]|\\.)+)/g)].map((found) => found[1].replace(/\\(.)/g, "$1")));
  const ids = new Set([...css.matchAll(/#((?:[\w-]|\\.)+)/g)].map((found) => found[1].replace(/\\(.)/g, "$1")));
  for (const element of body.querySelectorAll("[for]")) ids.add(element.getAttribute("for"));
  for (const found of body.innerHTML.matchAll(/(?:href="#|url\((?:&quot;|")?#)([^")&]+)/g)) ids.add(found[1]);
  const asked = new Set([...css.matchAll(/\[([\w-]+)/g)].map((found) => found[1].toLowerCase()));
  const fuzzy = asked.has("class"); // [class*="col-"] and the like
  const plain = /^(id|class|style|src|alt|href|for|type|value|placeholder|checked|selected|disabled|readonly|name|rows|cols|colspan|rowspan|width|height|lang|dir|start|min|max|open|size|span|label|bgcolor|color|align|valign|border|cellpadding|cellspacing|background|nowrap|face|reversed|multiple)$/;
  for (const element of [document.documentElement, body, ...body.querySelectorAll("*")]) {
    const drawing = element.closest("svg,math");
    for (const { name } of [...element.attributes]) {
      if (!(plain.test(name) || asked.has(name) || (drawing && !/^(on|data-|aria-)/.test(name)))) element.removeAttribute(name);
    }
    if (element.hasAttribute("class") && !fuzzy) {
      const left = [...element.classList].filter((name) => classes.has(name)).join(" ");
      if (left) element.setAttribute("class", left); else element.removeAttribute("class");
    }
    if (element.id && !ids.has(element.id) && !asked.has("id") || element.getAttribute("id") === "") element.removeAttribute("id");
    if (element.hasAttribute("name") && !asked.has("name")) element.removeAttribute("name");
    if (element.tagName === "A" && element.hasAttribute("href")) {
      const address = element.getAttribute("href");
      element.setAttribute("href", address.startsWith("#") ? address : "#");
    }
  }

  // White space where there was some already, never where there was none: the page stays as it is.
  const apart = "PRE,TEXTAREA,CODE";
  const lay = (node, depth) => {
    for (const child of [...node.childNodes]) {
      if (child.nodeType === 3) {
        const preserved = /^(pre|break-spaces)/.test(getComputedStyle(node).whiteSpace);
        if (preserved) continue;
        const text = child.data.replace(/[ \t\n\r\f]+/g, " ");
        if (text.trim() || !node.children.length) { child.data = text; continue; }
        const last = child === node.lastChild;
        child.data = "\n" + "  ".repeat(Math.max(0, last ? depth - 1 : depth));
      } else if (child.nodeType === 1) {
        lay(child, depth + 1);
      }
    }
  };
  body.normalize();
  lay(body, 0);
  const attributes = (element) => Object.fromEntries([...element.attributes].filter(({ name }) => name !== "xmlns").map(({ name, value }) => [name, value]));
  return {
    title: document.title.replace(/\s+/g, " ").trim(),
    quirks: document.compatMode !== "CSS1Compat",
    html: body.innerHTML,
    body: attributes(body),
    root: attributes(document.documentElement),
    text: body.innerText,
    elements: body.querySelectorAll("*").length,
    rules,
    classed,
    styled,
    unfilled,
  };
}
