"use strict";
// Shows values under the pointer; names reach the page through textContent only.
const all = JSON.parse(document.getElementById("data").textContent);
for (const figure of document.querySelectorAll("figure[data-chart]")) {
  const chart = all[Number(figure.dataset.chart)], svg = figure.querySelector("svg"), tip = figure.querySelector(".tip"), cross = svg.querySelector(".cross");
  const hide = () => { tip.style.visibility = cross.style.visibility = "hidden"; };
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
    const at = (event.clientX - box.left) * scale;
    if (at < chart.left || at > chart.right) return hide();
    const x = chart.x0 + (at - chart.left) / (chart.right - chart.left) * (chart.x1 - chart.x0);
    tip.textContent = "";
    const head = document.createElement("b");
    head.textContent = "step " + Math.round(x);
    tip.append(head);
    for (const line of chart.series) {
      if (!line.points.length) continue;
      const near = line.points.reduce((a, b) => Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a);
      const row = document.createElement("div"), swatch = document.createElement("i");
      swatch.className = line.style;
      const [low, high] = [line.low, line.high].map((edge) => (edge || []).find((point) => point[0] === near[0]));
      const interval = low && high ? ` (${low[1]} to ${high[1]})` : "";
      row.append(swatch, line.name + "  " + near[1] + interval);
      tip.append(row);
    }
    for (const end of ["x1", "x2"]) cross.setAttribute(end, at);
    cross.setAttribute("y1", chart.top); cross.setAttribute("y2", chart.bottom);
    const left = event.clientX - figure.getBoundingClientRect().left;
    tip.style.left = left > figure.clientWidth / 2 ? "auto" : left + 14 + "px";
    tip.style.right = left > figure.clientWidth / 2 ? figure.clientWidth - left + 14 + "px" : "auto";
    tip.style.top = event.clientY - figure.getBoundingClientRect().top - 10 + "px";
    tip.style.visibility = cross.style.visibility = "visible";
  });
}
