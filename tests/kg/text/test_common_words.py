"""The script that counts the words that collections of documentation have in common."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
import count_common_words


def test_common_words_need_two_collections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = []
    for name, text in [("a", "The zebra eats grass."), ("b", "The zebra sleeps a lot.")]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(text)
        arguments.append(str(tmp_path / name))
    words = tmp_path / "words.tsv"
    monkeypatch.setattr("sys.argv", ["count", arguments[0], "--out", str(words)])
    with pytest.raises(SystemExit):
        count_common_words.main()
    assert "at least two collections" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["count", *arguments, "--out", str(words)])
    count_common_words.main()
    assert words.read_text().startswith("zebra\t1.000\n")
