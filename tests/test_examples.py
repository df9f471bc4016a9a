"""The examples run, on small generated data and on the real ones, and find what they should."""

import numpy as np
import pytest
from benchmarks.shared.examples import example as load

from thalweg import metrics

pytest.importorskip("matplotlib", reason="the examples draw")


@pytest.fixture
def topics(monkeypatch):
    """Return the example, with the methods that are quick."""
    module = load("topics")
    methods = {name: method for name, method in module.METHODS.items() if "200" not in name}
    assert len(methods) == 3
    monkeypatch.setattr(module, "METHODS", methods)
    return module


@pytest.fixture
def music():
    return load("music")


@pytest.fixture
def faces():
    return load("faces")


@pytest.fixture
def track_video():
    return load("track_video")


@pytest.fixture
def jump():
    return load("jump")


def run(module, data, output, *more):
    return module.main(["--data", str(data), "--output", str(output), *more])


def is_picture(path):
    return path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size < 400_000


# Real data


@pytest.mark.slow
def test_topics_are_the_sections_of_the_news(topics, shared_data, tmp_path, capsys):
    results = run(topics, shared_data("bbc_news.npz").parent, tmp_path)
    online, batch = results["OnlineNMF, 10 epochs"], results["DivergenceNMF"]
    assert online.purity >= 0.85
    np.testing.assert_array_equal(online.table.argmax(axis=1), range(5))
    assert {"market", "film", "labour", "game", "phone"} < {w for row in online.words for w in row}
    assert online.held_out < 1.005 * batch.held_out
    assert online.held_out < results["MiniBatchNMF, 10 epochs"].held_out
    assert is_picture(tmp_path / "topics.png")
    assert str(tmp_path / "topics.png") in capsys.readouterr().out


@pytest.mark.slow
def test_templates_are_the_notes_of_the_trumpet(music, shared_data, tmp_path, capsys):
    data = shared_data("audio_ccby.npz").parent
    result = run(music, data, tmp_path, "--starts", "2")
    assert result.of_mean > 4.0 * result.divergence
    names = {music.note(frequency).split()[0] for frequency in result.pitches}
    assert {"F4", "A♭4", "B♭4", "C5", "E♭5"} <= names
    assert is_picture(tmp_path / "music.png")
    assert music.CREDIT in capsys.readouterr().out


def test_huber_cleans_faces_better_than_squares(faces, shared_data, tmp_path, monkeypatch):
    monkeypatch.setattr(faces, "LOSSES", ("huber", "squared-l2"))
    results = run(faces, shared_data("orl_32x32.npz").parent, tmp_path)
    huber, squares = results["huber"], results["squared-l2"]
    assert huber.all > squares.all + 2.0
    assert huber.plain > squares.plain + 3.0
    assert huber.shaded > squares.shaded + 1.0
    assert is_picture(tmp_path / "faces.png")


@pytest.mark.slow
def test_people_are_taken_off_the_videos(track_video, shared_data, tmp_path):
    results = run(track_video, shared_data("i2r_hall.npz").parent, tmp_path)
    for scene in ("hall", "buffet"):
        ours, grasta = (results[scene][name].scores for name in ("PETRELS-ADMM", "GRASTA"))
        assert ours.f1 > 0.6
        assert ours.f1 > grasta.f1 - 0.05
    assert is_picture(tmp_path / "video.png")


def test_codes_recognise_faces(shared_data):
    recognition = load("recognition")
    X, labels = recognition.load(shared_data("orl_32x32.npz"))
    score = recognition.recognise(X, labels, "MOR-NMF", 25, 5, trials=1)
    assert score.mean > 0.75  # 1 in 40 by chance
    assert score.mean > recognition.recognise(X, labels, "ONMF", 25, 5, trials=1).mean


