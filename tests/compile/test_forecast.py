"""What a compile will take, for whoever asks."""

import assistants
import pytest
import tuning


def test_prompts_are_counted_only_for_whoever_asks_what_a_compile_takes(server, tmp_path, monkeypatch):
    """The tokenizer takes seconds to import; a compile that nobody watches has no use for it."""

    def counted(*_):
        raise AssertionError("counted")

    monkeypatch.setattr("dspy_proact.compile.forecast.count_tokens", counted)
    server.script = tuning.models
    judging = tuning.at(server, tuning.study(), tuning.recipe())
    assert judging.run(tmp_path / "judge").paid > 0
    server.script = assistants.models
    answering = assistants.at(server, assistants.few(), assistants.recipe())
    assert answering.run(tmp_path / "assistant").paid > 0
    for each in (judging, answering):
        assert each.forecast().calls > 0
        with pytest.raises(AssertionError, match="counted"):
            _ = each.forecast().tokens


def test_a_forecast_promises_no_gain_where_the_rules_forbid_a_claim(server):
    few, many = tuning.study(personas=4, each=20), tuning.study(personas=12, each=6)
    forecast = tuning.at(server, few, tuning.recipe()).forecast()
    assert (forecast.items, forecast.group_count, forecast.smallest_gain) == (80, 4, None)
    forecast = tuning.at(server, many, tuning.recipe()).forecast()
    assert (forecast.items, forecast.group_count) == (72, 12)
    # t of 11 degrees: 2.7181 and .8755; .9 x 3.5936 / sqrt(72).
    assert forecast.smallest_gain == pytest.approx(0.3812, abs=1e-4)
