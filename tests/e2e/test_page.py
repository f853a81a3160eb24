"""The live page in a real browser, with a real server: typed, pasted, corrected, shared, restarted, listened to."""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, Route, expect

import browser
from server_process import QuickServer

if TYPE_CHECKING:
    from tiny_models import TinyModels

FORMATS = Path(__file__).resolve().parents[2] / "examples" / "formats"
PATIENCE = 60_000
"""Milliseconds until a test gives up waiting; a condition that is met is met at once."""


@pytest.fixture(scope="module")
def server(tiny: TinyModels) -> Iterator[QuickServer]:
    with QuickServer(tiny.fp32, "memory") as running:
        yield running


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.running() as running:
        expect.set_options(timeout=PATIENCE)
        yield running


@pytest.fixture
def page(chromium: Browser, server: QuickServer) -> Iterator[Page]:
    """The page, freshly opened. That it says nothing wrong on its console is part of every test."""
    opened = chromium.new_page(base_url=server.url)
    opened.set_default_timeout(PATIENCE)
    errors = browser.ConsoleErrors(opened)
    opened.goto("/")
    yield opened
    opened.close()
    assert errors.messages == []


def field(page: Page) -> Locator:
    return page.get_by_label("Your text")


def sentences(page: Page) -> list[str]:
    return [str(text) for text in page.locator(".s").evaluate_all("found => found.map((s) => s.textContent)")]


def add(page: Page, *texts: str) -> None:
    """Type paragraphs, and wait until they are read."""
    before = page.locator(".s").count()
    for text in texts:
        field(page).fill(text)
        field(page).press("Enter")
    expect(page.locator(".s")).to_have_count(before + len(texts))


def known(page: Page) -> Any:
    """What the server knows of the page's session."""
    return httpx.get(page.url.replace("#session=", "v1/sessions/"), timeout=PATIENCE / 1000).json()


def add_until(page: Page, enough: Callable[[list[Any]], bool]) -> list[Any]:
    """Add sentences until there are entities of a kind, which a model at random decides; the entities."""
    for _ in range(5):
        for text in (
            "Anna saw the old man.",
            "He met Carl and Berta in the city.",
            "She saw him.",
            "It was her dog.",
        ):
            add(page, text)
            entities: list[Any] = known(page)["entities"]
            if enough(entities):
                return entities
    raise AssertionError("no such entities")


def shown(page: Page) -> tuple[list[str], dict[str, int]]:
    """The entities of all mentions in the text, and what the list says of how often each is mentioned."""
    marked, listed = page.evaluate(
        """() => [
          [...document.querySelectorAll(".m")].map((mention) => mention.dataset.e),
          [...document.querySelectorAll(".e")].map((row) =>
            [".n", ".count"].map((part) => row.querySelector(part).textContent)),
        ]"""
    )
    return sorted(marked), {id: int(count) for id, count in listed}


def agrees(page: Page) -> None:
    """The page comes to show what the server knows."""
    entities = known(page)["entities"]
    expected = (
        sorted(entity["id"] for entity in entities for _ in entity["mentions"]),
        {entity["id"]: len(entity["mentions"]) for entity in entities},
    )
    until = time.monotonic() + PATIENCE / 1000
    while shown(page) != expected and time.monotonic() < until:
        page.wait_for_timeout(20)
    assert shown(page) == expected


def test_own_text_is_shown_from_the_answer_to_it(page: Page) -> None:
    """The page asks for the state when it opens a session, and not again for what it has sent itself."""
    add(page, "Anna saw the old man.")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/v1/sessions/" in request.url else None)
    add(page, "He met Carl and Berta in the city.", "She saw him.")
    field(page).press_sequentially("It was her dog. The man")
    expect(page.locator(".s")).to_have_count(4)
    agrees(page)
    sent = [url for url in asked if "/feed?since=" in url or "/flush?since=" in url]
    assert len(sent) >= 3
    assert [url for url in asked if url not in sent] == []


def test_sentences_are_marked_as_they_end(page: Page) -> None:
    field(page).press_sequentially("Anna saw Dr. Carl. ")
    field(page).press_sequentially("He left")
    expect(page.locator(".s")).to_have_count(1)
    expect(field(page)).to_have_value("He left")
    field(page).press("Enter")
    expect(page.locator(".s")).to_have_count(2)
    expect(field(page)).to_have_value("")
    field(page).press_sequentially("She met him.")  # and nothing more: a pause ends it too
    expect(page.locator(".s")).to_have_count(3)
    assert sentences(page) == ["Anna saw Dr. Carl.", "He left", "She met him."]
    expect(page.locator("#state")).to_have_text("Live")
    agrees(page)
    page.reload()
    expect(page.locator(".s")).to_have_count(3)
    agrees(page)


