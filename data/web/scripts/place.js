// The page's own box, or that of the first element that `part` finds with `margin` around it; null when it is not drawn.
({ part, margin }) => {
  const root = document.documentElement;
  const [width, height] = [innerWidth, Math.max(innerHeight, root.scrollHeight)];
  if (!part) return [0, 0, width, height];
  const element = document.querySelector(part);
  if (!element?.checkVisibility()) return null;
  const box = element.getBoundingClientRect();
  return [
    Math.max(0, Math.floor(box.left + scrollX - margin)),
    Math.max(0, Math.floor(box.top + scrollY - margin)),
    Math.min(width, Math.ceil(box.right + scrollX + margin)),
    Math.min(height, Math.ceil(box.bottom + scrollY + margin)),
  ];
}
