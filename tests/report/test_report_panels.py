"""Each kind of panel follows the protocol, shows its input and validates it."""

import dataclasses
import json
import re
import sys
from base64 import b64decode
from html.parser import HTMLParser
from io import BytesIO
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from PIL import Image

from thalweg import metrics, report, synthetic
from thalweg._rooms import members
from thalweg.errors import DependencyError, InputError, ParameterError
from thalweg.report._axes import Axis
from thalweg.report._blocks import block_edges, block_max_abs, block_means, extreme_points
from thalweg.report._images import embed
from thalweg.report._text import evenly_spaced, format_number

KINDS = members("thalweg.report")
WITHOUT_PICTURES = {"curve", "facts", "heat-map", "ranking"}
URI = re.compile(r'src="(data:image/webp;base64,[^"]+)"')


def pixels(uri):
    file = BytesIO(b64decode(uri.partition(",")[2]))
    return np.asarray(Image.open(file, formats=["WEBP"]).convert("RGBA"))


def data_of(panel):
    text = re.search(r'<script type="application/json">(.*?)</script>', panel.html()).group(1)
    return json.loads(text)


class Balance(HTMLParser):
    """Raise unless elements are properly nested."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs)
        if tag not in {"br", "img", "input", "meta"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", KINDS)
def test_contract(samples, name):
    panel = samples[name]
    assert isinstance(panel, report.Panel)
    assert dataclasses.is_dataclass(panel)
    with pytest.raises(dataclasses.FrozenInstanceError):
        panel.title = "other"
    assert getattr(report, type(panel).__name__) is KINDS[name]
    assert panel.html() == panel.html()


@pytest.mark.parametrize("name", KINDS)
def test_markup_is_balanced(samples, name):
    balance = Balance()
    balance.feed(samples[name].html())
    assert balance.open == []


@pytest.mark.parametrize("title", ["", "  ", None, 3])
@pytest.mark.parametrize("name", KINDS)
def test_invalid_titles(samples, name, title):
    with pytest.raises(ParameterError, match="title must be a non-empty string"):
        dataclasses.replace(samples[name], title=title)


@pytest.mark.parametrize("name", sorted(KINDS.keys() - WITHOUT_PICTURES))
def test_pictures_need_pillow(samples, name, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(DependencyError, match=r"needs Pillow.*pip install 'thalweg\[app\]'"):
        samples[name].html()


@pytest.mark.parametrize("name", sorted(WITHOUT_PICTURES))
def test_other_panels_do_not_need_pillow(samples, name, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    assert samples[name].html()


RNG = np.random.default_rng(0)
FILM = RNG.random((3, 8, 9))
TABLE = RNG.random((4, 5))
WITH_INF = np.where(np.arange(8 * 9).reshape(8, 9) == 7, np.inf, FILM)


@pytest.mark.parametrize("films", [report.Frames, report.Pairs])
@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ({}, "dict from names to values, got an empty dict"),
        (FILM, "dict from names to values, got ndarray"),
        ({"a": FILM[0]}, r"'a' must be an array of shape \(n, height, width\).* got .*\(8, 9\)"),
        ({"a": FILM[:0]}, r"'a' must be .* got .*\(0, 8, 9\)"),
        ({"a": FILM[:, :0]}, r"'a' must be .* got .*\(3, 0, 9\)"),
        ({"a": FILM[..., None]}, r"'a' must be .* got .*\(3, 8, 9, 1\)"),
        ({"a": FILM.astype(str)}, "'a' must be .* of floats, uint8 or bool, got <U"),
        ({"a": FILM.astype(complex)}, "'a' must be .* got complex128"),
        ({"a": FILM.astype(np.uint16)}, "'a' must be uint8 .* got uint16. Divide"),
        ({"a": WITH_INF}, "'a' must be finite .* got inf"),
        ({"a": 255 * FILM}, "'a' must be between 0 and 1, got mostly larger values"),
        ({"a": FILM, "b": FILM[:2]}, r"\(3, 8, 9\) for 'a' and \(2, 8, 9\) for 'b'"),
    ],
)
def test_invalid_films(films, layers, message):
    with pytest.raises((InputError, ParameterError), match=message):
        films("Film", layers)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: report.Frames("F", {"a": FILM, "b": FILM[:, 1:]}), "for 'b'"),
        (lambda: report.Frames("F", {"a": FILM}, numbers=[1]), "with 3 entries, got 1 entries"),
        (lambda: report.Frames("F", {"a": FILM}, numbers="012"), "with 3 entries, got '012'"),
        (lambda: report.Frames("F", {3: FILM}), "each name in layers must be a non-empty string"),
        (lambda: report.Mosaic("M", FILM[0]), r"images must be .* got .*\(8, 9\)"),
        (lambda: report.Mosaic("M", FILM, labels=["a"]), "labels must be a list with 3"),
        (lambda: report.Mosaic("M", WITH_INF[None]), "images must be"),
        (lambda: report.Picture("P", FILM), r"image must be .*\(height, width\)"),
        (lambda: report.Picture("P", 200 + FILM[0]), "image must be between 0 and 1"),
        (lambda: report.Ranking("R", {}), "groups must be a non-empty dict"),
        (lambda: report.Ranking("R", {"a": []}), "group 'a' must be a non-empty list of .* pairs"),
        (lambda: report.Ranking("R", {"a": [("x", np.inf)]}), "group 'a' must be .* finite"),
        (lambda: report.Ranking("R", {"a": [("x", "y")]}), "group 'a' must be"),
        (lambda: report.Ranking("R", {"a": ["x"]}), "group 'a' must be"),
        (lambda: report.HeatMap("H", {"a": TABLE[0]}), r"'a' must be .* got shape \(5,\)"),
        (lambda: report.HeatMap("H", {"a": TABLE[:0]}), r"'a' must be .* got shape \(0, 5\)"),
        (lambda: report.HeatMap("H", {"a": TABLE, "b": TABLE.T}), r"\(5, 4\) for 'b'"),
        (lambda: report.HeatMap("H", {"a": TABLE / 0.0}), "'a' must be finite"),
        (lambda: report.HeatMap("H", {"a": [["x"]]}), "'a' must be numbers"),
        (lambda: report.HeatMap("H", {"a": TABLE}, row_labels=["x"]), "row_labels .* 4 entries"),
        (lambda: report.HeatMap("H", {"a": TABLE}, column_labels="abcde"), "column_labels .*5"),
        (lambda: report.Curve("C", [], {"a": []}), r"x must be .* got shape \(0,\)"),
        (lambda: report.Curve("C", [2, 1], {"a": [1, 2]}), "x must be finite and non-decreasing"),
        (lambda: report.Curve("C", [1, np.nan], {"a": [1, 2]}), "x must be finite"),
        (lambda: report.Curve("C", [1, 2], {"a": [1]}), r"\(2,\) for 'x' and \(1,\) for 'a'"),
        (lambda: report.Curve("C", [1, 2], {"a": [1, -np.inf]}), "'a' must be finite"),
        (lambda: report.Curve("C", [1, 2], {"a": [1, 1e305]}), "'a' .* below 1e300.* got 1e\\+305"),
        (lambda: report.Facts("F", {}), "values must be a non-empty dict"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_invalid_values(make, message):
    with pytest.raises((InputError, ParameterError), match=message):
        make()


@pytest.mark.parametrize("shape", [(9, 7), (9, 7, 3), (90, 71), (90, 71, 3)])
def test_embedded_pictures_match_the_input(shape):
    smooth = sum(np.mgrid[: shape[0], : shape[1]]) / sum(shape[:2])
    image = np.repeat(smooth[..., None], 3, axis=2) * [1, 0.5, 0.2] if len(shape) == 3 else smooth
    image[2:4, 3] = np.nan
    found = pixels(embed(image))
    observed = ~np.isnan(image).any(axis=2) if len(shape) == 3 else ~np.isnan(image)
    np.testing.assert_array_equal(found[..., 3] > 0, observed)
    truth = np.broadcast_to(image.T, (3, *image.T.shape[-2:])).T[observed]
    quality = metrics.psnr(truth, found[observed][:, :3] / 255)
    assert quality > (50 if smooth.size < 100 else 38)


def test_small_images_and_masks_are_lossless():
    whole = RNG.integers(0, 256, (20, 30, 3), dtype=np.uint8)
    np.testing.assert_array_equal(pixels(embed(whole))[..., :3], whole)
    mask = RNG.random((120, 160)) > 0.5
    np.testing.assert_array_equal(pixels(embed(mask))[..., 0], 255 * mask)


def test_maps_of_classes_are_lossless():
    colours = RNG.integers(0, 256, (20, 3), dtype=np.uint8)
    classes = colours[RNG.integers(0, 20, (90, 120))]
    (uri,) = URI.findall(report.Picture("Map", classes).html())
    np.testing.assert_array_equal(pixels(uri)[..., :3], classes)


def test_a_colour_picture_has_a_gap_where_one_colour_is_missing():
    image = np.full((4, 4, 3), 0.5)
    image[1, 2, 0] = np.nan
    assert (pixels(embed(image))[..., 3] == 0).sum() == 1


def test_values_outside_0_1_are_clipped():
    found = pixels(embed(np.array([[-0.5, 0.0, 1.0, 1.5]])))[0, :, 0]
    np.testing.assert_array_equal(found, [0, 0, 255, 255])


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_basis_images_are_scaled_separately(scale):
    images = scale * np.array([[[0.0, 1.0]], [[5.0, 9.0]], [[3.0, 3.0]]])
    uris = URI.findall(report.Mosaic("Parts", images).html())
    found = [pixels(uri)[0, :, 0].tolist() for uri in uris]
    assert found == [[0, 255], [0, 255], [128, 128]]


def test_numbers_label_the_frames():
    about = data_of(report.Frames("Film", {"a": FILM}, numbers=["x", 7, 8]))
    assert about["names"] == ["x", "7", "8"]
    assert data_of(report.Frames("Film", {"a": FILM}))["names"] == ["0", "1", "2"]


def test_long_films_are_subsampled_with_a_note():
    panel = report.Frames("Film", {"a": np.zeros((5000, 4, 4), dtype=np.uint8)})
    names = data_of(panel)["names"]
    assert len(names) <= 240
    assert (names[0], names[-1]) == ("0", "4999")
    assert np.ptp(np.diff(np.array(names, dtype=int))) <= 1
    assert "Showing 240 of 5000 frames" in panel.html()


def test_large_films_are_downscaled_with_a_note():
    panel = report.Frames("Film", {"a": np.zeros((2, 480, 640)), "b": np.zeros((2, 480, 640))})
    assert pixels(data_of(panel)["uris"][0][0]).shape[:2] == (240, 320)
    assert "480 x 640 pixels are downscaled" in panel.html()


def test_a_film_of_200_frames_is_small():
    scene = synthetic.moving_scene(200, random_state=0)
    film, background = (part.reshape(200, 120, 160) for part in scene[:2])
    layers = {
        "input": film,
        "background": background,
        "foreground": np.clip(0.5 + (film - background) / 2, 0, 1),
        "mask": scene.mask.reshape(200, 120, 160),
    }
    markup = report.Frames("Film", layers).html()
    assert len(markup) < 6e6
    assert markup.count("data:image/webp") == 4 + 4 * 200


def test_heat_maps_contain_the_values():
    table = np.where(RNG.random((7, 5)) < 0.2, np.nan, 1e8 * TABLE.sum())
    about = data_of(report.HeatMap("Wells", {"data": table}))
    cells = np.frombuffer(b64decode(about["maps"][0]["cells"])).reshape(7, 5)
    np.testing.assert_allclose(cells, table, rtol=1e-15)
    assert about["rows"] == list("0123456")


def test_layers_share_a_scale_except_diverging_ones():
    outliers = np.where(TABLE > 0.9, -3.0, 0.0)
    outliers[0, 0] = 2.0
    layers = {"data": TABLE, "completed": TABLE / 2, "outliers": outliers}
    data, completed, found = data_of(report.HeatMap("Wells", layers))["maps"]
    assert data["limits"] == completed["limits"]
    both = np.concatenate([TABLE, TABLE / 2])
    np.testing.assert_allclose(data["limits"][0], np.quantile(both, [0.01, 0.99]))
    assert not data["diverging"]
    assert found["diverging"]
    assert found["limits"][0][0] == -found["limits"][0][1]
    assert 2.0 <= found["limits"][0][1] <= 3.0


def test_columns_can_have_their_own_scales():
    units = 10.0 ** np.arange(5)
    panel = report.HeatMap("Wells", {"data": TABLE * units}, by_column=True)
    low, high = np.array(data_of(panel)["maps"][0]["limits"]).T
    np.testing.assert_allclose(low, np.quantile(TABLE * units, 0.01, axis=0))
    np.testing.assert_allclose(high, np.quantile(TABLE * units, 0.99, axis=0))


def test_large_tables_are_reduced_with_a_note():
    panel = report.HeatMap(
        "Wells", {"data": np.ones((1000, 500)), "gone": np.full((1000, 500), np.nan)}
    )
    about = data_of(panel)
    assert (len(about["rows"]), len(about["columns"])) == (160, 120)
    assert about["rows"][0] == "0 to 5"
    assert "1000 x 500 values are shown as 160 x 120 blocks" in panel.html()


def naive_blocks(table, rows, columns, reduce):
    return np.array(
        [
            [reduce(table[a:b, c:d][~np.isnan(table[a:b, c:d])]) for c, d in pairwise(columns)]
            for a, b in pairwise(rows)
        ]
    )


@pytest.mark.parametrize("scale", [1.0, 1e299])
def test_blocks_against_naive_loops(scale):
    table = scale * RNG.normal(size=(23, 17))
    table[RNG.random(table.shape) < 0.5] = np.nan
    table[:6, :6] = np.nan
    rows, columns = block_edges(23, 5), block_edges(17, 4)

    def mean(values):
        return (values / len(values)).sum() if len(values) else np.nan

    def extreme(values):
        return values[np.abs(values).argmax()] if len(values) else np.nan

    np.testing.assert_allclose(
        block_means(table, rows, columns), naive_blocks(table, rows, columns, mean)
    )
    np.testing.assert_array_equal(
        block_max_abs(table, rows, columns), naive_blocks(table, rows, columns, extreme)
    )


def test_long_curves_keep_their_peaks():
    y = RNG.random(100_000)
    y[[1234, 77_777]] = 9.0, -9.0
    y[5000:9000] = np.nan
    chosen = extreme_points(y, 1200)
    assert len(chosen) <= 1202
    assert {0, 1234, 77_777, 99_999} <= set(chosen.tolist())
    assert np.isnan(y[chosen]).any()
    assert (np.diff(chosen) > 0).all()


def test_lines_break_at_gaps():
    values = [1.0, 2.0, np.nan, 3.0, np.nan, 4.0, 5.0]
    path = re.search(r' d="([^"]+)"', report.Curve("C", range(7), {"a": values}).html()).group(1)
    assert re.sub(r"[^ML]", "", path) == "MLMML"


def test_nonpositive_values_are_gaps_of_a_logarithmic_curve():
    about = data_of(report.Curve("C", range(4), {"a": [100.0, 0.0, -1.0, 1.0]}, log=True))
    places = about["lines"][0]["py"]
    assert places[1:3] == [None, None]
    assert places[0] < 0.1 < 0.9 < places[3]


@pytest.mark.parametrize("y", [[np.nan] * 3, [0.0] * 3, [1e-300] * 3, [-1e299, 0, 1e299]])
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("x", [[0, 0, 0], [-1e299, 0, 1e299], [7, 8, 9]])
def test_curves_of_any_range(x, y, log):
    about = data_of(report.Curve("C", x, {"a": y}, log=log))
    places = [p for line in about["lines"] for p in line["px"] + line["py"] if p is not None]
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)


@given(st.floats(-1e12, 1e12), st.floats(1e-9, 1e12), st.booleans(), st.integers(3, 9))
def test_ticks_are_round_and_on_the_axis(low, length, log, most):
    values = np.array([low, low + length])
    axis = Axis.covering(np.abs(values) + 1e-9 if log else values, log)
    ticks = axis.ticks(most)
    assert len(ticks) <= most + 1
    places, length = axis.position(ticks), np.ptp(values)
    # tolerance for rounding: an axis may be only a few floating-point spacings long
    near = 1e-6 + 4 * (np.spacing(np.abs(values).max()) / length if length else 0.0)
    assert ((places > -near) & (places < 1 + near)).all()
    assert (np.diff(ticks) >= 0).all()


def test_ticks_of_known_axes():
    assert Axis(0, 100).ticks() == [0, 20, 40, 60, 80, 100]
    assert Axis(-0.25, 0.3).ticks() == [-0.2, -0.1, 0.0, 0.1, 0.2, 0.3]
    assert Axis(-3, 2, log=True).ticks() == [1e-3, 1e-2, 1e-1, 1, 10, 100]
    assert Axis(1.00001, 1.00003).labels() == [
        "1.00001",
        "1.000015",
        "1.00002",
        "1.000025",
        "1.00003",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(0.1), "0.1"),
        (1e-7, "1e-07"),
        (12345.0, "12\u202f345"),
        (-1234567, "-1\u202f234\u202f567"),
        (1234.5678, "1235"),
        (np.int64(9999), "9999"),
        (np.True_, "yes"),
        (None, "none"),
        ((3, 4), "(3, 4)"),
    ],
)
def test_format_number(value, text):
    assert format_number(value) == text


@pytest.mark.parametrize(("n", "most"), [(1, 5), (5, 5), (6, 5), (1000, 7)])
def test_evenly_spaced(n, most):
    chosen = evenly_spaced(n, most)
    assert len(chosen) == min(n, most)
    assert (chosen[0], chosen[-1]) == (0, n - 1)
