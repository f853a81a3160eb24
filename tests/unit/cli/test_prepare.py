"""``incoref corpus prepare`` on small files in the formats of OntoNotes and CODI-CRAC."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from incoref import corpora
from incoref.cli import app
from incoref.errors import IncorefError
from incoref.evaluation.metrics import token_clusters

ONTONOTES = """#begin document (bc/cctv/00/cctv_0001); part 000
bc/cctv/00/cctv_0001   0   0         Anna    NNP  (TOP(S(NP*)     -    -   -   Speaker#1   (PERSON)  (ARG0*)   (0)
bc/cctv/00/cctv_0001   0   1         left    VBD         (VP*    leave  01  1   Speaker#1         *      (V*)     -
bc/cctv/00/cctv_0001   0   2          her   PRP$     (NP(NP*      -    -   -   Speaker#1         *   (ARG1*     (1|(0)
bc/cctv/00/cctv_0001   0   3         city     NN        *)))      -    -   -   Speaker#1         *        *)      1)
bc/cctv/00/cctv_0001   0   4           /.      .         *))      -    -   -   Speaker#1         *        *       -

bc/cctv/00/cctv_0001   0   0           It    PRP   (TOP(S(NP*)    -    -   -   Speaker#2         *   (ARG1*)     (1)
bc/cctv/00/cctv_0001   0   1         slept   VBD       (VP*)))   sleep  01  1   Speaker#2         *      (V*)     -

#end document
#begin document (bc/cctv/00/cctv_0001); part 001
bc/cctv/00/cctv_0001   1   0         Yes     UH   (TOP(INTJ*))    -    -   -   Speaker#1         *   -

#end document
"""
COLUMNS = (
    "# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC "
    "IDENTITY BRIDGING DISCOURSE_DEIXIS REFERENCE NOM_SEM"
)
WORDS = (
    ("Anna", "(EntityID=1|MarkableID=markable_1|Min=1|SemType=dn|ElementOf=4)"),
    ("met", "_"),
    ("Carl", "(EntityID=2|MarkableID=markable_2|Min=3|SemType=dn|ElementOf=4)"),
    ("they", "(EntityID=4|MarkableID=markable_3|Min=4|SemType=do)"),
    ("saw", "_"),
    ("the", "(EntityID=3|MarkableID=markable_4|Min=7|SemType=do"),
    ("dog", ")"),
    ("she", "(EntityID=1|MarkableID=markable_5|Min=8|SemType=do)"),
    ("left", "_"),
    ("it", "(EntityID=3|MarkableID=markable_6|Min=10|SemType=do)"),
    ("rains", "_"),
    ("it", "(EntityID=5-Pseudo|MarkableID=markable_7|Min=12|SemType=expletive)"),
)


def conllua() -> str:
    rows = [COLUMNS, "# newdoc id = light_dev/episode_1", "# sent_id = 1", "# speaker = knight"]
    rows += ["\t".join([str(i), word, *["_"] * 8, mark, *["_"] * 4]) for i, (word, mark) in enumerate(WORDS, 1)]
    return "\n".join(rows) + "\n\n"


def release(folder: Path, split: str, text: str = ONTONOTES, language: str = "english") -> None:
    place = folder / "v4" / "data" / split / "data" / language / "annotations" / "bc" / "cctv" / "00"
    place.mkdir(parents=True)
    (place / "cctv_0001.v4_gold_conll").write_text(text, encoding="utf-8")


def incoref(*words: object) -> tuple[str, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(result.exception, IncorefError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def test_ontonotes(tmp_path: Path) -> None:
    for split in ("train", "development", "test"):
        release(tmp_path / "test" / "conll-2012", split)
    release(tmp_path / "test" / "conll-2012", "train", "not to be read", "chinese")
    printed, said = incoref("corpus", "prepare", "ontonotes", tmp_path / "test", tmp_path / "out")
    assert [line.split() for line in printed.splitlines()[1:]] == [
        [split, "2", "3", "8", "4", "2"] for split in ("train", "dev", "test")
    ]
    assert "train has 2 documents, but the official split has 2,802" in said
    documents = list(corpora.read(tmp_path / "out" / "dev"))
    assert [document.id for document in documents] == ["bc/cctv/00/cctv_0001", "bc/cctv/00/cctv_0001_1"]
    assert documents[0].genre == "bc"
    assert token_clusters(documents[0]) == [[(0, 1), (2, 3)], [(2, 4), (5, 6)]]
    assert [sentence.speaker for sentence in documents[0].sentences] == ["Speaker#1", "Speaker#2"]


def test_the_later_release_has_a_test_set_of_its_own(tmp_path: Path) -> None:
    release(tmp_path, "test", "not to be read")
    release(tmp_path, "conll-2012-test")
    incoref("corpus", "prepare", "ontonotes", tmp_path, tmp_path / "out")
    assert len(list(corpora.read(tmp_path / "out" / "test"))) == 2


def test_what_is_missing_of_ontonotes(tmp_path: Path) -> None:
    with pytest.raises(IncorefError, match="no file whose name ends in v4_gold_conll"):
        incoref("corpus", "prepare", "ontonotes", tmp_path, tmp_path / "out")
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "cctv_0001.v4_gold_skel").write_text("", encoding="utf-8")
    with pytest.raises(IncorefError, match="only skeletons there"):
        incoref("corpus", "prepare", "ontonotes", tmp_path, tmp_path / "out")
    (tmp_path / "train" / "a.v4_gold_conll").write_text(ONTONOTES.replace(" Anna ", " [WORD] "), encoding="utf-8")
    with pytest.raises(IncorefError, match="words are missing"):
        incoref("corpus", "prepare", "ontonotes", tmp_path, tmp_path / "out")
    assert not list((tmp_path / "out").glob("*"))


def test_codi_crac(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "light_dev.CONLLUA").write_text(conllua(), encoding="utf-8")
    incoref("corpus", "prepare", "codi-crac", tmp_path / "data", tmp_path / "out")
    [document] = corpora.read(tmp_path / "out" / "light_dev")
    assert document.genre == "tc"
    assert document.id == "tc/light_dev/light_dev/episode_1"
    assert token_clusters(document) == [[(0, 1), (7, 8)], [(5, 7), (9, 10)]], "no singletons, no split antecedents"
    assert document.sentences[0].speaker == "knight"
