"""The report in a real browser: appearance, interaction, accessibility and printing."""

import re
from time import monotonic, sleep

import numpy as np
import pytest

import chromium
from thalweg import report
from thalweg._rooms import members

KINDS = members("thalweg.report")
COMPLAINTS = {"Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"}


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Return a browser, or skip."""
    program = chromium.find()
    if program is None:
        pytest.skip(f"no browser: install one of {', '.join(chromium.NAMES)}")
    browser = chromium.Browser(program, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def browser(running, page):
    """Return the browser with a fresh page, in light colours."""
    running.resize(1100, 800)
    running.media(prefers_color_scheme="light")
    running.open(page)
    return running


def text(browser, selector):
    return browser.run(f"document.querySelector({selector!r}).textContent")


def brightness(browser):
    """Return the brightness of the background."""
    return np.median(browser.picture("h1"))


def wait_for(condition, seconds=5.0):
    end = monotonic() + seconds
    while not condition() and monotonic() < end:
        sleep(0.02)
    return condition()


def test_no_console_messages_and_no_requests(browser, page):
    browser.picture()
    assert [event for event in browser.events if event["method"] in COMPLAINTS] == []
    requested = [
        event["params"]["request"]["url"]
        for event in browser.events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert [url for url in requested if not url.startswith("data:image/webp")] == [page.as_uri()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_panel_is_blank(browser, scheme):
    browser.media(prefers_color_scheme=scheme)
    for kind in KINDS:
        inside = browser.picture(f".panel.{kind}")[50:-8, 8:-8]  # without heading and border
        assert inside.std() > 3, kind
        assert len(np.unique(inside @ [1, 256, 65536])) > 20, kind  # colours
    assert browser.run("[...document.images].every((i) => i.complete && i.naturalWidth > 0)")


def test_pictures_match_the_input(browser, samples):
    """The mask on the screen equals the mask of the panel."""
    shown = browser.picture(".panel.frames figure:nth-child(2) img")[..., 0] > 127
    height, width = shown.shape
    mask = samples["frames"].layers["mask"][0]
    rows = ((np.arange(24) + 0.5) * height / 24).astype(int)
    columns = ((np.arange(32) + 0.5) * width / 32).astype(int)
    np.testing.assert_array_equal(shown[np.ix_(rows, columns)], mask)


def test_the_slider_changes_the_frame(browser):
    strip = ".panel.frames .strip"
    before = browser.picture(strip)
    assert text(browser, ".frames .number") == "10"
    browser.run("document.querySelector('.frames input').focus()")
    browser.press("ArrowRight")
    assert text(browser, ".frames .number") == "20"
    assert browser.run("document.querySelector('.frames input').ariaValueText") == "frame 20"
    assert browser.run("document.querySelector('.frames img').alt") == "input, frame 20"
    after = browser.picture(strip)
    assert (before != after).mean() > 0.2
    browser.press("ArrowLeft")
    np.testing.assert_array_equal(browser.picture(strip)[:50], before[:50])
    browser.click(".frames input")  # in the middle
    assert text(browser, ".frames .number") in {"30", "40"}


def test_arrow_keys_move_from_anywhere_in_the_strip(browser):
    browser.run("document.querySelector('.frames .play').focus()")
    browser.press("ArrowRight")
    browser.press("ArrowRight")
    assert text(browser, ".frames .number") == "30"
    for _ in range(9):
        browser.press("ArrowRight")
    assert text(browser, ".frames .number") == "60"


def test_play_and_pause(browser):
    browser.click(".frames .play")
    assert text(browser, ".frames .play") == "Pause"
    assert wait_for(lambda: text(browser, ".frames .number") != "10")
    browser.click(".frames .play")
    assert text(browser, ".frames .play") == "Play"
    stopped = text(browser, ".frames .number")
    sleep(0.2)
    assert text(browser, ".frames .number") == stopped


def test_the_button_changes_colours(browser):
    light = brightness(browser)
    browser.click(".theme")
    assert text(browser, ".theme") == "Light colours"
    assert light > 200 > 80 > brightness(browser)
    browser.click(".theme")
    assert brightness(browser) == light


def test_colours_follow_the_system(browser, page):
    browser.media(prefers_color_scheme="dark")
    browser.open(page)
    assert brightness(browser) < 80
    browser.click(".theme")
    assert brightness(browser) > 200


def test_pointing_at_a_heat_map_shows_values(browser, samples):
    table, outliers = samples["heat-map"].layers.values()
    browser.move(".heat-map canvas", x=3.5 / 6, y=10.5 / 30)
    reading = text(browser, ".heat-map .value")
    found = re.fullmatch(r"row 10, column d: data (\S+), outliers (\S+)", reading)
    assert float(found[1]) == pytest.approx(table[10, 3], rel=1e-3)
    assert float(found[2]) == outliers[10, 3]
    browser.move(".heat-map canvas", x=2.5 / 6, y=3.5 / 30)
    assert text(browser, ".heat-map .value").startswith("row 3, column c: data gap")


def test_the_selected_cell_is_marked_in_each_layer(browser):
    browser.move(".heat-map canvas", x=2.5 / 6, y=3.5 / 30)
    places = browser.run(
        "[...document.querySelectorAll('.map')].map((map) => {"
        "const [all, spot] = [...map.children].map((e) => e.getBoundingClientRect());"
        "return [(spot.x + spot.width / 2 - all.x) / all.width,"
        "(spot.y + spot.height / 2 - all.y) / all.height]; })"
    )
    np.testing.assert_allclose(places, [[2.5 / 6, 3.5 / 30]] * 2, atol=0.005)


def test_arrow_keys_read_a_heat_map(browser):
    browser.run("document.querySelector('.heat-map canvas').focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowUp"):
        browser.press(key)
    assert text(browser, ".heat-map .value").startswith("row 1, column a: data 0.")


def test_heat_maps_are_darker_where_values_are_larger(browser, samples):
    shown = browser.picture(".heat-map .map canvas").astype(float).sum(axis=2)
    table = samples["heat-map"].layers["data"]
    rows = ((np.arange(30) + 0.5) * shown.shape[0] / 30).astype(int)
    columns = ((np.arange(6) + 0.5) * shown.shape[1] / 6).astype(int)
    observed = ~np.isnan(table)
    order = np.argsort(table[observed])
    cells = shown[np.ix_(rows, columns)][observed][order]
    assert np.corrcoef(np.arange(len(cells)), cells)[0, 1] < -0.97


def test_pointing_at_a_curve_shows_values(browser):
    browser.move(".curve .plot", x=24 / 49)
    assert text(browser, ".curve .where") == "samples 24"
    assert [text(browser, f".curve li:nth-child({k}) .now") for k in (1, 2)] == ["0.04", "0.08"]
    assert text(browser, ".curve .value") == "samples 24: train 0.04, test 0.08"
    browser.move("h1")
    assert text(browser, ".curve .where") == ""
    browser.run("document.querySelector('.curve .plot').focus()")
    browser.press("ArrowRight")
    browser.press("ArrowRight")
    assert text(browser, ".curve .value") == "samples 26: train 0.03704, test 0.07407"


def test_the_dots_are_on_the_curves(browser):
    browser.move(".curve .plot", x=24 / 49)
    dots = browser.run(
        "[...document.querySelectorAll('.dot')].map((dot) => "
        "['cx', 'cy'].map((name) => parseFloat(dot.getAttribute(name))))"
    )
    paths = browser.run(
        "[...document.querySelectorAll('.line')].map((path) => [...Array(2000).keys()]"
        ".map((k) => path.getPointAtLength(path.getTotalLength() * k / 1999))"
        ".map((point) => [point.x / 10, point.y / 10]))"  # a drawing of 1000 by 1000, in percent
    )
    assert len(dots) == 2
    for dot, path in zip(dots, paths, strict=True):
        assert dot[0] == pytest.approx(100 * 24 / 49, abs=0.01)
        assert np.linalg.norm(np.array(path) - dot, axis=1).min() < 0.1
    assert dots[0][1] > dots[1][1]  # train is below test


def test_the_command_can_be_copied(browser):
    browser.click("button.copy")
    assert wait_for(lambda: text(browser, "button.copy") in {"Copied", "Selected"})
    if text(browser, "button.copy") == "Selected":
        assert browser.run("String(getSelection())") == "thalweg separate street.mp4"


def test_printing(browser):
    browser.media(prefers_color_scheme="dark")
    pages = browser.print_pages()
    assert pages.startswith(b"%PDF-")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", pages)) <= 6
    browser.call("Emulation.setEmulatedMedia", media="print")
    hidden = "[...document.querySelectorAll('button, input, nav')].every((e) => !e.offsetParent)"
    assert browser.run(hidden)
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    browser.call("Emulation.setEmulatedMedia", media="")


@pytest.mark.parametrize("width", [320, 700])
def test_narrow_windows_do_not_scroll_sideways(browser, width):
    browser.resize(width, 700)
    assert browser.run("document.documentElement.scrollWidth") <= width


def test_reduced_motion_disables_smooth_scrolling(browser):
    browser.media(prefers_reduced_motion="reduce")
    assert browser.run("getComputedStyle(document.documentElement).scrollBehavior") == "auto"


FAULTS = """(() => {
  const faults = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const fault = (what) => (e) => faults.push(`${what}: ${e.outerHTML.slice(0, 80)}`);
  const name = (e) => e.ariaLabel || e.textContent.trim();
  all("img").filter((e) => !e.alt.trim()).forEach(fault("no alt"));
  all("button, a, [tabindex='0'], input").filter((e) => !name(e)).forEach(fault("no name"));
  all("canvas, svg").filter((e) => !e.closest("[aria-hidden=true]") && !e.closest("[role]"))
    .forEach(fault("no role"));
  all("[aria-hidden=true] :is(a, button, input, [tabindex])").forEach(fault("hidden"));
  all("[aria-labelledby]")
    .filter((e) => !document.getElementById(e.getAttribute("aria-labelledby")))
    .forEach(fault("no label"));
  all("a[href]").filter((e) => !document.querySelector(e.hash)).forEach(fault("leads nowhere"));
  const ids = all("[id]").map((e) => e.id);
  if (new Set(ids).size < ids.length) faults.push("an id occurs twice");
  const levels = all("h1, h2, h3").map((e) => Number(e.tagName[1]));
  if (levels.lastIndexOf(1) !== 0) faults.push("one h1 should come first");
  if (levels.some((n, i) => i && n > levels[i - 1] + 1)) faults.push("a level is skipped");
  for (const mark of ["header", "main", "footer", "nav"]) {
    if (all(mark).length !== 1) faults.push(`there should be one ${mark}`);
  }
  if (!document.documentElement.lang || !document.title) faults.push("language and title");
  return faults;
})()"""

# Contrast of texts against their background, by the formula of WCAG 2.
CONTRASTS = """(() => {
  const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    const shown = e.checkVisibility() && e.tagName !== "SCRIPT";
    if (!shown || !walker.currentNode.textContent.trim()) continue;
    const style = getComputedStyle(e);
    const ink = parse(e instanceof SVGElement ? style.fill : style.color);
    const [low, high] = [light(ink), light(behind(e))].sort((a, b) => a - b);
    found.push([(high + 0.05) / (low + 0.05), e.outerHTML.slice(0, 80)]);
  }
  return found;
})()"""


def test_elements_have_accessible_names(browser):
    assert browser.run(FAULTS) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_enough_contrast(browser, scheme):
    browser.media(prefers_color_scheme=scheme)
    found = browser.run(CONTRASTS)
    assert len(found) > 40
    assert [(ratio, where) for ratio, where in found if ratio < 4.5] == []


def test_the_keyboard_reaches_everything_and_focus_is_visible(browser):
    reached = []
    focused = (
        "[document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle]"
    )
    for _ in range(40):
        browser.press("Tab")
        name, outline = browser.run(focused)
        if name == "BODY":
            break
        reached.append(name)
        assert outline == "solid", name
    wanted = {"A": 9, "BUTTON": 3, "INPUT": 1, "CANVAS": 2, "svg": 1, "PRE": 1}
    assert {name: reached.count(name) for name in wanted} == wanted


def test_injected_scripts_do_not_run(browser, tmp_path):
    attack = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
    table = [[1.0, 2.0]]
    panels = [
        report.HeatMap(attack, {attack: table}, [attack], [attack, "b"]),
        report.Curve(attack, [0, 1], {attack: [1, 2]}, xlabel=attack),
        report.Frames(attack, {attack: np.full((2, 4, 4), 0.5)}, numbers=[attack, attack]),
    ]
    browser.open(report.write(tmp_path / "a&<b>.html", attack, panels, command=attack))
    browser.move(".heat-map canvas")
    browser.move(".curve .plot")
    browser.run("document.querySelector('.frames input').focus()")
    browser.press("ArrowRight")
    assert text(browser, ".frames .number") == attack
    assert attack in text(browser, ".heat-map .value")
    assert browser.run("window.hacked === undefined")
    assert [event for event in browser.events if event["method"] in COMPLAINTS] == []


@pytest.mark.parametrize(
    "attempt",
    [
        "Object.assign(new Image(), {src: 'http://127.0.0.1:9/x.png'})",
        "fetch('http://127.0.0.1:9/').catch(() => {})",
        "document.body.append(Object.assign(document.createElement('script'), {text: 'hacked=1'}))",
    ],
)
def test_the_policy_forbids_network_and_foreign_scripts(browser, attempt):
    disposition = browser.run(
        "new Promise((resolve) => { document.addEventListener('securitypolicyviolation', "
        f"(event) => resolve(event.disposition)); {attempt}; setTimeout(resolve, 2000); }})"
    )
    assert disposition == "enforce"
    assert browser.run("window.hacked === undefined")
