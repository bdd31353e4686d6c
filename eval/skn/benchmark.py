"""The benchmark under its published name: ``run_benchmark``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

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
    resamples: int = 2000,
    **more: Any,
) -> dict[str, Any]:
    """Compares JSON and SKN as what a search's results are extracted into.

    A run that was cut off goes on where it stopped when it is called again in the same way.

    Args:
        dataset_path: the samples, a JSON array or one object a line.
        output_dir: the folder of rows, manifest and all other outputs.
        model: ``provider/model`` that extracts and answers; by default ``EPOCHE_MODEL``.
        ablation: compare all pipelines, not only ``json`` and ``skn``.
        client: how models are called; by default with a cache of replies in ``output_dir``.
        as_published: the published benchmark's own prompts and ways (``docs/skn.md``).
        resamples: bootstrap resamples of the intervals.
        more: the other fields of ``RunOptions``: ``offline``, ``judge_models``, ``search`` …

    Returns:
        What ``metrics.json`` holds: by pipeline the published keys, ``efficiency``, ``report``.

    Raises:
        EpocheError: as ``eval.skn.running.run.run`` and ``eval.skn.outputs.write_outputs``.
        TypeError: ``more`` holds what is no field.
    """
    from eval.model.options import CACHE_NAME, ClientOptions
    from eval.skn.outputs import write_outputs
    from eval.skn.running.run import run
    from eval.skn.running.run_options import RunOptions
    from eval.skn.setting import Setting

    out = Path(output_dir)
    called = client or ClientOptions(cache=out / CACHE_NAME)
    if model is not None:
        called = msgspec.structs.replace(called, model=model)
    if as_published:
        more = {**more, "setting": Setting.as_published()}
    options = RunOptions(
        dataset=Path(dataset_path), out=out, client=called, ablation=ablation, **more
    )
    return write_outputs(run(options), resamples=resamples)[0]