def test_an_example_streams_to_whoever_was_given_the_link(page: Page, chromium: Browser) -> None:
    page.get_by_role("button", name="A dialogue").click()
    expect(page.locator(".speaker").first).to_have_text("Mira: ")
    page.get_by_role("button", name="Share").click()
    viewer = chromium.new_page()
    errors = browser.ConsoleErrors(viewer)
    link = page.get_by_label("Link to the read-only view")
    expect(link).not_to_have_value("")
    viewer.goto(link.input_value())
    expect(viewer.locator(".s").first).to_be_visible()
    expect(page.locator("#progress")).to_be_hidden()
    expect(page.locator(".speaker")).to_have_count(10)
    assert set(page.locator(".speaker").all_inner_texts()) == {"Mira: ", "Jonas: ", "Lena: "}
    expect(viewer.locator(".s")).to_have_count(page.locator(".s").count())
    assert sentences(viewer) == sentences(page)
    for hidden in (field(viewer), viewer.locator("#undo"), viewer.locator("#share"), viewer.locator("#new")):
        expect(hidden).to_be_hidden()
    viewer.locator(".e").first.click()
    expect(viewer.locator(".card").first).to_be_visible()
    expect(viewer.get_by_role("button", name="Rename")).to_have_count(0)
    page.get_by_role("button", name="Stop sharing").click()
    expect(page.locator("#sharing")).to_be_hidden()
    viewer.close()
    assert errors.messages == []
    agrees(page)


def test_undo_gives_the_text_back(page: Page) -> None:
    field(page).press_sequentially("Anna saw the old man. He left the house. She ")
    expect(page.locator(".s")).to_have_count(2)
    field(page).fill("")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".s")).to_have_count(1)
    expect(field(page)).to_have_value("He left the house.")
    agrees(page)
    field(page).fill("She left the city.")
    field(page).press("Enter")
    expect(page.locator(".s")).to_have_count(2)
    assert sentences(page) == ["Anna saw the old man.", "She left the city."]
    while left := known(page)["text"]:
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#undo")).to_be_visible()
        while known(page)["text"] == left:
            page.wait_for_timeout(50)
    expect(page.locator(".s")).to_have_count(0)
    expect(page.locator("#undo")).to_be_disabled()


def test_entities_are_renamed_and_merged(page: Page) -> None:
    one, other, *_ = (entity["id"] for entity in add_until(page, lambda entities: len(entities) > 1))
    page.locator(".e").first.click()
    page.get_by_label("Name", exact=True).fill("Somebody Else")
    page.get_by_role("button", name="Rename").click()
    expect(page.locator(".e .name").first).to_have_text("Somebody Else")
    page.get_by_label(re.compile("^Merge .* with$")).select_option(other)
    page.get_by_role("button", name="Merge").click()
    expect(page.locator(f'.m[data-e="{other}"]')).to_have_count(0)
    expect(page.locator(f'.m[data-e="{one}"]').nth(1)).to_be_visible()
    expect(page.locator("#entities > li")).to_have_count(len(known(page)["entities"]))
    agrees(page)


def test_wrong_links_are_corrected_where_they_are_explained(page: Page) -> None:
    entities = add_until(page, lambda found: len(found) > 1 and any(len(e["mentions"]) > 2 for e in found))
    chain = next(entity for entity in entities if len(entity["mentions"]) > 2)
    other = next(entity["id"] for entity in entities if entity is not chain)
    count, dialog = len(chain["mentions"]), page.get_by_role("dialog")
    mentions = page.locator(f'.m[data-e="{chain["id"]}"]')

    def correct(number: int, option: str) -> None:
        before = mentions.count()
        mentions.nth(number).focus()
        page.keyboard.press("Enter")
        choice = dialog.get_by_label("Correct entity")
        choice.select_option(choice.locator("option", has_text=re.compile(option)).get_attribute("value"))
        dialog.get_by_role("button", name="Correct").click()
        expect(mentions).not_to_have_count(before)
        expect(dialog.locator(".candidates .chosen")).to_contain_text("100")
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()

    correct(count - 1, "a new entity$")
    expect(mentions).to_have_count(count - 1)
    correct(count - 2, rf"\({other}\)$")
    expect(mentions).to_have_count(count - 2)
    now = {entity["id"]: len(entity["mentions"]) for entity in known(page)["entities"]}
    assert now[chain["id"]] == count - 2
    before = {entity["id"]: len(entity["mentions"]) for entity in entities}
    assert now[other] == before[other] + 1
    agrees(page)


