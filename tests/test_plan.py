"""The plan: within every budget, nothing lost, nothing twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asrbatch.data import SAMPLE_RATE
from asrbatch.errors import ConfigError
from asrbatch.plan import BatchBudget, plan_batches

CHUNK = 30 * SAMPLE_RATE

durations = st.lists(st.one_of(st.none(), st.integers(1, 200 * SAMPLE_RATE)), max_size=80)
budgets = st.builds(
    BatchBudget,
    max_audio_s=st.floats(30, 4000),
    max_count=st.integers(1, 40),
    max_padding_ratio=st.floats(1, 3),
)


@given(durations, budgets)
def test_no_batch_exceeds_its_budget(durations, budget):
    for batch in plan_batches(durations, budget, CHUNK).batches:
        longest = max(piece.num_samples for piece in batch.pieces)
        total = sum(piece.num_samples for piece in batch.pieces)
        assert len(batch.pieces) <= budget.max_count
        assert total <= budget.max_audio_s * SAMPLE_RATE
        assert longest * len(batch.pieces) <= budget.max_padding_ratio * total
        assert longest <= CHUNK


@given(durations, budgets)
def test_every_sample_is_planned_once(durations, budget):
    plan = plan_batches(durations, budget, CHUNK)
    planned = [0] * len(durations)
    for batch in plan.batches:
        for piece in batch.pieces:
            planned[piece.recording] += piece.num_samples
    assert planned == [CHUNK if d is None else d for d in durations]


@given(durations, budgets)
def test_every_recording_is_begun_once(durations, budget):
    plan = plan_batches(durations, budget, CHUNK)
    assert sorted(plan.recording_order()) == list(range(len(durations)))


def test_long_recordings_go_first_and_the_rest_keep_their_order():
    seconds = [5, 40, 6, 300, 5.5, 6.5]
    plan = plan_batches([round(s * SAMPLE_RATE) for s in seconds], BatchBudget(), CHUNK)
    order = list(plan.recording_order())
    assert order[:2] == [3, 1]
    assert [i for i in order if i in {0, 4}] == [0, 4]


def test_a_long_recording_is_planned_in_equal_pieces():
    plan = plan_batches([100 * SAMPLE_RATE + 1], BatchBudget(), CHUNK)
    sizes = [piece.num_samples for batch in plan.batches for piece in batch.pieces]
    assert sizes == [400_001, 400_000, 400_000, 400_000]


def test_padding_ratio_is_padded_over_real_audio():
    plan = plan_batches([SAMPLE_RATE, SAMPLE_RATE, SAMPLE_RATE], BatchBudget(), CHUNK)
    assert plan.padding_ratio == 1.0


def test_a_recording_without_samples_has_no_piece():
    assert plan_batches([0], BatchBudget(), CHUNK).batches == ()


def test_buckets_are_half_open_intervals():
    plan = plan_batches([SAMPLE_RATE, round(1.5 * SAMPLE_RATE)], BatchBudget(), CHUNK)
    assert plan.bucket_edges_s[0] == pytest.approx((1.0, 1.2))
    assert plan.bucket_edges_s[2] == pytest.approx((1.44, 1.728))


def test_a_budget_under_one_segment_is_refused():
    with pytest.raises(ConfigError, match="--chunk-seconds"):
        plan_batches([SAMPLE_RATE], BatchBudget(max_audio_s=10), CHUNK)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_audio_s", 0),
        ("max_count", 0),
        ("max_padding_ratio", 0.9),
        ("max_audio_s", float("nan")),
    ],
)
def test_an_impossible_budget_is_refused(field, value):
    with pytest.raises(ConfigError, match=str(value)):
        BatchBudget(**{field: value})
