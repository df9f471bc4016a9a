panels("heat-map", (panel, { rows, columns, maps }) => {
  // RGB. Sequential: lightness falls evenly from light to dark. Diverging: both ends are dark.
  const SHADES = {
    sequential: [[247, 244, 231], [190, 221, 207], [111, 183, 186], [45, 134, 165], [31, 84, 140], [27, 35, 84]],
    diverging: [[24, 66, 122], [72, 136, 190], [168, 205, 224], [245, 243, 238], [243, 184, 146], [213, 103, 58], [128, 40, 16]],
  };
  const status = panel.querySelector(".value");
  const canvases = [...panel.querySelectorAll(".map canvas")];
  const spots = [...panel.querySelectorAll(".spot")];
  let selected = [0, 0]; // row and column

  const colour = (fraction, shades) => {
    const x = clip(fraction, 0, 1) * (shades.length - 1);
    const i = Math.min(Math.floor(x), shades.length - 2);
    return shades[i].map((from, c) => from + (x - i) * (shades[i + 1][c] - from));
  };
  const unpack = (text) => new Float64Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);

  const paint = (canvas, map) => {
    const context = canvas.getContext("2d");
    const image = context.createImageData(columns.length, rows.length);
    map.values.forEach((value, i) => {
      if (Number.isNaN(value)) return; // transparent: the background shows the pattern of gaps
      const [low, high] = map.limits[(i % columns.length) % map.limits.length];
      const fraction = high > low ? (value - low) / (high - low) : 0.5;
      image.data.set([...colour(fraction, map.shades), 255], 4 * i);
    });
    context.putImageData(image, 0, 0);
  };
  const scale = (box, map) => {
    const bar = document.createElement("canvas");
    bar.width = 128;
    bar.height = 1;
    const context = bar.getContext("2d");
    for (let x = 0; x < bar.width; x += 1) {
      context.fillStyle = `rgb(${colour(x / 127, map.shades).map(Math.round).join(" ")})`;
      context.fillRect(x, 0, 1, 1);
    }
    const [low, high] = map.limits[0];
    const least = `${map.values.some((x) => x < low) ? "≤ " : ""}${formatNumber(low)}`;
    const most = `${map.values.some((x) => x > high) ? "≥ " : ""}${formatNumber(high)}`;
    box.append(...(map.limits.length > 1 ? ["low", bar, "high"] : [least, bar, most]));
  };
  const select = ([row, column]) => {
    selected = [row, column];
    const i = row * columns.length + column;
    const readings = maps.map((map) => `${map.name} ${formatNumber(map.values[i])}`);
    status.textContent = `row ${rows[row]}, column ${columns[column]}: ${readings.join(", ")}`;
    spots.forEach((spot) => {
      spot.hidden = false;
      spot.style.left = `${(100 * (column + 0.5)) / columns.length}%`;
      spot.style.top = `${(100 * (row + 0.5)) / rows.length}%`;
      spot.style.width = `${100 / columns.length}%`;
      spot.style.height = `${100 / rows.length}%`;
    });
  };

  maps.forEach((map, k) => {
    map.values = unpack(map.cells);
    map.shades = SHADES[map.diverging ? "diverging" : "sequential"];
    canvases[k].style.height = `${clip(1.6 * rows.length, 4, 22)}rem`;
    paint(canvases[k], map);
    scale(canvases[k].closest("figure").querySelector(".scale"), map);
  });
  canvases.forEach((canvas) => {
    const point = (event) => {
      const box = canvas.getBoundingClientRect();
      const index = (fraction, n) => clip(Math.floor(fraction * n), 0, n - 1);
      select([
        index((event.clientY - box.top) / box.height, rows.length),
        index((event.clientX - box.left) / box.width, columns.length),
      ]);
    };
    canvas.addEventListener("pointermove", point);
    canvas.addEventListener("pointerdown", point);
    canvas.addEventListener("keydown", (event) => {
      const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      const step = steps[event.key];
      if (!step) return;
      event.preventDefault();
      select([
        clip(selected[0] + step[0], 0, rows.length - 1),
        clip(selected[1] + step[1], 0, columns.length - 1),
      ]);
    });
  });
});