def test_an_entity_is_split_where_somebody_new_is_meant_from_there_on(page: Page) -> None:
    entities = add_until(page, lambda found: any(len(e["mentions"]) > 2 for e in found))
    chain = next(entity for entity in entities if len(entity["mentions"]) > 2)
    page.locator(f'.m[data-e="{chain["id"]}"]').nth(1).focus()
    page.keyboard.press("Enter")
    choice = page.get_by_role("dialog").get_by_label("Correct entity")
    option = choice.locator("option", has_text="after it")
    choice.select_option(option.get_attribute("value"))
    page.get_by_role("dialog").get_by_role("button", name="Correct").click()
    expect(page.locator(f'.m[data-e="{chain["id"]}"]')).to_have_count(1)
    now = {entity["id"]: len(entity["mentions"]) for entity in known(page)["entities"]}
    (new,) = now.keys() - {entity["id"] for entity in entities}
    assert (now[chain["id"]], now[new]) == (1, len(chain["mentions"]) - 1)
    agrees(page)


def test_a_choice_outlasts_the_wait_for_the_explanation(page: Page) -> None:
    add_until(page, lambda found: any(len(entity["mentions"]) > 1 for entity in found))
    waiting: list[Route] = []
    page.route("**/decision?*", lambda route: waiting.append(route))
    page.locator(".m").last.click()
    dialog = page.get_by_role("dialog")
    choice = dialog.get_by_label("Correct entity")
    value = choice.locator("option").last.get_attribute("value")
    assert value
    choice.select_option(value)
    expect(dialog).to_contain_text("Loading …")
    waiting.pop().continue_()
    expect(dialog.locator(".candidates .chosen")).to_have_count(1)
    expect(choice).to_have_value(value)


def test_a_mention_tells_how_it_was_decided(page: Page) -> None:
    add(page, "Anna saw the old man.", "He met Carl and Berta.")
    mention = page.locator(".m").last
    mention.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".candidates tbody tr").first).to_contain_text("chosen")
    rows = dialog.locator(".trace tbody tr")
    steps = rows.count()
    assert steps > 5 and dialog.locator(".trace .found").count() == 1
    number = int(dialog.locator("output").inner_text().split(" / ")[0])
    dialog.get_by_role("button", name="Previous step").click()
    expect(dialog.locator("output")).to_have_text(f"{number - 1} / {steps}")
    expect(dialog.locator(".trace .now td").first).to_have_text(str(number - 1))
    action = rows.nth(number - 2).locator("td").nth(3).inner_text()
    expect(dialog.locator(".told b")).to_have_text(action)
    rows.nth(0).click()
    expect(dialog.locator(".trace .now td").nth(1)).to_have_text("∅")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(mention).to_be_focused()


def test_everything_is_reached_by_keyboard(page: Page) -> None:
    entities = add_until(page, lambda entities: any(len(entity["mentions"]) > 1 for entity in entities))
    expect(page.locator('.m[tabindex="0"]')).to_have_count(1)
    entity = next(entity for entity in entities if len(entity["mentions"]) > 1)
    page.locator('.m[tabindex="0"]').focus()
    first = page.locator(f'.m[data-e="{entity["id"]}"]').first
    for _ in range(page.locator(".m").count()):
        if first.evaluate("(element) => element === document.activeElement"):
            break
        page.keyboard.press("ArrowRight")
    expect(first).to_be_focused()
    expect(page.locator("#about")).to_contain_text(f"mention 1 of {len(entity['mentions'])}")
    expect(page.locator(".m.on")).to_have_count(len(entity["mentions"]))
    expect(page.locator("#links path")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    expect(page.locator("#about")).to_contain_text(f"mention 2 of {len(entity['mentions'])}")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.locator(".e").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".card").first).to_be_visible()
    expect(page.locator(".m.on").first).to_be_visible()
    page.get_by_role("button", name="Examples").or_(page.locator("#examples summary")).first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#examples button").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#examples button").first).to_be_hidden()


