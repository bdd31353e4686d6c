"""The configuration: the specification's file as it stands, and every fault with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from stage_calls import epoche, error_line

from eval.extraction.running.config import SYSTEM, USER, Config, notes_on
from eval.extraction.running.config_flags import with_flags
from eval.extraction.running.config_reading import check_config, read_config
from eval.extraction.running.run_options import (
    client_of,
    folder_name,
    models_of,
    requirements_of,
)
from eval.extraction.running.yaml_reading import MAX_BYTES, read_yaml
from eval.extraction.schemas.schema_check import SchemaCheck
from kg.base.errors import ConfigError, SettingError

SPECIFIED = Path(__file__).parents[2] / "data" / "extraction_config.yaml"
"""Section 5.3 of the specification, to the letter."""

SHIPPED = Path(__file__).parents[3] / "eval" / "extraction" / "config.example.yaml"


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "config.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def faults(folder: Path, text: str) -> list[str]:
    config, problems = check_config(written(folder, text))
    assert (config is None) is bool(problems)
    return [str(problem) for problem in problems]


def test_the_specified_file_is_taken_as_it_stands() -> None:
    config = read_config(SPECIFIED)
    assert config.model.base_url == "http://localhost:8000/v1"
    assert config.model.model_name == "meta-llama/Llama-3-8B-Instruct"
    assert (config.model.temperature, config.model.max_tokens) == (0.0, 2048)
    assert (config.model.timeout, config.model.max_retries) == (60.0, 3)
    assert config.dataset.name == "paraloq/json_data_extraction"
    assert (config.dataset.split, config.dataset.sample_size) == ("test", None)
    assert config.prompts.system == SYSTEM
    assert config.prompts.user == USER
    assert config.metrics.enabled[0] == "schema_validity"
    assert config.metrics.field_matching.string_fuzzy_threshold == 0.85
    assert config.output.report_format == "html"
    assert models_of(config, ()) == ("vllm/meta-llama/Llama-3-8B-Instruct",)
    assert list(notes_on(config)), "what a key does otherwise than its name says is told"


def test_the_shipped_example_says_every_key_with_its_default() -> None:
    assert read_config(SHIPPED) == Config()
    text = SHIPPED.read_text()
    for name in _keys(msgspec.to_builtins(Config())):
        assert f"{name}:" in text, name


def _keys(value: Any) -> list[str]:
    if not isinstance(value, dict):
        return []
    return [name for key, held in value.items() for name in (key, *_keys(held))]


def test_everything_wrong_is_told_at_once_each_with_its_line(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        "model:\n"
        "  model_nme: x\n"
        "  timeout: -1\n"
        "  random_seed: 3\n"
        "  max_tokens: many\n"
        "  structured: yaml\n"
        "metrics:\n"
        "  enabled:\n"
        "    - latency\n"
        "    - exact_mach\n"
        "  field_matching:\n"
        "    exact: 0.2\n"
        "  sla: {minimum: {eq: 1}}\n"
        "prompts:\n"
        "  user: hello\n"
        "oputput: {}\n",
    )
    assert found == [
        "line 2: model.model_nme: unknown key (did you mean model_name?)",
        "line 3: model.timeout: Expected `float` > 0.0",
        "line 4: model.random_seed: unknown key (it belongs under dataset)",
        "line 5: model.max_tokens: Expected `int`, got `str`",
        "line 6: model.structured: Invalid enum value 'yaml' "
        "(one of: auto, json_schema, json_object, text, guided_json)",
        "line 10: metrics.enabled.1: no metric 'exact_mach' (did you mean exact_match?)",
        "line 11: metrics.field_matching: thresholds must be 0 < lenient <= partial <= exact <= 1",
        "line 13: metrics.sla.minimum.eq: unknown key (did you mean eqs?)",
        "line 15: prompts.user: holds no {text}, so the model would never see the text "
        "(put {text} where the text belongs)",
        "line 16: oputput: unknown key (did you mean output?)",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "model:\n  api_key: sk-very-secret-4711\n",
        "model:\n  api_keys: sk-very-secret-4711\n",
        "token: sk-very-secret-4711\n",
        "model: {password: sk-very-secret-4711}\n",
        "model: {api_key: {deep: sk-very-secret-4711}}\n",
    ],
)
def test_a_key_in_the_file_is_refused_and_never_repeated(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    for arguments in (("validate-config",), ("run", "--offline")):
        done = epoche("extract", *arguments, "--config", path)
        error_line(done, 38)
        assert "environment" in done.out + done.err
        assert "4711" not in done.out + done.err


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("a: 1\nb: [", 2, "not YAML"),
        ("model:\n  timeout: 1\n  timeout: 2\n", 3, "stands twice"),
        ("x: !!python/object/apply:os.system ['false']", 1, "not plain data"),
        ("x: !!binary aGk=", 1, "not plain data"),
        ("x: !own 1", 1, "not plain data"),
        ("a: 1\nx: .inf\n", 2, "no decimal number"),
        ("x: .nan\n", 1, "no decimal number"),
        ("x: 1e300\n", 1, "out of range"),
        ("x: 0x1F\n", 1, "no decimal number"),
        ("x: " + "9" * 5000, 1, "decimal number"),
        ("? [1]\n: 2\n", 1, "a key must be a text"),
        ("&a [*a]", 1, "24 levels"),
        ("a: 1\n--- \nb: 2\n", 2, "not YAML"),
        ("<<: [1]\n", 1, "mappings only"),
        ("a: *nobody\n", 1, "not YAML"),
        ('a: "\\ud800"\n', 1, "half a character"),
    ],
)
def test_what_is_no_plain_yaml_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int, why: str
) -> None:
    with pytest.raises(ConfigError, match=why) as raised:
        check_config(written(tmp_path, text))
    assert raised.value.where.endswith(f":{line}")


def test_a_few_lines_that_stand_for_a_billion_are_refused() -> None:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(ConfigError, match="aliases followed"):
        read_yaml("\n".join(lines).encode(), "bomb")


def test_files_that_are_no_configuration_are_refused(tmp_path: Path) -> None:
    for data, why in (
        (b"\xff\xfe", "not UTF-8"),
        (b"a: \x01", "not YAML"),
        (b"[" * 5000, "nested"),
        (b"#" * (MAX_BYTES + 1), "longer"),
    ):
        with pytest.raises(ConfigError, match=why):
            read_config(written(tmp_path, data))
    assert faults(tmp_path, "- model\n") == [
        "line 1: no mapping of sections (such as model, dataset, prompts, metrics, output, "
        "performance)"
    ]
    error_line(epoche("extract", "validate-config", "--config", tmp_path / "no.yaml"), 3)


def test_blank_sections_numbers_and_merged_keys_mean_what_they_look_like(tmp_path: Path) -> None:
    config = read_config(
        written(
            tmp_path,
            "model:\nmetrics:\n  field_matching:\n  eqs_weights: &w {schema_validity: 1}\n"
            "output: &o {save_predictions: off}\n"
            "performance: {max_cost: 1e-1, num_workers: 1_0}\n"
            "dataset: {name: 2024-01-01}\n",
        )
    )
    assert config.model == Config().model
    assert config.metrics.field_matching == Config().metrics.field_matching
    assert config.metrics.eqs_weights.schema_validity == 1
    assert config.performance.max_cost == 0.1
    assert config.performance.concurrency == 10
    assert config.output.save_predictions is False
    assert config.dataset.name == "2024-01-01"
    assert read_yaml(b'a: "\\ud83d\\ude00"', "f").value == {"a": "\U0001f600"}
    merged = read_yaml(b"a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n", "f").value
    assert merged["b"] == {"x": 1, "y": 3}
    assert read_config(written(tmp_path, "")) == Config()


def test_flags_go_before_the_file(tmp_path: Path) -> None:
    config = read_config(written(tmp_path, "model: {timeout: 5}\ndataset: {random_seed: 1}\n"))
    changed = with_flags(config, {"model.timeout": 7.5, "dataset.random_seed": None})
    assert (changed.model.timeout, changed.dataset.random_seed) == (7.5, 1)
    with pytest.raises(SettingError, match=r"model\.structured.*One of: auto, json_schema"):
        with_flags(config, {"model.structured": "magic"})


def test_models_are_named_by_flag_file_or_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EPOCHE_MODEL", raising=False)
    monkeypatch.chdir(tmp_path)
    here = with_flags(None, {"model.base_url": "http://localhost:1/v1"})
    assert models_of(here, ("a/b", "vllm/c")) == ("vllm/a/b", "vllm/c")
    assert models_of(with_flags(here, {"model.provider": "custom"}), ("a",)) == ("custom/a",)
    assert models_of(Config(), ("openai/x",)) == ("openai/x",)
    with pytest.raises(SettingError, match="no model"):
        models_of(Config(), ())
    monkeypatch.setenv("EPOCHE_MODEL", "ollama/y")
    assert models_of(Config(), ()) == ("ollama/y",)
    with pytest.raises(SettingError, match="no model"):
        models_of(here, ())
    with pytest.raises(SettingError, match="twice"):
        models_of(here, ("a", "vllm/a"))
    assert folder_name(("vllm/a b/c",)) == "extract-vllm-a-b-c"
    assert folder_name(()) == "extract-baseline"
    long = folder_name(tuple(f"vllm/{'m' * 50}{n}" for n in range(5)))
    assert len(long) <= 100
    assert long != folder_name(tuple(f"vllm/{'m' * 50}{n}" for n in range(6)))


def test_levels_of_service_keep_what_is_not_changed() -> None:
    changed = requirements_of({"minimum": {"eqs": 0.5}})["minimum"]
    assert (changed.eqs, changed.schema_validity) == (0.5, 0.95)


def test_the_cache_is_where_the_configuration_says(tmp_path: Path) -> None:
    config = with_flags(None, {"performance.cache_dir": "c", "performance.num_workers": 3})
    assert client_of(config, tmp_path).cache == Path("c/responses.sqlite")
    assert client_of(config, tmp_path).concurrency == 3
    off = with_flags(config, {"performance.enable_caching": False})
    assert client_of(off, tmp_path).cache is None
    named = client_of(off, tmp_path, cache=tmp_path / "x.sqlite")
    assert named.cache == tmp_path / "x.sqlite", "who names a cache wants one"


def test_the_published_schema_takes_the_specified_file_and_refuses_typos() -> None:
    done = epoche("schema", "extract-config")
    assert done.code == 0
    check = SchemaCheck.of(json.loads(done.out))
    specified = read_yaml(SPECIFIED.read_bytes(), "c").value
    assert check.errors(specified) == ()
    assert not check.valid({**specified, "modle": {}})
    assert not check.valid({"model": {"api_key": "sk-1"}})


def test_validate_config_says_where_the_model_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VLLM_API_KEY", raising=False)
    done = epoche("extract", "validate-config", "--config", SPECIFIED)
    assert done.code == 0, done.err
    assert "is asked at http://localhost:8000/v1" in done.out
    bad = written(tmp_path, "model: {base_url: 'ftp://x', model_name: m}\n")
    assert "neither http nor https" in error_line(
        epoche("extract", "validate-config", "--config", bad), 38
    )
    elsewhere = written(tmp_path, "model: {base_url: 'http://example.org/v1', model_name: m}\n")
    assert epoche("extract", "validate-config", "--config", elsewhere).code == 0
    monkeypatch.setenv("VLLM_API_KEY", "sk-loopback-4711")
    refused = epoche("extract", "validate-config", "--config", elsewhere)
    assert "the key comes from the environment" in error_line(refused, 38)
    monkeypatch.setenv("VLLM_BASE_URL", "http://example.org/v1")
    assert epoche("extract", "validate-config", "--config", elsewhere).code == 0


@settings(max_examples=150)
@given(st.text() | st.text(alphabet="model:timeou \n\t-[]{}&*!|>#'\"0123e.<,?%@~"))
@example("model: *a")
@example("%YAML 9.9\n---\n")
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        lined = read_yaml(text.encode("utf-8", "surrogatepass"), "fuzz")
    except ConfigError:
        return
    assert json.loads(json.dumps(lined.value, allow_nan=False)) == lined.value


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(max_examples=100)
@given(data=st.data())
def test_no_value_anywhere_breaks_the_checks(data: st.DataObject, tmp_path_factory: Any) -> None:
    whole = msgspec.to_builtins(Config())
    section = data.draw(st.sampled_from(sorted(whole)))
    key = data.draw(st.sampled_from([*whole[section], "another"]))
    whole[section][key] = data.draw(_values)
    path = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    path.write_text(json.dumps(whole))
    try:
        config, problems = check_config(path)
    except ConfigError:
        return
    assert (config is None) is bool(problems)
    assert all(problem.line >= 1 for problem in problems)
