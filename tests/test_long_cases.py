"""The list of long cases."""

from pathlib import Path


def test_the_long_cases_are_of_tests_that_exist():
    listed = (Path(__file__).parent / "long_cases.txt").read_text().split("\n")
    named = {line.split("[")[0] for line in listed if line}
    repository = Path(__file__).parents[1]
    gone = [n for n in named if f"def {n.split('::')[-1]}(" not in (repository / n.split("::")[0]).read_text()]
    assert gone == []
