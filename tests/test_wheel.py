"""Tests that the wheel works beside folders and packages that have the names of the repository's.

``make test-wheel`` runs the other tests against the installed wheel, beside the same folders.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from extraction_reader import REPLAY
from skn_run_parts import REPLAY as SKN_REPLAY
from stage_calls import ROOT

sys.path.insert(0, str(ROOT))

from hatch_build import PACKAGES, rewrite_source

pytestmark = pytest.mark.checkout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages: the wheel, and stub packages with the moved names."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    site = folder / "site"
    with zipfile.ZipFile(wheel) as archive:
        assert {name.split("/")[0] for name in archive.namelist()} == {
            "epoche",
            wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info",
        }
        archive.extractall(site)
    write_stubs(site)
    return site


def write_stubs(folder: Path) -> None:
    for name in PACKAGES:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("raise ImportError('not of Epoché')")


@pytest.fixture
def user_folder(tmp_path: Path) -> Path:
    """A user's folder with packages of their own that have the same names."""
    write_stubs(tmp_path)
    return tmp_path


def run_python(site: Path, folder: Path, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(site), "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done.stdout


def test_public_names_are_imported_beside_other_packages_of_the_same_names(
    site: Path, user_folder: Path
) -> None:
    script = user_folder / "mine.py"
    script.write_text(
        "import epoche\n"
        "for name in epoche.__all__:\n"
        "    getattr(epoche, name)\n"
        "import sys\n"
        f"assert not set({PACKAGES!r}) & set(sys.modules)\n"
        "from epoche import KnowledgeBase\n"
        "print(KnowledgeBase.__module__, epoche.__file__)\n"
    )
    module, file = run_python(site, user_folder, script).split()
    assert module == "epoche.kg.knowledge"
    assert Path(file).is_relative_to(site)


def test_a_run_and_its_report_work_beside_other_packages_of_the_same_names(
    site: Path, user_folder: Path
) -> None:
    (user_folder / "mine.py").write_text("def answer(card):\n    return 'UNKNOWN'\n")
    epoche = (site, user_folder, "-m", "epoche")
    assert run_python(*epoche, "--version").startswith("epoche ")
    run_python(*epoche, "cards", "--num-per-type", 3, "--out", "cards.jsonl")
    for out, system in (("kg.jsonl", "kg"), ("mine.jsonl", "callable:mine:answer")):
        run_python(*epoche, "eval", "--cards", "cards.jsonl", "--system", system, "--out", out)
    run_python(*epoche, "metrics", "kg.jsonl", "mine.jsonl", "--out", "metrics.json")
    run_python(*epoche, "skn", "run", *SKN_REPLAY, "--limit", 2, "--out", "skn")
    run_python(*epoche, "extract", "run", *REPLAY, "--limit", 2, "--out", "extract")
    report = ("report", "kg.jsonl", "mine.jsonl", "skn", "extract")
    run_python(*epoche, *report, "--metrics", "metrics.json", "--out", "report.html")
    assert (user_folder / "report.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("source", "rewritten"),
    [
        ("from kg import graph", "from epoche.kg import graph"),
        ("    from eval.stats.exact import (\n        x,\n    )", None),
        ("import retrieval", "from epoche import retrieval"),
        ("import kg.graph as graph", "import epoche.kg.graph as graph"),
        ('NAME = "kg.graph:Graph"', 'NAME = "epoche.kg.graph:Graph"'),
        ('FILE = "cards.jsonl"', 'FILE = "cards.jsonl"'),
        ("import kgx\nfrom cards_of_others import x", "import kgx\nfrom cards_of_others import x"),
        ('"Run python -m kg.domains.rivers.build."', None),
        ("x = 1  # from eval on, kg.graph", "x = 1  # from eval on, kg.graph"),
    ],
)
def test_names_of_modules_are_rewritten(source: str, rewritten: str | None) -> None:
    if rewritten is None:
        rewritten = source.replace("eval.", "epoche.eval.").replace("kg.", "epoche.kg.")
    assert rewrite_source(source) == rewritten


def test_imports_that_bind_a_package_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"here\.py: write `from … import …`, not `import kg\.graph`"
    ):
        rewrite_source("import kg.graph\nkg.graph.Graph()", "here.py")
