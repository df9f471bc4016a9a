panels("curve", (panel, { names, x, lines }) => {
  const plot = panel.querySelector(".plot");
  const status = panel.querySelector(".value");
  const values = [...panel.querySelectorAll(".now")];
  const where = panel.querySelector(".where");
  const svg = (name, kind) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    element.setAttribute("class", kind);
    element.style.visibility = "hidden";
    return plot.appendChild(element);
  };
  const cursor = svg("line", "cursor");
  const dots = lines.map((_, k) => svg("circle", `dot s${k % 8}`));
  const percent = (share) => `${100 * share}%`;
  const marks = [...new Set(lines.flatMap((line) => line.px))].sort((a, b) => a - b);
  let at = -1;

  const nearest = (positions, target) => {
    let low = 0;
    let high = positions.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (positions[middle] < target) low = middle; else high = middle;
    }
    return target - positions[low] < positions[high] - target ? low : high;
  };
  const move = (element, attributes) => {
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.style.visibility = "visible";
  };
  const show = (mark) => {
    at = mark;
    move(cursor, { x1: percent(marks[at]), x2: percent(marks[at]), y1: "0", y2: "100%" });
    const readings = lines.map((line, k) => {
      const i = nearest(line.px, marks[at]);
      const observed = line.py[i] !== null;
      if (observed) move(dots[k], { cx: percent(line.px[i]), cy: percent(line.py[i]) });
      else dots[k].style.visibility = "hidden";
      values[k].textContent = formatNumber(line.y[i]);
      return `${names[k]} ${formatNumber(line.y[i])}`;
    });
    const line = lines[0];
    where.textContent = `${x} ${formatNumber(line.x[nearest(line.px, marks[at])])}`;
    status.textContent = `${where.textContent}: ${readings.join(", ")}`;
  };
  const hide = () => {
    [cursor, ...dots].forEach((element) => { element.style.visibility = "hidden"; });
    values.forEach((value) => { value.textContent = ""; });
    where.textContent = "";
    status.textContent = "";
  };

  const point = (event) => {
    const box = plot.getBoundingClientRect();
    show(nearest(marks, clip((event.clientX - box.left) / box.width, 0, 1)));
  };

  plot.addEventListener("pointermove", point);
  plot.addEventListener("pointerdown", point);
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -marks.length, End: marks.length };
    if (!(event.key in steps)) return;
    event.preventDefault();
    show(clip(at + steps[event.key], 0, marks.length - 1));
  });
});
