"""A sample of the campaign (``make fuzz``): nothing that is spoiled ends a process or shows a traceback."""

import random
import sys

import campaign
import pytest
from campaign import KINDS, run
from spoil import spoiled_bytes, spoiled_json, spoiled_text

FIRST = 1_000_000  # seeds that the campaign itself does not use
SAMPLE = {"programs of nptrace": 6, "programs of many shapes": 6, "controllers": 6, "page messages": 200, "models": 150}


@pytest.mark.parametrize("kind", KINDS)
def test_no_case_of_the_sample_is_lost(kind):
    place, _ = KINDS[kind]
    count = SAMPLE.get(kind, 100)
    tally = run(place, FIRST, count)
    assert not tally.lost, tally.lost[:3]
    assert tally.cases == count
    assert len(tally.answers) > 1 or kind.startswith("programs"), (
        "all alike: nothing is accepted, or nothing is spoiled"
    )


def test_cases_depend_on_the_seed_alone():
    text, nest = b"a = 1.5\nb = [2, 3]\n", {"a": [1, 2, {"b": None}], "c": "words"}
    for spoil, whole in ((spoiled_bytes, text), (spoiled_text, text), (spoiled_json, nest)):
        one, other = (repr([spoil(whole, random.Random(seed)) for seed in range(50)]) for _ in range(2))
        assert one == other
        assert len({repr(spoil(whole, random.Random(seed))) for seed in range(50)}) > 25


def test_a_campaign_that_ran_too_few_cases_does_not_pass(monkeypatch, capsys):
    def three(*_):
        tally = campaign.Tally()
        tally.answers["refused"] = 3
        return tally

    monkeypatch.setattr(campaign, "run", three)
    for least, status in ((3, 0), (4, 1)):
        monkeypatch.setattr(sys, "argv", ["campaign", "--only", "studies", "--least", str(least)])
        assert campaign.main() == status
    assert "time was up after 3 of at least 4 cases" in capsys.readouterr().out
    monkeypatch.setattr(campaign, "run", lambda *_: campaign.Tally())
    monkeypatch.setattr(sys, "argv", ["campaign", "--only", "studies"])
    assert campaign.main() == 1
    assert "before a case of: studies" in capsys.readouterr().out


def test_a_case_that_kills_hangs_or_raises_is_counted_as_lost():
    """The harness itself: what it is to find, it finds, and it goes on behind it."""
    tally = run("doomed:cases", 0, 8)
    assert [seed for seed, _ in tally.lost] == [1, 2, 4, 6]
    words = [why for _, why in tally.lost]
    assert "signal 11" in words[0]
    assert "ZeroDivisionError" in words[1]
    assert "2 lines" in words[2]
    assert "MemoryError" in words[3]
    assert tally.answers == {"lost": 4, "fine": 3, "refused": 1}
