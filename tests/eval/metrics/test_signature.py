"""Tests the signatures that say how a metric was computed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eval.metrics.signature import Signature
from kg.base.provenance import package_version

BASE = Signature(
    metric="AP",
    cards="9f3c0a1b2c3d",
    policy="licensed",
    resamples=2000,
    seed=12345,
    version="0.1.0",
)


def test_signature_matches_the_documentation() -> None:
    assert str(BASE) == "AP|cards:9f3c0a1b2c3d|policy:licensed|boot:2000|seed:12345|v:0.1.0"


def test_signature_names_group_and_unusual_confidence() -> None:
    signature = Signature(
        metric="LA", cards="c", policy="published", resamples=9, seed=1, version="1", confidence=0.9
    ).with_metric("LA", group="kind:functional")
    assert (
        str(signature) == "LA|cards:c|kind:functional|policy:published|boot:9|seed:1|conf:0.9|v:1"
    )


def test_changing_the_metric_keeps_the_other_parts() -> None:
    assert str(BASE.with_metric("LA")) == str(BASE).replace("AP|", "LA|", 1)


@given(st.text(max_size=30))
def test_hostile_kind_cannot_forge_signature_parts(kind: str) -> None:
    parts = str(BASE.with_metric("AP", group=f"kind:{kind}")).split("|")
    assert len(parts) == 7
    assert parts[0] == "AP"
    assert "\n" not in "".join(parts)
    assert parts[-1] == "v:0.1.0"


def test_different_kinds_never_share_a_signature() -> None:
    assert str(BASE.with_metric("AP", group="kind:a|b")) != str(
        BASE.with_metric("AP", group="kind:a%7Cb")
    )


def test_version_is_that_of_the_distribution() -> None:
    assert package_version()[0].isdigit()
