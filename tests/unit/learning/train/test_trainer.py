"""The trainer, on both kinds of model: what it computes, what it saves, how it goes on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from incoref import corpora
from incoref.errors import IncorefError
from incoref.learning.config import Configuration
from incoref.learning.data.examples import without_words
from incoref.learning.nets.encoder import WRITING_TABLE
from incoref.learning.nets.layers import Dropout
from incoref.learning.nets.streaming import StreamingModel
from incoref.learning.paper.checkpoint import load_paper_model
from incoref.learning.train.checkpoints import load_model
from incoref.learning.train.dry_run import inspect
from incoref.learning.train.progress import DevProgress, DevReport, Report, StepReport
from incoref.learning.train.streaming import drawn_annotations
from incoref.learning.train.trainable import Loss
from incoref.learning.train.trainer import Progress, Stopped, Trainer
from tiny_training import losses, write_paper_run, write_streaming_run

KINDS = ["streaming", "paper", "reference"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder with encoder, corpora and configuration for each kind."""
    folders = {kind: tmp_path_factory.mktemp(kind) for kind in KINDS}
    write_streaming_run(folders["streaming"])
    write_paper_run(folders["paper"])
    write_paper_run(folders["reference"], mode="reference", setting="k-sentence")
    return folders


@pytest.fixture(params=KINDS)
def run_folder(request: pytest.FixtureRequest, runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    return _entered(runs[request.param], monkeypatch)


@pytest.fixture
def streaming(runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    return _entered(runs["streaming"], monkeypatch)


def _entered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    for path in folder.glob("out*"):
        shutil.rmtree(path)
    return folder


def configured(*settings: str) -> Configuration:
    return Configuration.load(Path("config.toml"), settings)


def train(out: str, *settings: str, resume: bool = False, stop_after: int | None = None) -> list[Report]:
    """Run the configuration in the current folder, perhaps until it is asked to stop."""
    reports: list[Report] = []
    steps = 0

    def report(event: Report) -> None:
        nonlocal steps
        reports.append(event)
        steps += isinstance(event, StepReport)

    trainer = Trainer(configured(*settings), Path(out))
    if stop_after is None:
        trainer.run(report, resume)
    else:
        with pytest.raises(Stopped):
            trainer.run(report, resume, lambda: steps >= stop_after)
    return reports


def test_a_run_reports_logs_and_keeps_the_best(run_folder: Path) -> None:
    reports = train("out")
    steps = [report for report in reports if isinstance(report, StepReport)]
    evaluations = [report for report in reports if isinstance(report, DevReport)]
    assert [report.step for report in steps] == list(range(steps[0].steps))
    assert [report.epoch for report in evaluations] == [1, 2]
    assert sum(isinstance(report, DevProgress) for report in reports) == 2 * 2
    logged = [json.loads(line) for line in Path("out/log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert logged == [report.to_json() for report in reports if not isinstance(report, DevProgress)]
    best = max(evaluations, key=lambda report: report.mean_f1)
    progress = Progress(**json.loads(Path("out/last/progress.json").read_text(encoding="utf-8")))
    assert progress.best == best.mean_f1
    assert progress.finished
    assert progress.scores == [report.mean_f1 for report in evaluations]
    if run_folder.name.startswith("streaming"):
        model, config = load_model(Path("out/best"))
        assert config == configured()
        assert model.names.genres == ("unknown", "bc", "nw")
    else:
        paper = load_paper_model(Path("out/best"))
        assert paper.config.setting == configured().paper_or_default.setting
        assert Path("out/best/tokenizer.json").is_file()
        assert paper.config.action_weights[0] < paper.config.action_weights[1]  # ADVANCE is the most frequent


def test_tensorboard_gets_the_figures_of_the_log(streaming: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs the package 'tensorboard'")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    reports = train("out", "training.tensorboard=true")
    board = EventAccumulator("out/tensorboard").Reload()
    steps = [report.to_json() for report in reports if isinstance(report, StepReport)]
    shown = [(event.step, event.value) for event in board.Scalars("train/loss")]
    assert shown == [(step["step"], pytest.approx(step["loss"])) for step in steps]
    evaluations = [report.mean_f1 for report in reports if isinstance(report, DevReport)]
    assert [event.value for event in board.Scalars("dev/mean_f1")] == [pytest.approx(f1) for f1 in evaluations]


def test_the_loss_goes_down(run_folder: Path) -> None:
    train("out", "training.epochs=6", "training.head_rate=0.02", "training.encoder_rate=0.001", "dev.0.limit=1")
    found = [loss for _, _, loss in losses(Path("out"))]
    assert np.mean(found[-4:]) < 0.9 * np.mean(found[:4])


def test_a_stopped_run_goes_on_bit_for_bit(run_folder: Path) -> None:
    options = ("training.average=0.9", "training.average_epochs=2")
    train("out-whole", *options)
    for stop in (0, 3, 2):
        train("out-parts", *options, resume=True, stop_after=stop)
    train("out-parts", *options, resume=True)
    assert losses(Path("out-parts")) == losses(Path("out-whole"))
    for name in ("last/run.safetensors", "best/model.safetensors"):
        one, other = load_file(f"out-parts/{name}"), load_file(f"out-whole/{name}")
        assert one.keys() == other.keys()
        assert all(torch.equal(value, other[name]) for name, value in one.items())
    evaluations = [
        [line for line in (Path(out) / "log.jsonl").read_text(encoding="utf-8").splitlines() if '"dev"' in line]
        for out in ("out-parts", "out-whole")
    ]
    assert evaluations[0] == evaluations[1]


def test_a_stop_during_evaluation_comes_back_to_it(streaming: Path) -> None:
    evaluated = 0

    def report(event: Report) -> None:
        nonlocal evaluated
        evaluated += isinstance(event, DevProgress)

    trainer = Trainer(configured(), Path("out"))
    with pytest.raises(Stopped):
        trainer.run(report, stop=lambda: evaluated == 1)
    assert trainer.progress.scores == []
    steps = trainer.progress.step
    again = train("out", resume=True)
    assert isinstance(again[0], DevProgress)
    assert next(report.step for report in again if isinstance(report, DevReport)) == steps


def test_seeds_shuffle_and_initialise(streaming: Path) -> None:
    orders = []
    for seed in (1, 1, 2):
        shutil.rmtree("out", ignore_errors=True)
        train("out", f"training.seed={seed}", "training.epochs=1")
        orders.append(losses(Path("out")))
    assert orders[0] == orders[1]
    assert [document for _, document, _ in orders[0]] != [document for _, document, _ in orders[2]]


def test_an_epoch_visits_documents_by_their_share(streaming: Path) -> None:
    trainer = Trainer(configured("train.0.share=2", "train.1.share=0.5", "training.epochs=60"), Path("out"))
    visits = [np.bincount([number for (number,) in plan], minlength=6) for plan in trainer.plans]
    assert all((counts[:4] == 2).all() and (counts[4:] <= 1).all() for counts in visits)
    assert np.mean([counts[4:].mean() for counts in visits]) == pytest.approx(0.5, abs=0.15)


def test_short_documents_can_share_an_update(streaming: Path) -> None:
    trainer = Trainer(configured("train.0.together=3", "train.1.share=1", "training.epochs=2"), Path("out"))
    first = [number for number, source in enumerate(trainer.trainable.sources) if source.together == 3]
    assert 0 < len(first) < len(trainer.trainable.sources)
    for plan in trainer.plans:
        assert sorted(number for update in plan for number in update) == [*range(len(trainer.trainable.sources))]
        shared = [update for update in plan if update[0] in first]
        assert all(len(update) == 1 for update in plan if update not in shared)
        assert len(shared) == -(-len(first) // 3)
    assert trainer.plans[0] != trainer.plans[1]


def test_an_update_of_several_documents_learns_from_their_mean(streaming: Path) -> None:
    options = ("training.clip=1e9", "heads.dropout=0", "training.genre_dropout=0", "training.capitals_dropout=0")
    gradients = []
    for chosen in ([0], [1], [0, 1]):
        trainer = Trainer(configured(*options), Path("out"))
        for module in trainer.model.modules():
            if isinstance(module, Dropout):
                module.share = 0.0
        loss, terms, facts = trainer.backward(chosen, step=0, epoch=0)
        assert loss == pytest.approx(terms["mentions"] + terms["links"] + 0.2 * terms["types"])
        assert len(facts) == len(chosen)
        gradients.append(trainer.model.clusterer.output.weight.grad.clone())
    torch.testing.assert_close(gradients[2], (gradients[0] + gradients[1]) / 2, rtol=1e-4, atol=1e-7)


def test_an_annotation_is_learned_from_by_its_chance() -> None:
    often, seldom = (SimpleNamespace(chance=chance) for chance in (1.0, 0.25))
    rng = np.random.default_rng(0)
    drawn = [drawn_annotations([often, seldom], rng) for _ in range(400)]  # type: ignore[list-item]
    assert all(often in some for some in drawn)
    assert np.mean([seldom in some for some in drawn]) == pytest.approx(0.25, abs=0.06)
    assert all(drawn_annotations([seldom], rng) for _ in range(20))  # type: ignore[list-item]


def test_a_run_is_not_overwritten_nor_resumed_as_another(streaming: Path) -> None:
    train("out", stop_after=2)
    with pytest.raises(IncorefError, match="out holds a run already; go on with --resume"):
        train("out")
    with pytest.raises(IncorefError, match=r"another configuration \(training\.seed\)"):
        train("out", "training.seed=5", resume=True)


def test_a_run_without_a_checkpoint_starts_anew(streaming: Path) -> None:
    Path("out").mkdir()
    Path("out/log.jsonl").write_text('{"kind": "step", "step": 0, "loss": 1}\n', encoding="utf-8")
    train("out", "training.epochs=1", resume=True)
    assert len(losses(Path("out"))) == Trainer(configured("training.epochs=1"), Path("x")).total


def test_a_loss_that_is_no_number_stops_with_the_documents_name(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = Trainer(configured(), Path("out"))
    true_losses, visited = trainer.trainable.losses, 0

    def spoiled(example: object, epoch: int, rng: np.random.Generator) -> Iterator[Loss]:
        nonlocal visited
        visited += 1
        for loss in true_losses(example, epoch, rng):
            yield Loss(loss.total * (torch.nan if visited == 3 else 1), loss.terms)

    monkeypatch.setattr(trainer.trainable, "losses", spoiled)
    third = trainer.trainable.sources[trainer.plans[0][2][0]].id
    with pytest.raises(IncorefError, match=f"the loss of document '{third}' is nan at step 2"):
        trainer.run()
    assert len(losses(Path("out"))) == 2


def test_a_gradient_that_is_no_number_stops_too(streaming: Path) -> None:
    trainer = Trainer(configured(), Path("out"))
    weight = next(trainer.model.parameters())
    weight.register_hook(lambda gradient: gradient * torch.inf)
    with pytest.raises(IncorefError, match=r"the gradient of the encoder of document '.*' is (nan|inf) at step 0"):
        trainer.run()


@pytest.mark.parametrize("frozen", [True, False])
def test_word_embeddings_can_be_frozen(run_folder: Path, frozen: bool) -> None:
    trainer = Trainer(configured(f"training.freeze_embeddings={str(frozen).lower()}"), Path("out"))
    weights = {name: value for name, value in trainer.model.named_parameters() if "word_embedding" in name}
    before = {name: value.detach().clone() for name, value in weights.items()}
    trainer.update([0], 0, 0)
    assert weights
    assert all(torch.equal(value, before[name]) is frozen for name, value in weights.items())


@pytest.mark.parametrize("dropout", [0.0, 1.0])
def test_capitals_are_learned_of_unless_they_are_hidden(streaming: Path, dropout: float) -> None:
    trainer = Trainer(configured(f"training.capitals_dropout={dropout}"), Path("out"))
    table = dict(trainer.model.named_parameters())[f"encoder.{WRITING_TABLE}"]
    assert not table.any()
    trainer.update([0], 0, 0)
    assert table.any() == (dropout == 0)


@pytest.mark.parametrize("setting", ["training.masked=0.5", "training.renamed=1.0", "heads.vector_dropout=0.5"])
def test_what_hides_a_text_changes_what_is_learned_and_not_what_is_read(streaming: Path, setting: str) -> None:
    plain, other = Trainer(configured(), Path("out")), Trainer(configured(setting), Path("out"))
    with torch.no_grad():
        corpus, documents = plain.dev[0]
        assert [*other.trainable.predict(documents, corpus)] == [*plain.trainable.predict(documents, corpus)]
    assert other.update([0], 0, 0).loss != plain.update([0], 0, 0).loss


def test_masked_words_are_unknown_to_the_encoder_alone(streaming: Path) -> None:
    training = Trainer(configured(), Path("out")).trainable
    example = training.example(0, np.random.default_rng(0))
    hidden = np.arange(sum(example.reading.chunks)) % 3 == 0
    masked = without_words(example, hidden, mask=4).reading
    words = example.reading.word, example.reading.source
    assert all(masked.ids[row] == 4 for word, row in zip(*words, strict=True) if hidden[word])
    kept = np.setdiff1d(np.arange(len(masked.ids)), words[1][hidden[words[0]]])
    np.testing.assert_array_equal(masked.ids[kept], example.reading.ids[kept])
    assert masked.utterances == example.reading.utterances


def test_the_encoder_can_be_frozen(streaming: Path) -> None:
    trainer = Trainer(configured("training.freeze_encoder=true"), Path("out"))
    before = {name: value.detach().clone() for name, value in trainer.model.named_parameters()}
    trainer.update([0], 0, 0)
    for name, value in trainer.model.named_parameters():
        if name.startswith("encoder."):
            assert torch.equal(value, before[name]), name
    assert not torch.equal(trainer.model.clusterer.output.weight, before["clusterer.output.weight"])


def test_recomputing_changes_nothing_but_memory(run_folder: Path) -> None:
    plain, recomputed = (
        Trainer(configured(f"training.recompute={value}"), Path("out")).update([1], 0, 0)
        for value in ("false", "true")
    )
    assert recomputed.loss == pytest.approx(plain.loss, rel=1e-5)


def test_bfloat16_is_close(run_folder: Path) -> None:
    plain, short = (
        Trainer(configured(f"training.bf16={value}"), Path("out")).update([1], 0, 0) for value in ("false", "true")
    )
    assert short.loss != plain.loss
    assert short.loss == pytest.approx(plain.loss, rel=0.05)


def test_own_decisions_come_in_from_their_epoch_on(streaming: Path) -> None:
    options = ("training.own_clusters=1.0", "training.own_mentions=1.0", "training.own_from=2")
    train("out-own", *options)
    train("out-gold")
    own, gold = losses(Path("out-own")), losses(Path("out-gold"))
    epoch = len(Trainer(configured(), Path("x")).plans[0])
    assert own[:epoch] == gold[:epoch]
    assert own[epoch:] != gold[epoch:]
    assert [document for _, document, _ in own] == [document for _, document, _ in gold]


def test_a_run_can_start_from_a_trained_model(streaming: Path) -> None:
    train("out-first", "training.epochs=1")
    first, _ = load_model(Path("out-first/best"))
    config = configured("start=out-first/best", 'train.0.scheme="own"', 'types=["plant"]')
    model = Trainer(config, Path("out-second")).model
    assert isinstance(model, StreamingModel)
    assert model.names.schemes == (*first.names.schemes, "own")
    assert model.names.types == (*first.names.types, "plant")
    began = model.state_dict()
    for name, value in first.state_dict().items():
        assert torch.equal(began[name][: len(value)], value), name


def test_the_start_is_scored_and_stays_the_best_until_it_is_beaten(streaming: Path) -> None:
    train("out-first", "training.epochs=1")
    ruin = ("start=out-first/best", "training.epochs=2", "training.encoder_rate=1.0", "training.head_rate=1.0")
    reports = [report for report in train("out-second", *ruin) if isinstance(report, DevReport)]
    assert [report.epoch for report in reports][:3] == [0, 1, 2]
    assert reports[0].best and reports[0].step == 0
    best = max(reports, key=lambda report: report.mean_f1)
    assert best.epoch == 0, "rates of 1 should have ruined the model"
    first, kept = (load_model(Path(folder))[0].state_dict() for folder in ("out-first/best", "out-second/best"))
    assert all(torch.equal(first[name], kept[name]) for name in first)


def test_a_resumed_run_does_not_score_its_start_again(streaming: Path) -> None:
    train("out-first", "training.epochs=1")
    options = ("start=out-first/best", "training.epochs=1")
    before = train("out-second", *options, stop_after=2)
    after = train("out-second", *options, resume=True)
    assert [r.epoch for r in before if isinstance(r, DevReport)] == [0]
    assert next(r.epoch for r in after if isinstance(r, DevReport)) == 1


def test_a_start_is_trained_on_at_lower_rates_unless_the_configuration_gives_some(streaming: Path) -> None:
    fresh, adapted = configured().training, configured("start=en").training
    assert adapted.encoder_rate < fresh.encoder_rate and adapted.head_rate < fresh.head_rate
    assert configured("start=en", "training.encoder_rate=0.5").training.encoder_rate == 0.5


def test_a_corpus_without_singletons_is_warned_of(streaming: Path) -> None:
    [warning] = Trainer(configured(), Path("out")).warnings()
    assert "'ontonotes'" in warning and "singletons_from" in warning
    some = next(corpora.read("train.conll"))
    alone = replace(some.entities[0], mentions=some.entities[0].mentions[:1])
    corpora.write([replace(some, entities=(alone, *some.entities[1:]))], "alone.conll", "conll-2012")
    assert not Trainer(configured("train.0.path=alone.conll"), Path("out")).warnings()


def test_an_encoder_can_go_back_towards_the_pretrained_one(streaming: Path) -> None:
    train("out-first", "training.epochs=1")
    trained, fresh = load_model(Path("out-first/best"))[0].state_dict(), load_file("encoder/model.safetensors")
    began = Trainer(configured("start=out-first/best", "encoder.pretrained=0.25"), Path("out-second")).model
    for name, value in began.state_dict().items():
        expected = trained[name]
        if name.startswith("encoder.") and not name.endswith(WRITING_TABLE):  # the pretrained one knows no capitals
            expected = 0.75 * trained[name] + 0.25 * fresh[name.removeprefix("encoder.")]
        elif name.startswith("encoder."):
            expected = 0.75 * trained[name]
        torch.testing.assert_close(value, expected, msg=name)


def test_a_trained_model_of_other_sizes_is_refused(streaming: Path) -> None:
    train("out-first", "training.epochs=1")
    with pytest.raises(IncorefError, match=r"start = out-first/best: .* other sizes \('detector"):
        Trainer(configured("start=out-first/best", "heads.stack=9"), Path("out-second"))


def test_a_device_that_is_not_there_is_named(streaming: Path) -> None:
    with pytest.raises(IncorefError, match=r"training\.device = 'nowhere': no such device"):
        Trainer(configured("training.device=nowhere"), Path("out"))


def test_a_dev_scheme_must_be_trained(streaming: Path) -> None:
    with pytest.raises(IncorefError, match="scheme 'litbank' is not among those of the training data: ontonotes"):
        Trainer(configured("dev.0.scheme=litbank"), Path("out"))


def test_a_missing_encoder_says_where_to_put_it(run_folder: Path) -> None:
    with pytest.raises(IncorefError, match=r"encoder 'no/such': .*hf download no/such --local-dir FOLDER"):
        name = "encoder.path" if run_folder.name.startswith("streaming") else "encoder"
        Trainer(configured(f"{name}=no/such"), Path("out"))


def test_inspection_counts_and_measures(run_folder: Path) -> None:
    trainer = Trainer(configured(), Path("out"))
    before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
    found = inspect(trainer)
    assert not Path("out").exists()
    assert all(torch.equal(a, b) for a, b in zip(before, trainer.model.parameters(), strict=True))
    assert [(corpus.role, corpus.documents) for corpus in found.corpora][-1] == ("dev", 2)
    assert found.updates == trainer.total
    assert found.parameters == found.trained == sum(p.numel() for p in trainer.model.parameters())
    assert found.tokens > sum(corpus.tokens for corpus in found.corpora if corpus.role == "train")
    assert len(found.measured) == 3
    assert found.measured[-1].document == found.longest.name
    assert not found.not_tried
    assert found.hours is not None


def test_inspection_does_not_try_what_memory_would_not_hold(streaming: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import incoref.learning.train.dry_run as inspection

    peaks = iter(range(10**9, 10**12, 10**9))
    monkeypatch.setattr(inspection, "peak_memory", lambda device: next(peaks))
    monkeypatch.setattr(inspection, "available_memory", lambda device: 10)
    found = inspect(Trainer(configured(), Path("out")))
    assert len(found.measured) == 1
    assert len(found.not_tried) == 2


def test_inspection_notes_what_the_model_does_not_know(streaming: Path) -> None:
    found = inspect(Trainer(configured("dev.0.genre=xx", 'types=["person"]'), Path("out")))
    assert "genre 'xx' of 2 documents is not in the training data" in found.corpora[-1].unknown
