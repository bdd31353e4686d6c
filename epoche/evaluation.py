"""Runs a system on a benchmark from Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Final

from epoche.finished_run import Run

if TYPE_CHECKING:
    from eval.harness.base_run import RunFlags

_SHIPPED: Final = "shipped"


def evaluate(
    items: Path | str | Iterable[Any],
    system: Any,
    *,
    benchmark: str = "abstention",
    out: Path | str | None = None,
    limit: int | None = None,
    repeats: int = 1,
    seed: int = 12345,
    settings: Mapping[str, str] | None = None,
    corpus: Path | str | None = None,
    searches: Path | str | None = None,
    concurrency: int = 16,
    overwrite: bool = False,
) -> Run:
    """Asks a system the items of a benchmark, and scores its replies.

    A run in ``out`` is resumed, as by the command line.

    Args:
        items: a file, ``shipped`` for the data that is part of this package, or the items
            themselves: cards, or dictionaries with the keys of the file's rows.
        system: a function of what a system may see of an item, an object with ``name``,
            ``params()`` and ``answer(view)``, a class that makes one, or what ``--system`` takes.
        benchmark: ``abstention`` (cards), ``extraction``, ``retrieval``, ``skn`` or ``synthlink``.
        out: the folder of the run, for cards the results file; None for a temporary one that is
            deleted with the returned object.
        limit: ask only the first items.
        repeats: number of times each item is asked.
        seed: seed of systems and of the order of questions.
        settings: what ``--set`` takes.
        corpus: the text run whose passages are searched; only for ``retrieval``.
        searches: the file of recorded searches; only for ``skn``, whose answers nobody judges.
            None for the searches for the shipped questions.
        concurrency: maximum number of asynchronous questions asked at once.
        overwrite: whether to replace a run in ``out``.

    Returns:
        The finished run.

    Raises:
        SettingError: there is no such benchmark, or ``corpus`` or ``searches`` does not fit it.
        SystemNotFoundError: ``system`` is not a system.
        EpocheError: as the command that runs the benchmark.
    """
    from eval.harness.base_run import RunFlags
    from eval.harness.session import RunLimits
    from eval.harness.systems.system_registry import register_object
    from kg.base.errors import SettingError

    start = _STARTERS.get(benchmark)
    if start is None:
        raise SettingError(
            f"there is no benchmark {benchmark!r}",
            where="benchmark",
            hint=f"Benchmarks are {', '.join(_STARTERS)}.",
        )
    if (benchmark == "retrieval") != (corpus is not None):
        raise SettingError(
            "retrieval needs a corpus, and only retrieval has one",
            where=f"benchmark {benchmark}",
            hint="Give the folder of a text run as corpus=… with benchmark='retrieval'.",
        )
    if searches is not None and benchmark != "skn":
        raise SettingError("only skn replays searches", where=f"benchmark {benchmark}")
    folder = mkdtemp(prefix="epoche-") if out is None else None
    target = Path(out if out is not None else f"{folder}/run")
    spec = system if isinstance(system, str) else register_object(system)
    flags = RunFlags(out=target, overwrite=overwrite, limits=RunLimits(concurrency=concurrency))
    options = {
        "limit": limit,
        "repeats": repeats,
        "seed": seed,
        "settings": dict(settings or {}),
        "corpus": corpus,
        "searches": searches,
    }
    try:
        path = start(_write_items(items, target, overwrite=overwrite), spec, flags, options)
    except BaseException:
        if folder is not None:
            rmtree(folder, ignore_errors=True)
        raise
    return Run(path, temporary_folder=folder)


def _write_items(items: Path | str | Iterable[Any], target: Path, *, overwrite: bool) -> Path | str:
    """Returns the file of the items; items that are objects are written beside the run.

    Raises:
        CardSetMismatchError: the items of an earlier run are there, and they are others.
    """
    if isinstance(items, str) and items == _SHIPPED:
        return items
    if isinstance(items, str | Path):
        return Path(items)
    from cards.card import Card, card_to_json
    from kg.base.errors import CardSetMismatchError
    from kg.base.files import to_json_bytes, write_bytes_atomic

    rows = [card_to_json(item) if isinstance(item, Card) else item for item in items]
    content = b"".join(to_json_bytes(row) + b"\n" for row in rows)
    path = target.with_name(f"{target.stem}.items.jsonl")
    if path.exists() and path.read_bytes() != content and not overwrite:
        raise CardSetMismatchError(
            "the items differ from those of the earlier run",
            where=str(path),
            hint="Choose another out, or give overwrite=True.",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes_atomic(path, content)
    return path


def _run_cards(items: Path | str, spec: str, flags: RunFlags, options: dict[str, Any]) -> Path:
    from cards.card_origin import find_card_sources, read_card_origin
    from eval.abstention.runner import run
    from eval.abstention.systems.registry import make_systems
    from eval.harness.systems.system_options import SystemOptions
    from kg.base.files import require_file

    cards = require_file(items, "card file")
    origin = read_card_origin(cards)
    domain, graph, shapes = find_card_sources(origin, cards)
    system_options = SystemOptions(
        domain=domain,
        graph=graph,
        shapes=shapes,
        seed=options["seed"],
        settings=options["settings"],
    )
    out = flags.out if flags.out.suffix else flags.out.with_suffix(".jsonl")
    run(
        cards,
        make_systems(spec, system_options),
        out,
        system_name=spec,
        domain=origin.domain or domain,
        seed=options["seed"],
        limit=options["limit"],
        repeats=options["repeats"],
        overwrite=flags.overwrite,
        limits=flags.limits,
    )
    return out


def _run_extraction(items: Path | str, spec: str, flags: RunFlags, options: dict[str, Any]) -> Path:
    from eval.extraction.configuration.reader import apply_flags
    from eval.extraction.options import RunOptions
    from eval.extraction.outputs import write_outputs
    from eval.extraction.run import run

    config = apply_flags(
        None,
        {
            "dataset.name": str(items),
            "dataset.random_seed": options["seed"],
            "performance.num_workers": flags.limits.concurrency,
            "performance.batch_size": 1,
        },
    )
    run(
        RunOptions(
            config=config,
            out=flags.out,
            systems=(spec,),
            settings=options["settings"],
            limit=options["limit"],
            repeats=options["repeats"],
            overwrite=flags.overwrite,
        )
    )
    write_outputs(flags.out)
    return flags.out


def _run_synthlink(items: Path | str, spec: str, flags: RunFlags, options: dict[str, Any]) -> Path:
    from eval.synthlink.files import PREDICTIONS
    from eval.synthlink.options import RunOptions
    from eval.synthlink.run import run
    from eval.synthlink.score_files import write_scores
    from eval.synthlink.scoring.options import ScoreOptions

    catalog = None if items == _SHIPPED else Path(items)
    run(
        RunOptions(
            catalog=catalog,
            system=spec,
            out=flags.out,
            settings=options["settings"],
            limit=options["limit"],
            repeats=options["repeats"],
            seed=options["seed"],
            overwrite=flags.overwrite,
            limits=flags.limits,
        )
    )
    write_scores(
        ScoreOptions(
            predictions=flags.out / PREDICTIONS,
            output_dir=flags.out,
            catalog=catalog,
            seed=options["seed"],
        )
    )
    return flags.out


def _run_retrieval(items: Path | str, spec: str, flags: RunFlags, options: dict[str, Any]) -> Path:
    from eval.retrieval_eval.outputs import write_outputs
    from eval.retrieval_eval.run import RunOptions, run
    from retrieval.names import RUN_RETRIEVERS

    is_built_in = spec in RUN_RETRIEVERS
    run(
        RunOptions(
            flags=flags,
            run=Path(options["corpus"]),
            questions=Path(items),
            retrievers=(spec,) if is_built_in else (),
            foreign=() if is_built_in else (spec,),
            settings=options["settings"],
            split="all",
            limit=options["limit"],
            repeats=options["repeats"],
            resamples=2000,
            seed=options["seed"],
            confidence=0.95,
        )
    )
    write_outputs(flags.out)
    return flags.out


def _run_skn(items: Path | str, spec: str, flags: RunFlags, options: dict[str, Any]) -> Path:
    from eval.skn.options import RunOptions
    from eval.skn.outputs import write_outputs
    from eval.skn.run import run
    from eval.skn.search_source import SHIPPED

    run(
        RunOptions(
            dataset=SHIPPED / "samples.json" if items == _SHIPPED else Path(items),
            out=flags.out,
            no_judge=True,
            systems=(spec,),
            settings=options["settings"],
            search=None if options["searches"] is None else Path(options["searches"]),
            limit=options["limit"],
            repeats=options["repeats"],
            seed=options["seed"],
            overwrite=flags.overwrite,
            limits=flags.limits,
        )
    )
    write_outputs(flags.out)
    return flags.out


_STARTERS: Final = {
    "abstention": _run_cards,
    "extraction": _run_extraction,
    "retrieval": _run_retrieval,
    "skn": _run_skn,
    "synthlink": _run_synthlink,
}
