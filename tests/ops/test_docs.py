"""The texts of ops: every Python name has one, and its examples print what they say."""

import doctest
import warnings

import rushlight as torch

from .under_test import live_table


def test_every_name_has_a_text():
    texts = {}
    for entry in live_table():
        name = (entry["namespace"], entry["python"])
        texts[name] = texts.get(name, "") + entry["doc"].strip()
    bare = [".".join(filter(None, name)) for name, text in texts.items() if not text]
    assert not bare, f"ops without .doc(...): {' '.join(bare)}"


def test_examples_print_what_they_say():
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    said = []
    for entry in live_table():
        torch.manual_seed(0)
        example = parser.get_doctest(entry["doc"], {"torch": torch}, entry["name"], None, None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runner.run(example, out=said.append)
    assert not said, "".join(said)