def test_codes_annotate_as_well_as_the_features(shared_data):
    annotation = load("annotation")
    data = annotation.load(shared_data("indian_pines.npz"))
    assert data.words.shape[1] == 16
    codes = annotation.annotate(data, "MOR-NMF", 20, trials=2)
    features = annotation.annotate(data, None, 0, trials=2)
    assert codes.normalised > features.normalised - 0.02


# Generated data, of which everything is known


@pytest.fixture
def small_news(tmp_path):
    """Return a folder with 250 articles of five sections, each with twelve words of its own."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(5), 50)
    rates = np.full((250, 80), 0.05)  # twenty words belong to nobody
    for label in range(5):
        rates[labels == label, 12 * label : 12 * (label + 1)] = 1.5
    counts = rng.poisson(rates)
    where = np.nonzero(counts)
    np.savez(
        tmp_path / "bbc_news.npz",
        data=counts[where].astype(np.uint8),
        indices=where[1].astype(np.uint16),
        indptr=np.append(0, np.cumsum((counts > 0).sum(axis=1))).astype(np.int32),
        shape=np.array(counts.shape, dtype=np.int32),
        terms=np.array([f"w{j}" for j in range(80)]),
        labels=labels.astype(np.uint8),
        label_names=np.array(["a", "b", "c", "d", "e"]),
    )
    return tmp_path


def test_weights_of_terms_are_those_of_the_paper(topics, small_news):
    corpus = topics.load(small_news / "bbc_news.npz")
    with np.load(small_news / "bbc_news.npz") as data:
        counts = np.zeros(data["shape"])
        rows = np.repeat(np.arange(250), np.diff(data["indptr"]))
        counts[rows, data["indices"]] = data["data"]
    for i, j in [(0, 0), (3, 7), (249, 59), (100, 79)]:
        v, n = counts[i, j], np.count_nonzero(counts[:, j])
        weight = (1 + np.log(v)) * np.log(250 / n) if v else 0.0
        assert corpus.X[i, j] == pytest.approx(weight)


def test_only_the_terms_of_largest_weight_are_kept(topics, small_news, monkeypatch):
    everything = topics.load(small_news / "bbc_news.npz")
    monkeypatch.setattr(topics, "TERMS", 30)
    corpus = topics.load(small_news / "bbc_news.npz")
    weights = np.sort(everything.X.sum(axis=0))
    np.testing.assert_allclose(np.sort(corpus.X.sum(axis=0)), weights[-30:])
    assert corpus.terms.shape == (30,)


def test_topics_of_known_sections_are_found(topics, small_news, tmp_path):
    results = run(topics, small_news, tmp_path / "new" / "folder")
    online = results["OnlineNMF, 10 epochs"]
    assert online.purity > 0.97
    for label, words in enumerate(online.words):
        assert set(words) <= {f"w{j}" for j in range(12 * label, 12 * (label + 1))}
    assert online.table.sum() == 250
    assert is_picture(tmp_path / "new" / "folder" / "topics.png")


def test_notes_of_a_known_melody_are_found(music, tmp_path):
    rate, melody = 22050, (349.2, 440.0, 523.3, 440.0, 349.2)
    t = np.arange(int(0.5 * rate)) / rate
    sound = np.concatenate(
        [sum(np.sin(2 * np.pi * h * f * t) / h for h in range(1, 9)) for f in melody]
    )
    sound = 8000 * sound / np.abs(sound).max()
    sound += np.random.default_rng(0).standard_normal(len(sound))
    np.savez(tmp_path / "audio_ccby.npz", trumpet=sound.astype(np.int16), sr=np.int32(rate))
    spectrogram = music.spectrogram(*music.load(tmp_path / "audio_ccby.npz"))
    result = music.fit(spectrogram, starts=2, n_components=4)
    names = {music.note(frequency).split()[0] for frequency in result.pitches}
    assert {"F4", "A4", "C5"} <= names
    assert result.of_mean > 3.0 * result.divergence
    music.draw(spectrogram, result, tmp_path / "music.png")
    assert is_picture(tmp_path / "music.png")


def test_noise_has_no_pitch(music):
    frequencies = np.linspace(music.LOWEST, music.HIGHEST, 446)
    noise = np.random.default_rng(0).uniform(0.5, 1.0, 446)
    assert music.note(music.pitch(noise, frequencies)) == "no pitch"
    assert music.note(440.0) == "A4  440 Hz"


def test_spoilt_faces_are_spoilt_as_said(faces):
    clean = np.full((400, 1024), 0.5)
    data = faces.spoil(clean, (32, 32), np.random.default_rng(0))
    plain = data.noisy[~data.shaded]
    assert np.mean(plain != 0.5) == pytest.approx(0.3, abs=0.01)
    assert np.mean(data.shaded) == pytest.approx(0.25, abs=0.07)
    dark = np.isclose(data.noisy, 0.5 * faces.DARK)
    assert not dark[~data.shaded].any()
    assert dark[data.shaded].any(axis=1).mean() > 0.9
    assert data.noisy.min() >= 0.0
    assert data.noisy.max() <= 1.0


def test_faces_of_low_rank_come_back(faces, tmp_path):
    rng = np.random.default_rng(0)
    clean = rng.dirichlet(np.ones(6), 400) @ rng.random((6, 256))
    data = faces.spoil(clean, (16, 16), rng)
    results = {loss: faces.reconstruct(data, loss, 6) for loss in ("huber", "squared-l2")}
    assert results["huber"].all > results["squared-l2"].all + 2.0
    faces.draw(data, results, tmp_path / "faces.png")
    assert is_picture(tmp_path / "faces.png")


def film(path, n, *, double):
    """Write a video of a square that walks over a still wall, with 20 outlined frames."""
    rng = np.random.default_rng(n)
    scale = 2 if double else 1
    wall = np.kron(rng.uniform(40, 120, (24, 32)), np.ones((scale, scale)))

    def shots(count):
        frames = np.tile(wall, (count, 1, 1))
        masks = np.zeros(frames.shape, dtype=np.uint8)
        for mask in masks:
            y, x = scale * rng.integers(0, 16), scale * rng.integers(0, 24)
            mask[y : y + 8 * scale, x : x + 8 * scale] = 1
        frames = np.where(masks, 230.0, frames) + rng.normal(0.0, 2.0, frames.shape)
        return frames.round().clip(0, 255).astype(np.uint8), masks

    frames, _ = shots(n)
    if double:
        frames = frames.reshape(n, 24, 2, 32, 2).mean(axis=(2, 4)).astype(np.uint8)
    outlined, masks = shots(20)
    np.savez(path, frames=frames, gt_frames=outlined, gt_masks=masks)


def test_a_square_is_taken_off_a_wall(track_video, tmp_path):
    film(tmp_path / "i2r_hall.npz", 24, double=False)
    film(tmp_path / "i2r_bootstrap_half.npz", 120, double=True)
    results = run(track_video, tmp_path, tmp_path / "out")
    for scene in results.values():
        assert all(result.scores.f1 > 0.9 for result in scene.values())
    assert is_picture(tmp_path / "out" / "video.png")


def test_a_jump_is_noticed_and_the_subspace_found_again(jump, tmp_path, monkeypatch):
    monkeypatch.setattr(jump, "SAMPLES", 2048)
    monkeypatch.setattr(jump, "JUMP", 1024)
    results = jump.main(["--output", str(tmp_path)])
    ours, grasta = results["PETRELS-ADMM"], results["GRASTA"]
    assert len(ours.jumps) == 1
    assert ours.jumps[0] <= 1024 + 2 * 32
    assert ours.recovery is not None
    assert ours.recovery <= 200
    assert grasta.recovery is None or ours.recovery <= grasta.recovery
    assert ours.sep[-1] < 1e-4 < grasta.sep[-1]
    assert results["ORPCA"].recovery is None  # it forgets nothing
    assert is_picture(tmp_path / "jump.png")


def test_people_of_their_own_parts_are_recognised(tmp_path):
    recognition = load("recognition")
    rng = np.random.default_rng(0)
    people = rng.gamma(0.3, 1.0, (6, 64))
    labels = np.repeat(np.arange(6), 8)
    X = people[labels] * rng.uniform(0.9, 1.1, (48, 1)) + 0.02 * rng.random((48, 64))
    chosen = recognition.split(labels, 3, rng)
    np.testing.assert_array_equal(np.bincount(labels[chosen]), 3)
    scores = {
        (3, name, rank): recognition.recognise(X, labels, name, rank, 3, trials=2)
        for name in recognition.METHODS
        for rank in (4, 6)
    }
    assert all(scores[3, name, 6].mean > 0.9 for name in recognition.METHODS)
    recognition.draw(scores, {3: recognition.Score((1.0,), 0.0)}, tmp_path / "r.png")
    assert is_picture(tmp_path / "r.png")


def test_keywords_go_to_the_next_neighbour_when_the_first_has_too_few():
    annotation = load("annotation")
    words = np.array([[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 1, 0]], bool)
    joint = np.array([[0.1, 0.2, 0.3, 0.4], [0.3, 0.2, 0.1, 0.4]])
    found = annotation.transfer(joint, words, 2)
    # the first word of the nearest; then, of the second's two, the more frequent one
    np.testing.assert_array_equal(found[0], [True, False, True, False])
    np.testing.assert_array_equal(found[1], [False, False, True, True])
    np.testing.assert_array_equal(annotation.transfer(joint, words, 3).sum(axis=1), 3)


def test_scores_of_annotation_are_those_of_the_paper():
    annotation = load("annotation")
    words = np.array([[1, 1, 0, 0, 0], [1, 0, 0, 0, 0]], bool)
    given = np.array([[1, 0, 1, 0, 0], [0, 1, 1, 0, 0]], bool)
    found = annotation.judge(given, words)
    assert found.accuracy == pytest.approx((1 / 2 + 0) / 2)
    assert found.recall == pytest.approx((1 / 2 + 0) / 2)
    assert found.normalised == pytest.approx(((1 / 2 - 1 / 3) + (0 - 2 / 4)) / 2)


def test_tiles_of_a_known_scene(tmp_path):
    annotation = load("annotation")
    rng = np.random.default_rng(0)
    labels = np.kron(rng.integers(0, 4, (6, 6)), np.ones((7, 7), int))
    labels[0, :2] = 3  # two pixels are no keyword
    spectra = rng.gamma(1.0, 100.0, (4, 30))
    cube = spectra[labels] * rng.uniform(0.9, 1.1, (42, 42, 1))
    np.savez(tmp_path / "indian_pines.npz", cube=cube.astype(np.uint16), labels=labels)
    data = annotation.load(tmp_path / "indian_pines.npz")
    assert data.words.shape == (np.count_nonzero(labels[3::7, 3::7]), 3)
    np.testing.assert_array_equal(data.words.sum(axis=1), 1)
    assert annotation.annotate(data, "MOR-NMF", 4, trials=2).recall > 0.95


def test_archetypes_of_a_triangle_and_of_wines(tmp_path, monkeypatch, capsys):
    module = load("archetypes")
    monkeypatch.setattr(module, "WEIGHTS", (0.3, 3.0))
    monkeypatch.setattr(module, "load_digits", module.load_wine)
    toys, results = module.main(["--output", str(tmp_path)])
    dense, thin = toys[:2], toys[2:]
    for free, few in zip(dense, thin, strict=True):
        assert few.strong < free.strong
        assert np.count_nonzero(few.components) == 2
    wines = results["wines"]
    assert wines["sparse archetypes, 0.5"][0] > 0.9
    assert wines["sparse archetypes, 0.5"][2] <= 0.5
    assert is_picture(tmp_path / "archetypes.png")
    assert "purity" in capsys.readouterr().out


def test_toys_of_archetypes_come_out(tmp_path, capsys):
    module = load("toys")
    panels = module.main(["--output", str(tmp_path)])
    one_a, one_b, one_c, two_b, two_c, two_d, two_e, three, near, far = panels

    def held(panel, H=None):
        return metrics.hull_distance(panel.X, panel.found if H is None else H)

    # Figure 1: the exact solution is the truth; what holds all data may be far from them
    assert metrics.robustness(module.TRUTH, one_a.found).strong < 1e-6
    assert held(one_a, module.WIDE) < 1e-6
    assert held(one_b, module.WIDE) < held(one_b) < 0.01
    wide, ours = (metrics.hull_distance(H, one_b.X) for H in (module.WIDE, one_b.found))
    assert ours < 0.05 * wide
    legs = one_c.found[np.lexsort(one_c.found.T)]
    np.testing.assert_array_equal(legs > 0, [[False, False], [True, False], [False, True]])
    np.testing.assert_allclose(legs.max(axis=1), [0.0, 0.8, 0.8], atol=0.02)
    # Figure 2 and Table 1: strong robustness tells (c) from (d), weak does not
    assert max(held(panel) for panel in (two_c, two_d, two_e)) < 1e-6 < held(two_b)
    weak, strong = zip(*(p.robustness for p in (two_b, two_c, two_d, two_e)), strict=True)
    assert weak[0] < 0.01 < weak[1] == weak[2] < weak[3]
    assert list(strong) == sorted(strong)
    assert strong[2] > 2 * strong[1]
    # Figure 3: weak robustness is bounded, strong is not
    assert held(three) < 1e-9
    assert metrics.archetype_distance(np.eye(2), three.found) <= 4
    strongs = [metrics.robustness(np.eye(2), module.turned(a)[1]).strong for a in (0.3, 0.6, 0.78)]
    assert strongs[0] < strongs[1] < 0.01 * strongs[2]
    # Figure 4: what is nearer to the truth describes the data better
    assert near.robustness.weak < far.robustness.weak
    assert held(near) < held(far)
    assert is_picture(tmp_path / "toys.png")
    assert "strong" in capsys.readouterr().out


@pytest.fixture
def small_scene(tmp_path):
    """Return a folder with 30 faces of 6 x 6, and an image of three fields in six bands."""
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "orl_32x32.npz", images=rng.integers(0, 255, (30, 6, 6), dtype=np.uint8))
    labels = np.repeat([0, 1, 2], 48).reshape(12, 12).astype(np.uint8)
    spectra = rng.integers(100, 5000, (3, 6))
    cube = spectra[labels] + rng.integers(0, 60, (12, 12, 6))
    np.savez(tmp_path / "indian_pines.npz", cube=cube.astype(np.uint16), labels=labels)
    return tmp_path


def test_fields_of_a_small_scene_are_found(small_scene, tmp_path, monkeypatch):
    module = load("unmixing")
    monkeypatch.setattr(module, "CLASSES", 3)
    found = run(module, small_scene, tmp_path / "out")
    assert found["sparse archetypes"].purity == 1.0
    assert found["sparse archetypes"].nonzeros <= 0.7
    assert is_picture(tmp_path / "out" / "pines.png")
    assert is_picture(tmp_path / "out" / "face_archetypes.png")


@pytest.mark.parametrize(
    "name", ["topics", "music", "faces", "track_video", "recognition", "annotation", "unmixing"]
)
def test_missing_data_are_told(name, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("THALWEG_DATA", raising=False)
    for options in ([], ["--data", str(tmp_path)]):
        with pytest.raises(SystemExit):
            load(name).main(options)
        assert "THALWEG_DATA" in capsys.readouterr().err
