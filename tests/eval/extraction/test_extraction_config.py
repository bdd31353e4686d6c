"""Tests that the specification's configuration is accepted and problems are reported with lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from stage_calls import PRODUCT, check_error_line, run_epoche

from eval.extraction.configuration.config import (
    SYSTEM_PROMPT,
    USER_PROMPT,
    Config,
    describe_differences,
)
from eval.extraction.configuration.reader import apply_flags, check_config, read_config
from eval.extraction.configuration.yaml_reader import MAX_BYTES, read_yaml
from eval.extraction.options import (
    build_client_options,
    build_requirements,
    list_models,
    make_folder_name,
)
from eval.extraction.schemas.schema_validator import SchemaValidator
from eval.extraction.systems.prompt_builder import PromptBuilder
from kg.base.errors import ConfigError, SettingError

# The numbers passed to `check_error_line` are the exit codes of docs/reference/exit-codes.md.

SPECIFIED_CONFIG = Path(__file__).parents[2] / "data" / "extraction_config.yaml"
"""The configuration file of section 5.3 of the specification, verbatim."""

EXAMPLE_CONFIG = PRODUCT / "eval" / "extraction" / "config.example.yaml"


def write_config(folder: Path, text: str | bytes) -> Path:
    path = folder / "config.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def list_config_problems(folder: Path, text: str) -> list[str]:
    config, problems = check_config(write_config(folder, text))
    assert (config is None) is bool(problems)
    return [str(problem) for problem in problems]


def test_specification_file_is_accepted_unchanged() -> None:
    config = read_config(SPECIFIED_CONFIG)
    assert config.model.base_url == "http://localhost:8000/v1"
    assert config.model.model_name == "meta-llama/Llama-3-8B-Instruct"
    assert (config.model.temperature, config.model.max_tokens) == (0.0, 2048)
    assert (config.model.timeout, config.model.max_retries) == (60.0, 3)
    assert config.dataset.name == "paraloq/json_data_extraction"
    assert (config.dataset.split, config.dataset.sample_size) == ("test", None)
    assert config.prompts.system == SYSTEM_PROMPT
    assert config.prompts.user == USER_PROMPT
    assert config.metrics.enabled[0] == "schema_validity"
    assert config.metrics.field_matching.string_fuzzy_threshold == 0.85
    assert config.output.report_format == "html"
    assert list_models(config, ()) == ("vllm/meta-llama/Llama-3-8B-Instruct",)
    assert list(describe_differences(config)), "keys with unexpected meaning get a note"


def test_shipped_example_lists_every_key_with_its_default() -> None:
    assert read_config(EXAMPLE_CONFIG) == Config()
    text = EXAMPLE_CONFIG.read_text()
    for name in _list_keys(msgspec.to_builtins(Config())):
        assert f"{name}:" in text, name


def _list_keys(value: Any) -> list[str]:
    if not isinstance(value, dict):
        return []
    return [name for key, child in value.items() for name in (key, *_list_keys(child))]


def test_all_problems_are_reported_with_line_numbers(tmp_path: Path) -> None:
    problems = list_config_problems(
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
    assert problems == [
        "line 2: model.model_nme: unknown key (did you mean model_name?)",
        "line 3: model.timeout: Expected `float` > 0.0",
        "line 4: model.random_seed: unknown key (it belongs under dataset)",
        "line 5: model.max_tokens: Expected `int`, got `str`",
        "line 6: model.structured: Invalid enum value 'yaml' "
        "(one of: auto, json_schema, json_object, text, guided_json)",
        "line 10: metrics.enabled.1: no metric 'exact_mach' (did you mean exact_match?)",
        "line 11: metrics.field_matching: thresholds must be 0 < lenient <= partial <= exact <= 1",
        "line 13: metrics.sla.minimum.eq: unknown key (did you mean eqs?)",
        "line 15: prompts.user: does not contain {text}, so the model would never see the text "
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
def test_api_key_in_the_file_is_refused_and_not_shown(tmp_path: Path, text: str) -> None:
    path = write_config(tmp_path, text)
    for arguments in (("validate-config",), ("run",)):
        result = run_epoche("extract", *arguments, "--config", path)
        check_error_line(result, 38)
        assert "environment" in result.out + result.err
        assert "4711" not in result.out + result.err


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1\nb: [", 2, "not YAML"),
        ("model:\n  timeout: 1\n  timeout: 2\n", 3, "occurs twice"),
        ("x: !!python/object/apply:os.system ['false']", 1, "could not determine a constructor"),
        ("x: !own 1", 1, "could not determine a constructor"),
        ("? [1]\n: 2\n", 1, "a key must be a text"),
        ("a: 1\n--- \nb: 2\n", 2, "not YAML"),
        ("<<: [1]\n", 1, "mapping for merging"),
        ("a: *nobody\n", 1, "not YAML"),
    ],
)
def test_unsupported_yaml_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as error_info:
        check_config(write_config(tmp_path, text))
    assert error_info.value.where.endswith(f":{line}")


@pytest.mark.parametrize(
    "text",
    [
        "x: !!binary aGk=",
        "x: !!set {a, b}",
        "x: .inf",
        "x: .nan",
        "x: " + "9" * 5000,
        'x: "\\ud800"',
    ],
)
def test_values_that_json_lacks_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="not plain data"):
        check_config(write_config(tmp_path, text))


def test_recursive_aliases_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nested too deeply"):
        check_config(write_config(tmp_path, "&a [*a]"))


def test_exponential_yaml_aliases_are_refused() -> None:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(ConfigError, match="aliases expanded"):
        read_yaml("\n".join(lines).encode(), "bomb")


def test_files_that_are_not_a_configuration_are_refused(tmp_path: Path) -> None:
    for data, message in (
        (b"\xff\xfe", "not UTF-8"),
        (b"a: \x01", "not YAML"),
        (b"[" * 5000, "nested"),
        (b"#" * (MAX_BYTES + 1), "longer"),
    ):
        with pytest.raises(ConfigError, match=message):
            read_config(write_config(tmp_path, data))
    assert list_config_problems(tmp_path, "- model\n") == [
        "line 1: not a mapping of sections (such as model, dataset, prompts, metrics, output, "
        "performance)"
    ]
    check_error_line(run_epoche("extract", "validate-config", "--config", tmp_path / "no.yaml"), 3)


def test_blank_sections_numbers_and_merged_keys_are_parsed(tmp_path: Path) -> None:
    config = read_config(
        write_config(
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
    merged_values = read_yaml(b"a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n", "f").value
    assert merged_values["b"] == {"x": 1, "y": 3}
    assert read_config(write_config(tmp_path, "")) == Config()


def test_flags_override_the_file(tmp_path: Path) -> None:
    config = read_config(write_config(tmp_path, "model: {timeout: 5}\ndataset: {random_seed: 1}\n"))
    merged_config = apply_flags(config, {"model.timeout": 7.5, "dataset.random_seed": None})
    assert (merged_config.model.timeout, merged_config.dataset.random_seed) == (7.5, 1)
    with pytest.raises(SettingError, match=r"model\.structured.*One of: auto, json_schema"):
        apply_flags(config, {"model.structured": "magic"})


def test_models_are_named_by_flag_file_or_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EPOCHE_MODEL", raising=False)
    monkeypatch.chdir(tmp_path)
    address_config = apply_flags(None, {"model.base_url": "http://localhost:1/v1"})
    assert list_models(address_config, ("a/b", "vllm/c")) == ("vllm/a/b", "vllm/c")
    custom_config = apply_flags(address_config, {"model.provider": "custom"})
    assert list_models(custom_config, ("a",)) == ("custom/a",)
    assert list_models(Config(), ("openai/x",)) == ("openai/x",)
    with pytest.raises(SettingError, match="no model"):
        list_models(Config(), ())
    monkeypatch.setenv("EPOCHE_MODEL", "ollama/y")
    assert list_models(Config(), ()) == ("ollama/y",)
    with pytest.raises(SettingError, match="no model"):
        list_models(address_config, ())
    with pytest.raises(SettingError, match="twice"):
        list_models(address_config, ("a", "vllm/a"))
    assert make_folder_name(("vllm/a b/c",)) == "extract-vllm-a-b-c"
    assert make_folder_name(("vllm/a", "mine:Reader")) == "extract-vllm-a+mine-Reader"
    long_name = make_folder_name(tuple(f"vllm/{'m' * 50}{n}" for n in range(5)))
    assert len(long_name) <= 100
    assert long_name != make_folder_name(tuple(f"vllm/{'m' * 50}{n}" for n in range(6)))


def test_prompt_placeholders_are_filled_once() -> None:
    builder = PromptBuilder("s {schema}", "{text}|{other}|{text.__class__}|{{text}}|{schema}")
    schema = {"type": "object", "x-match": "set", "title": "{text}"}
    system, user = builder.build_messages("T {schema} {text}", schema)
    printed_schema = json.dumps({"type": "object", "title": "{text}"}, indent=2)
    assert system == {"role": "system", "content": f"s {printed_schema}"}
    filled_text = "T {schema} {text}"
    assert (
        user["content"]
        == f"{filled_text}|{{other}}|{{text.__class__}}|{{{filled_text}}}|{printed_schema}"
    )
    assert [turn["role"] for turn in PromptBuilder(" \n", "{text}").build_messages("x", {})] == [
        "user"
    ]


def test_service_levels_that_are_not_set_keep_their_defaults() -> None:
    minimum_levels = build_requirements({"minimum": {"eqs": 0.5}})["minimum"]
    assert (minimum_levels.eqs, minimum_levels.schema_validity) == (0.5, 0.95)


def test_cache_folder_comes_from_the_configuration(tmp_path: Path) -> None:
    config = apply_flags(None, {"performance.cache_dir": "c", "performance.num_workers": 3})
    assert build_client_options(config, tmp_path).cache == Path("c/responses.sqlite")
    assert build_client_options(config, tmp_path).concurrency == 3
    uncached_config = apply_flags(config, {"performance.enable_caching": False})
    assert build_client_options(uncached_config, tmp_path).cache is None
    explicit_client = build_client_options(uncached_config, tmp_path, cache=tmp_path / "x.sqlite")
    assert explicit_client.cache == tmp_path / "x.sqlite", "naming a cache file enables the cache"


def test_printed_schema_accepts_the_specification_file_and_refuses_typos() -> None:
    result = run_epoche("schema", "extract-config")
    assert result.code == 0
    validator = SchemaValidator.from_schema(json.loads(result.out))
    specified_config = read_yaml(SPECIFIED_CONFIG.read_bytes(), "c").value
    assert validator.list_errors(specified_config) == ()
    assert not validator.is_valid({**specified_config, "modle": {}})
    assert not validator.is_valid({"model": {"api_key": "sk-1"}})


def test_validate_config_prints_the_model_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VLLM_API_KEY", raising=False)
    result = run_epoche("extract", "validate-config", "--config", SPECIFIED_CONFIG)
    assert result.code == 0, result.err
    assert "will be called at http://localhost:8000/v1" in result.out
    invalid_config = write_config(tmp_path, "model: {base_url: 'ftp://x', model_name: m}\n")
    assert "neither http nor https" in check_error_line(
        run_epoche("extract", "validate-config", "--config", invalid_config), 38
    )
    other_server_config = write_config(
        tmp_path, "model: {base_url: 'http://example.org/v1', model_name: m}\n"
    )
    assert run_epoche("extract", "validate-config", "--config", other_server_config).code == 0
    monkeypatch.setenv("VLLM_API_KEY", "sk-loopback-4711")
    refusal = run_epoche("extract", "validate-config", "--config", other_server_config)
    assert "the key comes from the environment" in check_error_line(refusal, 38)
    monkeypatch.setenv("VLLM_BASE_URL", "http://example.org/v1")
    assert run_epoche("extract", "validate-config", "--config", other_server_config).code == 0


@settings(max_examples=150)
@given(st.text() | st.text(alphabet="model:timeou \n\t-[]{}&*!|>#'\"0123e.<,?%@~"))
@example("model: *a")
@example("%YAML 9.9\n---\n")
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parsed = read_yaml(text.encode("utf-8", "surrogatepass"), "fuzz")
    except ConfigError:
        return
    assert json.loads(json.dumps(parsed.value, allow_nan=False)) == parsed.value


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(max_examples=100)
@given(data=st.data())
def test_any_value_is_checked_without_a_crash(data: st.DataObject, tmp_path_factory: Any) -> None:
    config_values = msgspec.to_builtins(Config())
    section = data.draw(st.sampled_from(sorted(config_values)))
    key = data.draw(st.sampled_from([*config_values[section], "another"]))
    config_values[section][key] = data.draw(json_values)
    path = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    path.write_text(json.dumps(config_values))
    try:
        config, problems = check_config(path)
    except ConfigError:
        return
    assert (config is None) is bool(problems)
    assert all(problem.line >= 1 for problem in problems)
