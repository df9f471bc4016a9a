panels("frames", (panel, { uris, names }) => {
  const images = [...panel.querySelectorAll(".strip img")];
  const slider = panel.querySelector("input");
  const button = panel.querySelector(".play");
  const number = panel.querySelector(".number");
  const layers = images.map((image) => image.alt);
  // milliseconds per frame
  const delay = matchMedia("(prefers-reduced-motion: reduce)").matches ? 500 : 80;
  let timer = 0;

  const show = () => {
    const i = slider.valueAsNumber;
    images.forEach((image, k) => {
      image.src = uris[k][i];
      image.alt = `${layers[k]}, frame ${names[i]}`;
    });
    number.textContent = names[i];
    slider.setAttribute("aria-valuetext", `frame ${names[i]}`);
  };
  const go = (i) => {
    slider.value = i;
    show();
  };
  const play = () => {
    if (timer) {
      clearInterval(timer);
      timer = 0;
    } else {
      timer = setInterval(() => go((slider.valueAsNumber + 1) % names.length), delay);
    }
    button.textContent = timer ? "Pause" : "Play";
  };

  slider.addEventListener("input", show);
  button.addEventListener("click", play);
  images.forEach((image) => image.addEventListener("click", play));
  panel.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || event.target === slider) return; // the slider handles its own keys
    event.preventDefault();
    go(clip(slider.valueAsNumber + step, 0, names.length - 1));
  });
  show(); // a browser restores the slider when it reloads a page
});