def test_a_file_is_read_and_what_was_found_is_saved(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "story.txt"
    file.write_text("Anna saw 🦊 the old man.\r\n\r\nHe left. She met Carl.", encoding="utf-8")
    page.locator("#file").set_input_files(file)
    expect(page.locator(".s")).to_have_count(3)
    expect(page.locator("#progress")).to_be_hidden()
    assert sentences(page) == ["Anna saw 🦊 the old man.", "He left.", "She met Carl."]
    expect(page.locator(".block.gap")).to_have_count(1)
    agrees(page)
    for name, format in (("JSON", "json"), ("CoNLL-2012", "conll"), ("HTML page", "html")):
        page.locator("#export summary").click()
        with page.expect_download() as saved:
            page.get_by_role("button", name=name).click()
        data = Path(saved.value.path()).read_bytes()
        place = f"{page.url.replace('#session=', 'v1/sessions/')}/export?format={format}"
        assert data == httpx.get(f"{place}&singletons=true").content, "what the page shows"
        assert saved.value.suggested_filename.endswith(f".{format}")
    assert json.loads(httpx.get(page.url.replace("#session=", "v1/sessions/") + "/export?singletons=true").content)[
        "entities"
    ]


def speakers(page: Page) -> list[str | None]:
    return [line["speaker"] for line in httpx.get(page.url.replace("#session=", "v1/sessions/")).json()["lines"]]


@pytest.mark.parametrize("name", ["whatsapp.txt", "whisper.json", "mail.mbox"])
def test_files_of_conversations_are_recognised(page: Page, name: str) -> None:
    page.locator("#file").set_input_files(FORMATS / name)
    expect(page.locator(".s")).to_have_count(5)
    expect(page.locator("#state")).to_contain_text("3 turns, 2 speakers")
    assert speakers(page) == ["Ines", "Ines", "Omar", "Ines", "Ines"]
    agrees(page)


def test_a_compressed_file_and_files_that_can_not_be_read(page: Page, tmp_path: Path) -> None:
    packed, latin = tmp_path / "chat.txt.gz", tmp_path / "latin.txt"
    packed.write_bytes(gzip.compress((FORMATS / "whatsapp.txt").read_bytes()))
    latin.write_bytes(b"caf\xe9")
    page.locator("#file").set_input_files(latin)
    expect(page.locator("#state")).to_contain_text("latin.txt is not UTF-8")
    for name, data, fault in (
        ("wide.txt", "Anna left.".encode("utf-16-le"), "wide.txt is not UTF-8"),
        ("scan.pdf", b"%PDF-1.4\n", "scan.pdf is a PDF, not text"),
        ("chat.zip", b"PK\x03\x04\x14\x00", "chat.zip is a zip archive"),
        ("chat.zst", b"\x28\xb5\x2f\xfd\x00", "chat.zst is compressed by zstd"),
    ):
        (tmp_path / name).write_bytes(data)
        page.locator("#file").set_input_files(tmp_path / name)
        expect(page.locator("#state")).to_contain_text(fault)
    page.locator("#file").set_input_files(packed)
    expect(page.locator(".s")).to_have_count(5)


def test_json_of_another_kind_is_refused(chromium: Browser, server: QuickServer, tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text('{"version": 1}', encoding="utf-8")
    page = chromium.new_page(base_url=server.url)
    page.goto("/")
    page.locator("#file").set_input_files(tmp_path / "data.json")
    expect(page.locator("#state")).to_contain_text("data.json:1: unknown kind of JSON: an object with 'version'")
    expect(page.locator(".s")).to_have_count(0)
    page.close()


def paste(page: Page, text: str) -> None:
    field(page).focus()
    page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.setData("text/plain", text);
          const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
          document.activeElement.dispatchEvent(event);
        }""",
        text,
    )


def test_a_short_paste_is_recognised_too(page: Page) -> None:
    paste(page, "Ines: I saw Carl.\nOmar: When did he leave?\n")
    expect(page.locator(".s")).to_have_count(2)
    assert speakers(page) == ["Ines", "Omar"]
    paste(page, "Berta walked\nand Carl")
    expect(field(page)).to_have_value("Berta walked\nand Carl")


def test_a_restart_loses_nothing(chromium: Browser, tiny: TinyModels, tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/sessions.db"
    with QuickServer(tiny.fp32, store) as before:
        page = chromium.new_page()
        page.set_default_timeout(PATIENCE)
        errors = browser.ConsoleErrors(page)
        page.goto(before.url)
        add(page, "Anna saw the old man.")
        before.kill()
        expect(page.locator("#state")).to_contain_text("Reconnecting")
        field(page).fill("He left the house.")
        field(page).press("Enter")
        expect(field(page)).to_have_value("")
        expect(page.locator(".s")).to_have_count(1)
        with QuickServer(tiny.fp32, store, before.port):
            expect(page.locator(".s")).to_have_count(2)
            expect(page.locator("#state")).to_have_text("Live")
            add(page, "She met Carl.")
            assert sentences(page) == ["Anna saw the old man.", "He left the house.", "She met Carl."]
            agrees(page)
            page.close()
    assert errors.without("net::ERR_") == []


def test_a_long_paste_is_read_in_pieces_while_the_page_goes_on(page: Page) -> None:
    words = (
        "Anna saw the old man in the city . He met Carl , who left . She walked and said it was her house . ".split()
    )
    text = " ".join(words[i % len(words)] for i in range(20_000))
    # Sentences that are there stay there: nothing is shown twice to show more.
    page.evaluate(
        """() => {
          window.removed = 0;
          new MutationObserver((changes) => {
            for (const change of changes) for (const node of change.removedNodes) {
              if (node.matches?.(".s, .e") || node.querySelector?.(".s, .e")) window.removed += 1;
            }
          }).observe(document.body, { childList: true, subtree: true });
        }"""
    )
    paste(page, text)
    expect(page.locator("#progress")).to_be_visible()
    expect(page.locator(".s").nth(20)).to_be_visible()
    field(page).press_sequentially("Berta")
    expect(field(page)).to_have_value("Berta")
    page.locator(".m").first.hover()
    expect(page.locator(".m.on").first).to_be_visible()
    expect(page.locator("#progress")).to_be_visible()  # all that happened while it was being read
    expect(page.locator("#progress")).to_be_hidden(timeout=5 * PATIENCE)
    state = known(page)
    expect(page.locator(".s")).to_have_count(state["sentences"])
    assert state["tokens"] == 20_000
    assert page.evaluate("window.removed") == 0
    agrees(page)
    first, last = (state["entities"][place]["id"] for place in (0, -1))  # a model at random links what it likes
    session = page.url.replace("#session=", "v1/sessions/")
    httpx.post(f"{session}/entities/{first}/merge", json={"other": last}, timeout=PATIENCE / 1000).raise_for_status()
    expect(page.locator(f'.m[data-e="{last}"]')).to_have_count(0)
    only_what_is_in_sight_is_lit(page, first)


def only_what_is_in_sight_is_lit(page: Page, entity: str) -> None:
    """A chain all over a long text is held: wherever one looks, its mentions there are lit, and not thousands."""
    page.locator(".e", has=page.locator(".n", has_text=re.compile(f"^{entity}$"))).click()
    chain = page.locator(f'.m[data-e="{entity}"]')
    lit = re.compile(r"\bon\b")
    for here, there in ((chain.first, chain.last), (chain.last, chain.first)):
        here.scroll_into_view_if_needed()
        expect(here).to_have_class(lit)
        expect(there).not_to_have_class(lit)
        assert page.locator(".lit").count() < page.locator(".block").count()
    page.keyboard.press("Escape")
    expect(page.locator(".m.on, .lit")).to_have_count(0)


def test_a_token_is_asked_for(chromium: Browser, server: QuickServer) -> None:
    page = chromium.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(server.url)

    def guarded(route: Route) -> None:
        if route.request.headers.get("authorization") == "Bearer secret":
            route.continue_()
        else:
            told = {"type": "urn:incoref:problem:unauthorized", "title": "A valid bearer token is needed"}
            route.fulfill(status=401, json=told, content_type="application/problem+json")

    page.route("**/v1/**", guarded)
    field(page).fill("Anna left.")
    field(page).press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Token").fill("secret")
    dialog.get_by_role("button", name="Continue").click()
    expect(page.locator(".s")).to_have_count(1)
    page.close()


def test_after_the_end_of_a_session_another_one_begins(chromium: Browser, server: QuickServer) -> None:
    # Not the fixture's page: asking for a session that has ended is an error on the console, if it asks in time.
    page = chromium.new_page(base_url=server.url)
    page.set_default_timeout(PATIENCE)
    page.goto("/")
    add(page, "Anna saw the old man.")
    httpx.delete(page.url.replace("#session=", "v1/sessions/"), timeout=PATIENCE / 1000)
    expect(page.locator("#state")).to_have_text("Session ended")
    field(page).fill("He left.")
    field(page).press("Enter")
    expect(page.locator(".s")).to_have_text(["He left."])
    expect(page.locator("#state")).to_have_text("Live")
    agrees(page)
    page.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_nothing_stands_in_the_way_of_people(page: Page, scheme: Any, width: int) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    obstacles = serious(page)
    add(page, "Anna saw the old man in the city.", "He met Carl and Berta.")
    page.locator(".e").first.click()
    obstacles += serious(page)
    page.locator(".m").first.click()
    expect(page.locator(".trace")).to_be_visible()
    obstacles += serious(page)
    assert obstacles == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def serious(page: Page) -> list[str]:
    """What axe-core finds that is serious or worse."""
    found = Axe().run(page).response["violations"]
    return [
        f"{rule['id']}: {rule['help']}: {[node['html'][:200] for node in rule['nodes'][:3]]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]
