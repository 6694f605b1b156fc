"""The pages in a real browser, over prepared rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from runtime.commands import control
from runtime.inbox import inbox, messages
from runtime.statuses import MessageState
from runtime.tables import messages as message_rows
from runtime.tasks import tasks
from tests.web.site.pictures import poster
from tests.web.site.site import Site
from tests.web.site.workspace_rows import WorkspaceRows, insert_workspace_rows, make_progress

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page, Route

pytestmark = pytest.mark.browser

# What the page shows, without what only this viewer's browser put there.
SHOWN = """() => {
    const copy = document.getElementById("live").cloneNode(true);
    for (const time of copy.querySelectorAll("time")) time.replaceChildren(time.dateTime);
    for (const one of copy.querySelectorAll("[title]")) one.removeAttribute("title");
    return copy.innerHTML.replace(/\\s+/g, " ");
}"""


# Words that stand out from their ground less than WCAG's AA asks: 4.5, or 3 where they are large.
FAINT = """() => {
    const channels = (color) => {
        const [r, g, b, a = 1] = color.match(/[\\d.]+/g).map(Number);
        return color.startsWith("color(") ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
    };
    const over = (top, below) => top.slice(0, 3).map((one, n) => one * top[3] + below[n] * (1 - top[3]));
    const ground = (element) => {
        if (!element) return [255, 255, 255];
        const own = channels(getComputedStyle(element).backgroundColor);
        return own[3] === 1 ? own.slice(0, 3) : over(own, ground(element.parentElement));
    };
    const light = (color) => {
        const [r, g, b] = color.map((one) => one / 255)
            .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const faint = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const element = node.parentElement;
        if (!node.nodeValue.trim() || !element.checkVisibility({ opacityProperty: true })) continue;
        if (element.closest(".hidden, .skip, :disabled")) continue;
        const style = getComputedStyle(element);
        const below = ground(element);
        const [a, b] = [light(over(channels(style.color), below)), light(below)];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const size = parseFloat(style.fontSize);
        const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
        if (ratio >= (large ? 3 : 4.5)) continue;
        faint.add(`${ratio.toFixed(2)} ${element.className || element.tagName}: ${node.nodeValue.trim().slice(0, 30)}`);
    }
    return [...faint];
}"""


def every_path(made: WorkspaceRows) -> tuple[str, ...]:
    task, document = f"/tasks/{made.task_id}", f"/objects/{made.document_id}"
    return ("/", task, "/objects", document, "/tasks", "/memory", "/skills", "/runs", "/settings")


def sign_in(page: Page, site: Site, path: str = "/") -> None:
    page.goto(f"{site.url}/?token={site.token}")
    page.wait_for_selector('#line[data-state="live"]')
    if path != "/":
        page.goto(site.url + path)
        page.wait_for_selector('#line[data-state="live"]')


def test_a_message_is_written_and_shown(page: Page, site: Site) -> None:
    # Given an empty thread, whose address has forgotten the token
    sign_in(page, site)
    assert page.url == f"{site.url}/"
    assert page.get_by_text("What shall we make?").is_visible()
    assert page.get_by_text("offline stand-in").is_visible()

    # When two lines are typed, with Shift+Enter between them, and Enter
    field = page.get_by_label("Message", exact=True).locator("textarea")
    field.press_sequentially("navy")
    field.press("Shift+Enter")
    field.press_sequentially("and cream")
    field.press("Enter")

    # Then one message is there, and the field is free for the next
    page.wait_for_selector(".message.user")
    assert page.locator(".message.user .words").inner_text() == "navy\nand cream"
    assert field.input_value() == ""
    assert [item["text"] for item in site.get("/api/v1/thread")["items"]] == ["navy\nand cream"]


def test_words_are_kept_whose_answer_was_lost_and_that_were_changed_then(page: Page, site: Site) -> None:
    # Given a message that was taken in, whose answer never came
    sign_in(page, site)
    field = page.get_by_label("Message", exact=True).locator("textarea")

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/api/v1/messages", lose, times=1)
    field.fill("three posters")
    field.press("Enter")
    page.get_by_text("does not answer just now").wait_for()
    assert field.input_value() == "three posters"

    # When more is written and it is sent again
    field.press_sequentially(", and a film")
    field.press("Enter")

    # Then both are there, and the field is free
    page.wait_for_function("() => document.querySelector('#composer textarea').value === ''")
    said = [item["text"] for item in site.get("/api/v1/thread")["items"]]
    assert said == ["three posters", "three posters, and a film"]


def test_the_same_words_sent_again_after_a_lost_answer_are_one_message(page: Page, site: Site) -> None:
    sign_in(page, site)
    field = page.get_by_label("Message", exact=True).locator("textarea")

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/api/v1/messages", lose, times=1)
    field.fill("three posters")
    field.press("Enter")
    page.get_by_text("does not answer just now").wait_for()

    field.press("Enter")

    page.wait_for_function("() => document.querySelector('#composer textarea').value === ''")
    assert [item["text"] for item in site.get("/api/v1/thread")["items"]] == ["three posters"]


def test_what_is_typed_while_a_message_is_on_its_way_stays(page: Page, site: Site) -> None:
    # Given a message on its way
    sign_in(page, site)
    field = page.get_by_label("Message", exact=True).locator("textarea")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/v1/messages", hold, times=1)
    field.fill("first")
    with page.expect_request("**/api/v1/messages"):
        field.press("Enter")

    # When more is typed before its answer comes
    field.press_sequentially("second")
    page.wait_for_timeout(50)
    held[0].continue_()

    # Then that stays to be sent
    page.wait_for_function("() => document.querySelector('#composer textarea').value === 'second'")
    field.press("Enter")
    page.wait_for_function("() => document.querySelector('#composer textarea').value === ''")
    assert [item["text"] for item in site.get("/api/v1/thread")["items"]] == ["first", "second"]


def test_a_text_that_is_too_long_is_not_cut_but_refused_with_what_to_do(page: Page, site: Site) -> None:
    sign_in(page, site)
    field = page.get_by_label("Message", exact=True).locator("textarea")
    long = "poster " * 72_000

    # As a paste would put it there: what is set by a script is cut by nothing
    field.focus()
    page.keyboard.insert_text(long)
    page.get_by_role("button", name="Send").click()

    page.get_by_text("attach it as a file").wait_for()
    assert field.input_value() == long
    assert site.get("/api/v1/thread")["items"] == []


def test_a_file_goes_along(page: Page, site: Site) -> None:
    sign_in(page, site)

    page.set_input_files("#files", {"name": "sketch.png", "mimeType": "image/png", "buffer": poster("SKETCH")})
    page.wait_for_selector("#attached .chip")
    page.get_by_role("button", name="Send").click()

    page.locator(".message.user .tile img").wait_for()
    [message] = site.get("/api/v1/thread")["items"]
    assert len(message["attachments"]) == 1


def test_pictures_and_films_are_really_shown(page: Page, site: Site) -> None:
    # Given a task with two posters, and one with a film
    rows = insert_workspace_rows(site)
    sign_in(page, site)

    # Then the pictures have their size, and the film plays
    page.wait_for_function(
        "() => [...document.querySelectorAll('.tile img')].filter((one) => one.naturalWidth === 512).length === 2"
    )
    film = page.locator("video").first
    film.evaluate("(one) => { one.muted = true; return one.play(); }")
    page.wait_for_function("() => document.querySelector('video').currentTime > 0.2")
    assert film.evaluate("(one) => [one.videoWidth, one.videoHeight]") == [192, 128]

    # And the page of one of them shows it large, with its versions
    page.goto(f"{site.url}/objects/{rows.pictures[0]}")
    assert page.locator(".stage img").evaluate("(one) => one.decode().then(() => one.naturalHeight)") == 768
    assert page.get_by_role("link", name="Version 1").is_visible()


def test_progress_moves_without_a_reload(page: Page, site: Site) -> None:
    # Given a task's page with an order at 35 %
    rows = insert_workspace_rows(site)
    sign_in(page, site, f"/tasks/{rows.task_id}")
    bar = page.locator(f'[data-generation="{rows.order_id}"] progress')
    assert bar.get_attribute("value") == "35"
    loads: list[str] = []
    page.on("request", lambda request: loads.append(request.url) if "/tasks/" in request.url else None)

    # When the provider is further
    make_progress(site, rows.order_id, 0.6)

    # Then the bar is too, and nothing was loaded for it
    page.wait_for_function(
        f"() => document.querySelector('[data-generation=\"{rows.order_id}\"] progress').value === 60"
    )
    assert page.get_by_text("60 %").is_visible()
    assert loads == []


def test_a_card_is_answered_by_a_press(page: Page, site: Site) -> None:
    # Given a quote on a task's page, drawn from stored facts
    rows = insert_workspace_rows(site)
    sign_in(page, site, f"/tasks/{rows.task_id}")
    card = page.locator(f"#card-{rows.card_id}")
    assert "0.50 USD" in card.locator("tfoot").inner_text()

    # When it is refused
    card.get_by_role("button", name="Refuse").click()

    # Then it leaves the open ones, and the decision is stored
    card.wait_for(state="detached")
    assert site.get(f"/api/v1/cards/{rows.card_id}")["answer"]["option"] == "refuse"


def test_after_a_press_by_keyboard_the_focus_stays_where_the_card_stood(page: Page, site: Site) -> None:
    # Given the thread, where a task's entry holds its card
    rows = insert_workspace_rows(site)
    sign_in(page, site)
    entry = page.locator(f'[data-key="task-{rows.task_id}"]')
    refuse = entry.get_by_role("button", name="Refuse")

    # When the card is answered by keyboard, and goes
    refuse.focus()
    page.keyboard.press("Enter")
    page.locator(f"#card-{rows.card_id}").wait_for(state="detached")

    # Then the next Tab goes on in the entry, and later changes leave the focus there
    page.wait_for_function(f"() => document.activeElement.dataset.key === 'task-{rows.task_id}'")
    site.say("Meanwhile")
    page.get_by_text("Meanwhile").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate(f"() => !!document.activeElement.closest('[data-key=\"task-{rows.task_id}\"]')")


def test_a_late_press_is_told_what_was_decided(page: Page, site: Site) -> None:
    # Given a page whose line is cut, and a card that somebody else answers meanwhile
    rows = insert_workspace_rows(site)
    sign_in(page, site, f"/tasks/{rows.task_id}")
    page.route("**/api/v1/events*", lambda route: route.abort())
    page.evaluate("() => window.dispatchEvent(new Event('pagehide'))")
    site.post(f"/api/v1/cards/{rows.card_id}/answer", {"option": "refuse"})

    # When it is pressed here
    page.locator(f"#card-{rows.card_id}").get_by_role("button", name="Approve").click()

    # Then the page says what was decided, and shows it so
    page.get_by_text("already decided: refuse").wait_for()
    page.locator(f"#card-{rows.card_id}").wait_for(state="detached")


def test_what_is_written_in_a_task_goes_to_that_task(page: Page, site: Site) -> None:
    rows = insert_workspace_rows(site)
    sign_in(page, site, f"/tasks/{rows.task_id}")

    page.get_by_label("Message to this task").locator("textarea").fill("warmer, please")
    page.keyboard.press("Enter")

    page.wait_for_function("() => document.querySelector('#composer textarea').value === ''")
    with site.dependencies.database.reading(site.workspace_id) as scope:
        sent = scope.rows(scope.select(message_rows).where(message_rows.c.text == "warmer, please"))
    assert [row.to_task_id for row in sent] == [rows.task_id]


def test_a_message_is_moved_to_another_task_by_keyboard(page: Page, site: Site) -> None:
    # Given a task, and words in the thread that nobody has read
    rows = insert_workspace_rows(site)
    message_id = site.say("a little warmer, please")
    sign_in(page, site)
    shown = page.locator(f"#{message_id}")

    # When its way is opened and a task chosen, with no mouse
    shown.locator("summary").focus()
    page.keyboard.press("Enter")
    places = shown.get_by_label("Move to")
    assert places.locator("option").first.inner_text() == "a task of its own"
    places.select_option(rows.task_id)
    places.press("Tab")
    page.keyboard.press("Enter")

    # Then it is there, and a word says so
    page.locator(".toast", has_text="Moved to ").wait_for()
    shown.get_by_role("link", name="went to a task").wait_for()
    assert site.get(f"/api/v1/messages/{message_id}")["task_id"] == rows.task_id

    # And what a step has read meanwhile is not moved, which is said with what to do
    with site.writing() as scope:
        inbox.claim_inbox(scope, rows.task_id, rows.turn_id, 9)
        messages.set_message_state(scope, message_id, MessageState.CONSUMED, was=(MessageState.DELIVERED,))
    shown.locator("summary").wait_for(state="detached")
    assert site.post(f"/api/v1/messages/{message_id}/reroute", {"task_id": "new"}).status_code == 409


def test_a_task_is_stopped_by_its_button(page: Page, site: Site) -> None:
    rows = insert_workspace_rows(site)
    sign_in(page, site, f"/tasks/{rows.task_id}")
    asked: list[str] = []

    def accept(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.accept()

    page.on("dialog", accept)

    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Resume").click()
    # The button is for the turn that the page shows: this one begins with the resumption
    page.wait_for_selector(".head .chip.active")
    page.get_by_role("button", name="Stop").click()

    # Then it is stopped, and nobody was told that what a provider makes is stopped too
    page.wait_for_selector(".head .chip.stopped")
    assert "already goes on and is charged" in asked[0]
    assert site.get(f"/api/v1/generations/{rows.order_id}")["state"] == "running"
    assert site.get(f"/api/v1/tasks/{rows.task_id}")["status"] == "stopped"


def test_the_view_after_a_lost_line_equals_a_fresh_load(page: Page, site: Site) -> None:
    # Given a task's page with a running film of its state
    rows = insert_workspace_rows(site)
    sign_in(page, site, f"/tasks/{rows.task_id}")
    turn = page.locator(f'[data-key="turn-{rows.turn_id}"]')
    turn.locator("summary").click()

    # When the line is lost while much happens, and comes back
    page.context.set_offline(True)
    with site.writing() as scope:
        for n in range(12):
            messages.store_agent_message(
                scope,
                person_id=site.person_id,
                text=f"report {n}",
                task_id=rows.task_id,
                reply_to=None,
                cause=f"report:{n}",
                language="en",
            )
    make_progress(site, rows.order_id, 0.8)
    site.post(f"/api/v1/cards/{rows.card_id}/answer", {"option": "refuse"})
    page.context.set_offline(False)
    page.get_by_text("report 11").wait_for()
    page.wait_for_selector('#line[data-state="live"]')
    page.locator(f"#card-{rows.card_id}").wait_for(state="detached")
    assert turn.evaluate("(one) => one.open"), "what the viewer opened was closed"
    turn.locator("summary").click()
    seen = page.evaluate(SHOWN)

    # Then it is what a fresh load shows: nothing missing, nothing twice
    page.reload()
    page.wait_for_selector('#line[data-state="live"]')
    assert page.evaluate(SHOWN) == seen
    assert page.get_by_text("report 7").count() == 1


def test_two_tabs_see_the_same(page: Page, site: Site) -> None:
    rows = insert_workspace_rows(site)
    sign_in(page, site)
    other = page.context.new_page()
    other.goto(f"{site.url}/tasks/{rows.task_id}")
    other.wait_for_selector('#line[data-state="live"]')

    with site.writing() as scope:
        control.pause_task(scope, rows.task_id)

    page.wait_for_selector(".task-entry .chip.paused")
    other.wait_for_selector(".head .chip.paused")


def test_what_a_model_wrote_can_do_nothing(page: Page, site: Site) -> None:
    # Given words with a script, a script's link and a picture from elsewhere
    insert_workspace_rows(site)
    far: list[str] = []
    page.on("request", lambda request: far.append(request.url) if not request.url.startswith(site.url) else None)

    # When they are shown
    sign_in(page, site)
    report = page.locator(".report").first

    # Then they are words
    assert report.locator("strong").inner_text() == "Two of three"
    assert report.locator("script, img").count() == 0
    assert report.locator("a[href^='javascript']").count() == 0
    assert far == []


def test_a_document_is_edited_and_what_comes_meanwhile_is_announced(page: Page, site: Site) -> None:
    # Given a document's page
    rows = insert_workspace_rows(site)
    path = f"/api/v1/objects/{rows.document_id}"
    sign_in(page, site, f"/objects/{rows.document_id}")
    page.get_by_text("Edit", exact=True).click()

    # When it is changed here
    page.locator("#edit-text").fill("# Shot list\n\nOnly dawn")
    page.get_by_role("button", name="Save as version 2").click()
    page.get_by_text("Only dawn").first.wait_for()
    assert site.get(path)["version"] == 2

    # And, during another change here, somewhere else
    page.get_by_text("Edit", exact=True).click()
    assert page.locator("#edit-text").input_value() == "# Shot list\n\nOnly dawn"
    page.locator("#edit-text").fill("mine")
    site.client.put(path, json={"content": "theirs"}, headers={"If-Match": "2"})

    # Then the page announces it beside the field, whose base stays the one it began with
    page.get_by_text("Version 3 came meanwhile.").wait_for()
    assert page.locator("[data-edit]").get_attribute("data-base") == "2"
    assert str(page.get_by_role("link", name="See version 3").get_attribute("href")).endswith("?version=3")

    # And saving is refused and keeps the words
    page.get_by_role("button", name="Save as version 3").click()
    page.get_by_text("Version 3 came in between").wait_for()
    assert page.locator("#edit-text").input_value() == "mine"
    assert site.client.get(f"{path}/content").text == "theirs"

    # Until the person says that theirs goes on top
    page.get_by_role("button", name="Keep mine").click()
    assert page.get_by_text("Version 3 came meanwhile.").is_hidden()
    page.get_by_role("button", name="Save as version 4").click()
    page.locator(".paper").get_by_text("mine").wait_for()
    assert site.client.get(f"{path}/content").text == "mine"
    assert site.client.get(f"{path}/content?version=3").text == "theirs"


def test_a_task_that_is_stopped_takes_no_more_words_at_once(page: Page, site: Site) -> None:
    rows = insert_workspace_rows(site)
    sign_in(page, site, f"/tasks/{rows.task_id}")
    page.locator("#composer textarea").fill("one more please")

    site.client.post(f"/api/v1/tasks/{rows.task_id}/stop", json={})

    page.get_by_text("This task is stopped and takes no more messages.").wait_for()
    assert page.locator("#composer").count() == 0


@pytest.mark.parametrize("width", [900, 1024, 1180, 1600])
def test_the_composer_of_a_task_stays_off_the_right_column(page: Page, site: Site, width: int) -> None:
    rows = insert_workspace_rows(site)
    page.set_viewport_size({"width": width, "height": 800})
    sign_in(page, site, f"/tasks/{rows.task_id}")

    composer = page.locator("#composer").bounding_box()
    left, right = page.locator(".talking").bounding_box(), page.locator(".columns > .facts").bounding_box()
    assert composer is not None
    assert left is not None
    assert right is not None
    assert composer["x"] + composer["width"] <= left["x"] + left["width"] + 1
    assert right["x"] >= left["x"] + left["width"] or right["y"] >= left["y"] + left["height"]
    if width <= 1180 and right["y"] == left["y"]:
        assert abs(composer["x"] + composer["width"] - left["x"] - left["width"]) <= 1


def test_an_edit_that_has_not_begun_takes_the_newest_text(page: Page, site: Site) -> None:
    rows = insert_workspace_rows(site)
    sign_in(page, site, f"/objects/{rows.document_id}")

    site.client.put(f"/api/v1/objects/{rows.document_id}", json={"content": "theirs"}, headers={"If-Match": "1"})
    page.locator(".paper").get_by_text("theirs").wait_for()
    page.get_by_text("Edit", exact=True).click()

    assert page.locator("#edit-text").input_value() == "theirs"
    page.get_by_role("button", name="Save as version 3").wait_for()


def test_what_is_typed_while_a_text_is_saved_stays_in_the_field(page: Page, site: Site) -> None:
    rows = insert_workspace_rows(site)
    path = f"/api/v1/objects/{rows.document_id}"
    sign_in(page, site, f"/objects/{rows.document_id}")
    page.get_by_text("Edit", exact=True).click()
    field = page.locator("#edit-text")

    def type_meanwhile(route: Route) -> None:
        answer = route.fetch()
        page.evaluate("() => { document.getElementById('edit-text').value += ' and dusk'; }")
        route.fulfill(response=answer)

    page.route(f"**{path}", lambda route: type_meanwhile(route) if route.request.method == "PUT" else route.continue_())
    field.fill("Only dawn")
    page.get_by_role("button", name="Save as version 2").click()

    page.locator(".paper").get_by_text("Only dawn").wait_for()
    page.get_by_role("button", name="Save as version 3").wait_for()
    assert field.input_value() == "Only dawn and dusk"
    assert site.client.get(f"{path}/content").text == "Only dawn"


def test_two_pages_that_edit_one_document_lose_nothing(page: Page, site: Site) -> None:
    # Given one document open for editing twice
    rows = insert_workspace_rows(site)
    path = f"/api/v1/objects/{rows.document_id}"
    sign_in(page, site, f"/objects/{rows.document_id}")
    other = page.context.new_page()
    other.goto(page.url)
    for one in (page, other):
        one.get_by_text("Edit", exact=True).click()

    # When both are saved, one after the other
    other.locator("#edit-text").fill("the other page's paragraph")
    other.get_by_role("button", name="Save as version 2").click()
    page.get_by_text("Version 2 came meanwhile.").wait_for()
    page.locator("#edit-text").fill("this page's paragraph")
    page.get_by_role("button", name="Save as version 2").click()

    # Then the second is asked, not taken
    page.get_by_text("Version 2 came in between").wait_for()
    assert site.client.get(f"{path}/content").text == "the other page's paragraph"
    assert site.get(path)["version"] == 2


def test_runs_are_shown_with_their_steps(page: Page, site: Site) -> None:
    site.dependencies.runs.runs["r1"] = {
        "id": "r1",
        "app": "loopwright",
        "function": "run-turn",
        "status": "failed",
        "started_at": "2026-01-02T03:04:05Z",
        "ended_at": "2026-01-02T03:04:06Z",
        "event": {"name": "turn/requested"},
        "output": None,
        "error": {"message": "no model"},
        "steps": [
            {
                "id": "s1",
                "name": "decide-1",
                "attempts": 3,
                "output": None,
                "error": "no model",
                "started_at": None,
                "ended_at": "2026-01-02T03:04:06Z",
            }
        ],
    }
    sign_in(page, site, "/runs")

    page.get_by_role("link", name="run-turn").click()

    page.get_by_text("3 attempts").wait_for()
    assert page.get_by_text("turn/requested").is_visible()
    assert page.locator(".trace pre").inner_text() == "no model"


def test_every_page_is_used_by_keyboard_and_fits_a_phone(page: Page, site: Site) -> None:
    rows = insert_workspace_rows(site)
    sign_in(page, site)
    page.set_viewport_size({"width": 390, "height": 844})
    for path in every_path(rows):
        page.goto(site.url + path)

        # Then nothing is wider than the screen, every control has a name, and the bar can be skipped
        assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth"), path
        nameless = page.evaluate(
            """() => [...document.querySelectorAll("button, input:not([type=hidden]), select, textarea, a, img")]
                .filter(
                (one) => !(one.textContent.trim() || one.getAttribute("aria-label") || one.hasAttribute("alt")
                    || one.labels?.length || one.getAttribute("aria-hidden"))).map((one) => one.outerHTML)"""
        )
        assert nameless == [], path
        page.locator(".skip").focus()
        page.keyboard.press("Enter")
        assert page.evaluate("() => document.activeElement.id") == "content", path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_readable_by_day_and_by_night(page: Page, site: Site, scheme: Literal["light", "dark"]) -> None:
    rows = insert_workspace_rows(site)
    page.emulate_media(color_scheme=scheme)
    sign_in(page, site)
    for path in every_path(rows):
        page.goto(site.url + path)

        # Then the ground is that of the scheme, and every word stands out from what it stands on
        paper = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(18, 22, 28)") == (scheme == "dark"), path
        assert page.evaluate(FAINT) == [], path

    # And one that does not would have been found
    page.evaluate(
        """() => {
            const word = document.createElement("p");
            word.textContent = "faint";
            word.style.color = "rgb(120 120 120 / 60%)";
            document.getElementById("content").append(word);
        }"""
    )
    [faint] = page.evaluate(FAINT)
    assert faint.endswith("P: faint")


def test_the_way_to_every_page_is_in_the_bar_at_any_width(page: Page, site: Site) -> None:
    sign_in(page, site)
    for width in (700, 900, 1000, 1280):
        page.set_viewport_size({"width": width, "height": 700})

        # The name stands in one line, and the last page's link is seen whole
        assert page.locator(".brand").evaluate("(brand) => brand.clientHeight") < 40
        assert page.locator(".nav").evaluate("(nav) => nav.scrollWidth - nav.clientWidth") == 0


def test_an_address_without_a_page_says_so(page: Page, site: Site) -> None:
    sign_in(page, site)

    page.goto(f"{site.url}/nothing")

    assert page.get_by_text("there is nothing at this address").is_visible()
    page.get_by_role("link", name="Back to the thread").click()
    assert page.url == f"{site.url}/"


def test_times_are_those_of_the_viewers_zone(browser: Browser, site: Site) -> None:
    # Given somebody in Tokyo, and a run of the evening before in London
    site.dependencies.runs.runs["r1"] = {
        "id": "r1", "app": "loopwright", "function": "run-turn", "status": "completed", "ended_at": None,
        "started_at": "2026-01-02T18:04:05Z", "event": {}, "output": 1, "error": None, "steps": [],
    }  # fmt: skip
    context = browser.new_context(timezone_id="Asia/Tokyo", locale="en-GB")
    page = context.new_page()
    sign_in(page, site, "/runs")

    shown = page.locator("time").first

    assert shown.inner_text() == "3 Jan 2026, 03:04"
    assert shown.get_attribute("datetime") == "2026-01-02T18:04:05Z"
    context.close()


def test_a_task_without_anything_has_a_page(page: Page, site: Site) -> None:
    with site.writing() as scope:
        task = tasks.create_task(
            scope, kind="light", goal="A film", language="en", person_id=site.person_id, asked_by="person", cause="x"
        )

    sign_in(page, site, f"/tasks/{task.id}")

    assert page.get_by_text("A quick task needs no plan.").is_visible()
    assert page.get_by_text("Nothing said yet.").is_visible()
