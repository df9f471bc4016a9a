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

  const nearest = (places, share) => {
    let low = 0;
    let high = places.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (places[middle] < share) low = middle; else high = middle;
    }
    return share - places[low] < places[high] - share ? low : high;
  };
  const place = (element, attributes) => {
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.style.visibility = "visible";
  };
  const show = (mark) => {
    at = mark;
    place(cursor, { x1: percent(marks[at]), x2: percent(marks[at]), y1: "0", y2: "100%" });
    const told = lines.map((line, k) => {
      const i = nearest(line.px, marks[at]);
      const seen = line.py[i] !== null;
      if (seen) place(dots[k], { cx: percent(line.px[i]), cy: percent(line.py[i]) });
      else dots[k].style.visibility = "hidden";
      values[k].textContent = figure(line.y[i]);
      return `${names[k]} ${figure(line.y[i])}`;
    });
    const line = lines[0];
    where.textContent = `${x} ${figure(line.x[nearest(line.px, marks[at])])}`;
    status.textContent = `${where.textContent}: ${told.join(", ")}`;
  };
  const hide = () => {
    [cursor, ...dots].forEach((element) => { element.style.visibility = "hidden"; });
    values.forEach((value) => { value.textContent = ""; });
    where.textContent = "";
    status.textContent = "";
  };

  const point = (event) => {
    const box = plot.getBoundingClientRect();
    show(nearest(marks, within((event.clientX - box.left) / box.width, 0, 1)));
  };

  plot.addEventListener("pointermove", point);
  plot.addEventListener("pointerdown", point);
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -marks.length, End: marks.length };
    if (!(event.key in steps)) return;
    event.preventDefault();
    show(within(at + steps[event.key], 0, marks.length - 1));
  });
});
