"""Transitions between states of jobs."""

import pytest

from app.jobs.states import LEASED, TERMINAL, TRANSITIONS, JobState, sources


def test_every_state_has_its_transitions() -> None:
    assert set(TRANSITIONS) == set(JobState)


def test_terminal_states_lead_nowhere() -> None:
    assert {JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED} == TERMINAL


def test_every_state_can_be_entered() -> None:
    assert all(sources(state) for state in JobState)


@pytest.mark.parametrize("state", sorted(LEASED))
def test_a_leased_job_can_always_end(state: JobState) -> None:
    assert TRANSITIONS[state] & TERMINAL


def test_a_job_asked_to_stop_never_succeeds() -> None:
    assert TRANSITIONS[JobState.CANCELLING] == {JobState.CANCELLED}
