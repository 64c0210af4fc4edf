// Writes down what this window draws, above `cut` pixels, and which media conditions hold in it. Called once a window.
(cut) => {
  const seen = (window.triviumSeen ??= { drawn: new Set(), media: new Set() });
  for (const element of document.body.querySelectorAll("*")) {
    const rects = element.getClientRects();
    if (rects.length && (!cut || element.getBoundingClientRect().top + scrollY < cut)) {
      for (let at = element; at && !seen.drawn.has(at); at = at.parentElement) seen.drawn.add(at);
    }
  }
  const walk = (rules) => {
    for (const rule of rules) {
      const media = rule.media;
      if (media && matchMedia(media.mediaText).matches) seen.media.add(media.mediaText);
      if (rule.styleSheet) walk(rule.styleSheet.cssRules);
      else if (rule.cssRules && !(rule instanceof CSSStyleRule)) walk(rule.cssRules);
    }
  };
  for (const sheet of document.styleSheets) {
    if (!sheet.media.mediaText || matchMedia(sheet.media.mediaText).matches) seen.media.add(sheet.media.mediaText);
    try { walk(sheet.cssRules); } catch { /* a sheet that did not load */ }
  }
}
