"""Deadlines that progress moves and questions hold. Time is the event loop's, and only ever awaited."""

import math
from contextlib import ExitStack

import anyio
import pytest

from mcphost.patience import Patience

SOON = 0.02
"""Seconds that are enough for a deadline to pass."""

pytestmark = pytest.mark.anyio


async def test_a_call_without_progress_is_given_up():
    with pytest.raises(TimeoutError):
        with Patience().waiting(SOON):
            await anyio.sleep_forever()


async def test_progress_moves_the_deadline():
    with Patience().waiting(60, 600) as deadline:
        scope = deadline.scope
        before = scope.deadline
        await anyio.sleep(SOON)
        deadline.progress()
        assert before < scope.deadline <= anyio.current_time() + 60


async def test_progress_moves_the_deadline_no_further_than_the_longest():
    with pytest.raises(TimeoutError):
        with Patience().waiting(SOON, SOON * 2) as deadline:
            while True:
                deadline.progress()
                await anyio.sleep(SOON / 4)


async def test_the_longest_is_never_less_than_the_deadline():
    began = anyio.current_time()
    with Patience().waiting(60, 1) as deadline:
        deadline.progress()
        assert deadline.scope.deadline >= began + 60


async def test_no_deadline_passes_while_a_question_is_open():
    patience = Patience()
    with patience.waiting(SOON, SOON) as deadline:
        with patience.held():
            assert deadline.scope.deadline == math.inf
            await anyio.sleep(SOON * 3)
            deadline.progress()
            assert deadline.scope.deadline == math.inf
        assert anyio.current_time() < deadline.scope.deadline <= anyio.current_time() + SOON


async def test_a_call_that_begins_during_a_question_is_held_too():
    patience = Patience()
    with patience.held():
        with patience.waiting(SOON) as deadline:
            await anyio.sleep(SOON * 2)
            assert deadline.scope.deadline == math.inf


async def test_what_of_a_question_was_before_a_call_does_not_lengthen_it():
    patience, question = Patience(), ExitStack()
    question.enter_context(patience.held())
    await anyio.sleep(SOON)
    with patience.waiting(60, 60) as deadline:
        question.close()
        deadline.progress()
        assert deadline.waited >= 0
        assert deadline.scope.deadline <= anyio.current_time() + 60


async def test_the_last_of_several_questions_lets_time_go_on():
    patience = Patience()
    with pytest.raises(TimeoutError):
        with patience.waiting(SOON) as deadline:
            with patience.held():
                with patience.held():
                    pass
                assert deadline.scope.deadline == math.inf
            await anyio.sleep_forever()
