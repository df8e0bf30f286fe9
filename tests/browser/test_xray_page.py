"""The x-ray's page in a browser: by mouse, by keyboard, on a small screen, with hostile text."""

import pytest

HOSTILE = """\
import torch
x = torch.ones(3)  # </script><script>document.title = "taken"</script><!--
name = "</script><img src=x onerror=\\"document.title = 'taken'\\">"
y = x * 2
raise ValueError(name)
"""


@pytest.fixture
def page(browser, page_of, gpt):
    browser.open(page_of("xray", gpt))
    yield browser
    assert browser.errors == []
    assert all(url.startswith(("file:", "about:")) for url in browser.requests)


def panel(browser):
    return browser.run("document.getElementById('panel').innerText")


def number_of(gpt, text):
    return next(n for n, line in enumerate(gpt.split("\n"), 1) if text in line)


def test_a_line_opens_by_click_and_by_keys(page, gpt):
    number = number_of(gpt, ".contiguous()")
    page.click(f'[aria-label="Line {number}, ran 80 times"]')
    assert "A view: 0 bytes" in panel(page) and "Copied 128 KiB" in panel(page)
    assert "blocks.0 (Block)" in panel(page)
    page.press("ArrowRight")
    assert "blocks.1 (Block)" in panel(page)
    page.press("Escape")
    assert panel(page) == ""
    page.press("ArrowDown")
    page.press("Enter")
    assert f"line {number + 1}" in panel(page)
    assert page.run("document.querySelectorAll('[aria-expanded=true]').length") == 1


def test_a_tensor_is_followed_and_left(page, gpt):
    number = number_of(gpt, ".contiguous()")
    page.run(f"choose(0, {number})")
    page.press("f")
    assert "Tensor seen" in panel(page) and "freed by the pass of" in panel(page)
    stops = page.run("[...document.querySelectorAll('.stop .mark')].map((e) => e.textContent)")
    assert "M" in stops[0] and any("F" in s for s in stops)
    assert "tensor=" in page.run("location.hash")
    page.press("Escape")
    assert page.run("document.querySelectorAll('.stop').length") == 0
    page.click(".source button.tensor")
    assert page.run("document.body.classList.contains('following')")


def test_keys_costliest_line_find_and_help(page):
    page.press("s")
    first = page.run("open.join('.')")
    page.press("s")
    assert page.run("open.join('.')") != first
    page.press("/")
    page.call("Input.insertText", text="masked_fill")
    page.press("Enter")
    assert "masked_fill" in panel(page)
    page.run("document.activeElement.blur()")
    page.press("?")
    assert page.run("document.querySelector('dialog').open")
    page.press("Escape")
    # The browser tells the page of the closing a moment later.
    assert page.run(
        "new Promise((done) => { const look = () => document.querySelector('dialog')"
        " ? setTimeout(look, 10) : done(true); look(); })"
    )


def test_the_address_keeps_what_is_chosen(browser, page_of, gpt):
    number = number_of(gpt, "self.head(h)")
    browser.open(page_of("xray", gpt), f"#line=0.{number}")
    assert f"line {number}" in panel(browser)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 800, 1400])
def test_it_fits_and_has_contrast(browser, page_of, gpt, width, dark):
    browser.open(page_of("xray", gpt), "#line=0.28", width=width, dark=dark)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("document.documentElement.dataset.theme") == ("dark" if dark else "light")
    assert worst_contrast(browser) >= 4.5
    inside = browser.run("document.getElementById('panel').closest('.file') !== null")
    assert inside == (width < 1360)


def test_every_control_has_a_name(page):
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    controls = [
        n
        for n in nodes
        if n.get("role", {}).get("value") in ("button", "searchbox", "textbox", "link")
        and not n["ignored"]
    ]
    assert len(controls) > 40
    assert [n for n in controls if not n["name"]["value"].strip()] == []


def test_hostile_text_stays_text(browser, page_of):
    browser.open(page_of("xray", HOSTILE))
    assert browser.errors == []
    assert browser.run("document.title") == "xray script.py"
    assert browser.run("document.querySelectorAll('img, script').length") == 2
    assert "</script><img" in browser.run("document.querySelector('.error').innerText")
    assert browser.run("document.querySelectorAll('.failed').length") == 1


def worst_contrast(browser) -> float:
    """The least contrast of text with its ground (WCAG 2, 1.4.3)."""
    return browser.run(
        """(() => {
        const channels = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
        const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
          .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
          .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
        const ground = (e) => {
          for (; e; e = e.parentElement) {
            const c = channels(getComputedStyle(e).backgroundColor);
            if (c.length === 3 || c[3] > 0) return c;
          }
          return [255, 255, 255];
        };
        let worst = 21;
        const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walk.nextNode()) {
          const e = walk.currentNode.parentElement;
          if (!walk.currentNode.data.trim() || e.closest('script, noscript, .hidden')) continue;
          const [a, b] = [light(channels(getComputedStyle(e).color)), light(ground(e))];
          worst = Math.min(worst, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
        }
        return worst;
      })()"""
    )
