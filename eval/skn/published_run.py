"""Runs the whole benchmark in one call, under its published name ``run_benchmark``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from eval.skn.benchmark import SKN as SKN
from eval.stats.bootstrap import RESAMPLES

if TYPE_CHECKING:
    from eval.model.options import ClientOptions


def run_benchmark(
    dataset_path: str | Path,
    output_dir: str | Path = "results",
    model: str | None = None,
    ablation: bool = False,
    *,
    client: ClientOptions | None = None,
    as_published: bool = False,
    resamples: int = RESAMPLES,
    **run_fields: Any,
) -> dict[str, Any]:
    """Runs the benchmark, which compares JSON and SKN as formats for extracted search results.

    An interrupted run is resumed when the function is called again with the same arguments.

    Args:
        dataset_path: the samples, as a JSON array or one JSON object per line.
        output_dir: the folder of rows, manifest and all other outputs.
        model: ``provider/model`` that extracts and answers; by default ``EPOCHE_MODEL``.
        ablation: compare all pipelines, not only ``json`` and ``skn``.
        client: options for calling models; by default with a cache of replies in ``output_dir``.
        as_published: use the published prompts and settings (``docs/how-to/skn.md``).
        resamples: bootstrap resamples of the intervals.
        run_fields: other fields of ``RunOptions``, such as ``judge_models``, ``no_judge``
            and ``search``.

    Returns:
        The content of ``metrics.json``: the published keys by pipeline, ``efficiency`` and
        ``report``.

    Raises:
        EpocheError: see ``eval.skn.run.run`` and ``eval.skn.outputs.write_outputs``.
        TypeError: ``run_fields`` has a name that is not a field of ``RunOptions``.
    """
    from eval.model.options import CACHE_NAME, ClientOptions
    from eval.skn.formats.settings import Setting
    from eval.skn.options import RunOptions
    from eval.skn.outputs import write_outputs
    from eval.skn.run import run

    out = Path(output_dir)
    client_options = client or ClientOptions(cache=out / CACHE_NAME)
    if model is not None:
        client_options = msgspec.structs.replace(client_options, model=model)
    if as_published:
        run_fields = {**run_fields, "setting": Setting.as_published()}
    options = RunOptions(
        dataset=Path(dataset_path),
        out=out,
        client=client_options,
        ablation=ablation,
        resamples=resamples,
        **run_fields,
    )
    return write_outputs(run(options).folder)[0]
