"""Sessions outlive the version of the package and the model that they were started with."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import incoref
from incoref.client import ServerError
from incoref.client import Session as RemoteSession
from server_process import ServerProcess

if TYPE_CHECKING:
    from tiny_models import TinyModels

Build = Callable[..., Path]
TURNS = (("I saw Anna .", "Carl"), ("She left the old man . He met her .", "Dora"), ("The dog saw him .", None))

READS_DIFFERENTLY = ("model/clusterer.py", "entity = int(scores.argmax())", "entity = int(scores.argmin())")
SAVES_DIFFERENTLY = ("session/saving.py", "VERSION = 4\n_OLDEST = 4", "VERSION = 5\n_OLDEST = 5")


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Makes a build of the package with another version number and some changes."""

    def made(version: str, *changes: tuple[str, str, str]) -> Path:
        folder = tmp_path_factory.mktemp("build")
        source = Path(incoref.__file__).parent
        shutil.copytree(source, folder / "incoref", ignore=shutil.ignore_patterns("models", "__pycache__"))
        for path, old, new in (("_version.py", f'"{incoref.__version__}"', f'"{version}"'), *changes):
            code = (folder / "incoref" / path).read_text(encoding="utf-8")
            assert old in code
            (folder / "incoref" / path).write_text(code.replace(old, new), encoding="utf-8")
        return folder

    return made


def talk(url: str) -> RemoteSession:
    session = RemoteSession(url, trace=True, runners_up=1)
    session.introduce("Dora Kern", speaker="Dora")
    for text, speaker in TURNS:
        session.say(text, speaker)
    session.say("This is undone .")
    session.undo()
    session.rename(session.entities[0], "Dora Stern")
    session.feed("And then the")
    return session


ROUTES = (
    "", "?since=1", "/document", *(f"/export?format={name}" for name in (
        "json", "conll", "conllu", "conllua", "html", "text", "resolved"
    )),
)  # fmt: skip


def shown(url: str, session: RemoteSession) -> list[Any]:
    """Everything that can be read of a session."""
    path = f"{url}/v1/sessions/{session.id}"
    answers = [httpx.get(path + route) for route in ROUTES]
    mention = session.entities[0].mentions[0]
    answers.append(httpx.get(f"{path}/decision?start={mention.start}&end={mention.end}"))
    view = httpx.post(f"{path}/share").json()["path"]
    answers += [httpx.get(f"{url}{view}{route}") for route in ROUTES if route != "/document"]
    assert {answer.status_code for answer in answers} == {200}
    events: list[str] = []
    with httpx.stream("GET", f"{path}/events") as stream:
        for line in stream.iter_lines():
            if f"id: {answers[0].json()['event']}" in events and not line:
                break
            events.append(line)
    return [answer.text for answer in answers] + events


def links(session: RemoteSession) -> set[tuple[str, int, int]]:
    return {(entity.id, mention.start, mention.end) for entity in session.entities for mention in entity.mentions}


def version_of(url: str) -> str:
    return str(httpx.get(f"{url}/openapi.json").json()["info"]["version"])


def end(server: ServerProcess, how: str) -> None:
    if how == "kill":
        server.kill()
    else:
        server.ask_to_stop()
        assert server.ended() == (0, "")


@pytest.mark.parametrize("ending", ["stop", "kill"])
def test_a_version_that_reads_alike_goes_on(tiny: TinyModels, tmp_path: Path, build: Build, ending: str) -> None:
    store = f"sqlite:{tmp_path / 'sessions.db'}"
    body = {"text": "She came .", "final": True, "sequence": 1000}
    with ServerProcess(tiny.fp32, store, package=build("7.1")) as old:
        session = talk(old.url)
        before = shown(old.url, session)
        answer = httpx.post(f"{old.url}/v1/sessions/{session.id}/feed", json=body).text
        undone = httpx.post(f"{old.url}/v1/sessions/{session.id}/undo")
        assert (version_of(old.url), undone.status_code) == ("7.1", 200)
        end(old, ending)
    with ServerProcess(tiny.fp32, store, package=build("7.2")) as new:
        assert version_of(new.url) == "7.2"
        again = RemoteSession(new.url, id=session.id)
        assert shown(new.url, again)[2:9] == before[2:9]  # the document and the exports
        assert httpx.post(f"{new.url}/v1/sessions/{session.id}/feed", json=body).text == answer
        assert again.say("Anna left .")[-1].sentence == again.sentences - 1
        again.undo()


@pytest.mark.parametrize(
    ("change", "ending", "forgetting", "goes_on"),
    [
        (READS_DIFFERENTLY, "stop", False, True),
        (READS_DIFFERENTLY, "stop", True, True),
        (READS_DIFFERENTLY, "kill", False, False),
        (READS_DIFFERENTLY, "kill", True, False),
        (SAVES_DIFFERENTLY, "stop", False, True),
        (SAVES_DIFFERENTLY, "kill", True, False),
        (None, "stop", True, False),
        (None, "kill", False, False),
    ],
)
def test_what_a_version_or_model_can_not_continue_can_be_read_and_read_again(
    tiny: TinyModels,
    tmp_path: Path,
    build: Build,
    change: tuple[str, str, str] | None,
    ending: str,
    forgetting: bool,
    goes_on: bool,
) -> None:
    store = f"sqlite:{tmp_path / 'sessions.db'}"
    with ServerProcess(tiny.fp32, store, package=build("7.1")) as old:
        session = talk(old.url)
        if forgetting:
            session.forget(session.entities[1])
            session.say("Anna came .")
        before = shown(old.url, session)
        end(old, ending)
    # Without a change of the package, the model is another one.
    model, package = (tiny.int8, build("8.0")) if change is None else (tiny.fp32, build("8.0", change))
    with ServerProcess(model, store, package=package) as new:
        again = RemoteSession(new.url, id=session.id)
        assert shown(new.url, again) == before
        if goes_on:
            known = links(again)
            assert again.say("Anna left .")
            told = links(again)
            assert told > known
            return
        with pytest.raises(ServerError, match="replay=true") as caught:
            again.say("Anna left .")
        assert caught.value.status == 409
        twin = httpx.post(f"{new.url}/v1/sessions/{session.id}/fork?replay=true").json()["id"]
        read_again = RemoteSession(new.url, id=twin)
        assert read_again.text.split() == again.text.split()
        assert read_again.say("Anna left .")
        assert shown(new.url, again) == before
