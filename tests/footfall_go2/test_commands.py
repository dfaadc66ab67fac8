"""``footfall serve`` and ``footfall drive`` on bad input: one sentence, exit status 2."""

from __future__ import annotations

import pytest

from footfall.cli.main import run

pytest.importorskip("cyclonedds", reason="these commands need cyclonedds: pip install 'footfall[dds]'")


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("serve mini_cheetah --start flying", "unknown start 'flying'"),
        ("serve mini_cheetah --domain 999", "DDS domain"),
        ("serve mini_cheetah --interface nowhere0", "nowhere0"),
        ("serve nobody", "nobody"),
        ("drive mini_cheetah --controller dance", "not 'dance'"),
        ("drive mini_cheetah --controller policy.onnx", "policy.onnx"),
        ("drive mini_cheetah --controller missing.npz", "missing.npz"),
        ("drive xiling --controller learned", "unknown policy 'xiling'"),
        ("drive mini_cheetah --controller learned --forward nan", "forward"),
        ("drive mini_cheetah --controller learned --duration -1", "--duration"),
        ("serve spined --protocol go2", "four legs of three joints"),
    ],
)
def test_bad_input_is_one_sentence(line, word, capsys):
    assert run(line.split()) == 2
    said = [text for text in capsys.readouterr().err.splitlines() if "error" in text]
    assert len(said) == 1
    assert word in said[0]


def test_missing_package_is_said_with_its_extra(monkeypatch, capsys):
    from footfall import errors

    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    for line in (["serve", "mini_cheetah"], ["drive", "mini_cheetah"]):
        assert run(line) == 2
        assert "pip install 'footfall[dds]'" in capsys.readouterr().err
