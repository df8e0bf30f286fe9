"""The profiler's page in a browser: one selection for all views, sorting, zoom, small screens."""

import pytest

from .test_xray_page import worst_contrast

VIEWS = ("verdict", "timeline", "ops", "roofline", "memory", "flame")


@pytest.fixture
def page(browser, page_of, gpt):
    browser.open(page_of("profile", gpt))
    yield browser
    assert browser.errors == []
    assert all(url.startswith(("file:", "about:")) for url in browser.requests)


def column(browser, section, number):
    rows = f"[...document.querySelectorAll('#{section} tbody tr')]"
    return browser.run(f"{rows}.map((tr) => tr.children[{number}]?.innerText)")


def test_all_views_are_there(page):
    for name in VIEWS:
        assert page.run(f"document.getElementById('{name}').innerText.length") > 20, name
    assert page.run("document.querySelectorAll('#roofline .spot').length") >= 2
    assert page.run("document.querySelectorAll('#flame .box').length") > 20
    painted = """(() => { const c = document.querySelector("canvas");
        const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
        const seen = new Set(); for (let i = 0; i < d.length; i += 4000) seen.add(d[i] + d[i + 1]);
        return seen.size; })()"""
    assert page.run(painted) > 4


def test_a_choice_holds_in_all_views_and_in_the_address(page):
    assert len(column(page, "ops", 0)) > 15
    page.click("#verdict tbody button.link")
    assert page.run("document.querySelector('.chosen-bar').innerText").startswith("Shown in all")
    names = column(page, "ops", 0)
    assert 0 < len(names) < 15 and "linear" in names
    assert page.run("document.querySelectorAll('#roofline .spot.chosen').length") == 1
    assert page.run("document.querySelectorAll('#flame .box.chosen').length") > 0
    assert "chosen=row" in page.run("location.hash")
    page.press("Escape")
    assert len(column(page, "ops", 0)) > 15
    assert page.run("location.hash") in ("", "#")


def test_the_table_sorts_and_sums_up_by_other_things(page):
    page.click("#ops th:nth-child(2) button")
    times = [int(t.replace(",", "")) for t in column(page, "ops", 1) if t]
    assert times == sorted(times, reverse=True)
    assert page.run("document.querySelectorAll('#ops th[aria-sort=descending]').length") == 1
    change = "s.dispatchEvent(new Event('change'))"
    page.run(f"const s = document.querySelector('select'); s.value = 'line'; {change}")
    assert any(name.startswith("script.py:") for name in column(page, "ops", 0))
    page.run(f"s.value = 'shape'; {change}")
    assert any("16x" in name for name in column(page, "ops", 0))


def test_the_timeline_zooms_by_keys_and_picks_by_click(page):
    assert page.run("[left, right - span]") == [0, 0]
    page.press("+")
    assert page.run("right - left") < page.run("span") * 0.51
    page.run("canvas.focus()")
    before = page.run("left")
    page.press("ArrowRight")
    assert page.run("left") > before
    page.press("0")
    assert page.run("right - left") == page.run("span")
    page.run("left = begin[N >> 1] - 1e5; right = left + 4e6; paintTimeline()")
    page.run("choose(null); pick(eventAt(canvas.clientWidth / 2, 24))")
    assert page.run("chosen") is not None


def test_the_flame_graph_looks_into_a_box(page):
    boxes = "[...document.querySelectorAll('#flame .box button')]"
    page.run(f"{boxes}.find((b) => b.innerText === 'GPT').click()")
    shown = page.run("document.querySelector('#flame .flame button').innerText")
    assert shown == "GPT" and "% of all" in page.run(
        "document.querySelector('#flame .bar').innerText"
    )


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1400])
def test_it_fits_and_has_contrast(browser, page_of, gpt, width, dark):
    browser.open(page_of("profile", gpt), width=width, dark=dark)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert worst_contrast(browser) >= 4.5


def test_every_control_has_a_name(page):
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = ("button", "combobox", "link")
    controls = [n for n in nodes if n.get("role", {}).get("value") in roles and not n["ignored"]]
    assert len(controls) > 40
    assert [n for n in controls if not n["name"]["value"].strip()] == []
