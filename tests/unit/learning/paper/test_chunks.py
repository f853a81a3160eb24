"""How documents are cut for the paper's model."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from incoref.learning.paper.chunks import plan, seen_before
from incoref.learning.paper.config import Mode, PaperConfig, Setting

LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=90)
CONFIGS = st.builds(
    PaperConfig,
    mode=st.sampled_from(Mode),
    setting=st.sampled_from(Setting),
    k=st.integers(1, 24),
    window=st.integers(20, 512),
    cache=st.none() | st.integers(0, 384),
)


@given(LENGTHS, CONFIGS)
def test_every_sentence_is_in_one_piece_one_chunk_and_one_batch(lengths: list[int], config: PaperConfig) -> None:
    batches = plan(lengths, config)
    pieces = [(piece.first, piece.end) for batch in batches for piece in batch.pieces]
    chunks = [chunk for batch in batches for chunk in batch.chunks]
    for ranges in (pieces, chunks, [(batch.first, batch.end) for batch in batches]):
        assert [i for first, end in ranges for i in range(first, end)] == list(range(len(lengths)))
        assert all(first < end for first, end in ranges)


@given(LENGTHS, CONFIGS.filter(lambda config: config.mode is Mode.PAPER))
def test_active_and_cached_tokens_fit_the_window_unless_a_sentence_alone_does_not(
    lengths: list[int], config: PaperConfig
) -> None:
    cached = 0
    for batch in plan(lengths, config):
        for piece, seen in zip(batch.pieces, seen_before(lengths, batch.pieces, cached), strict=True):
            active = sum(lengths[piece.first : piece.end])
            if config.setting is Setting.PART_INC:
                assert active + seen <= config.window or piece.end - piece.first == 1
            else:
                assert seen <= max(0, config.window - active)
            cached = seen + active


def test_the_reference_cuts_chunks_inside_batches_of_32_sentences() -> None:
    config = PaperConfig(mode=Mode.REFERENCE, setting=Setting.K_SENTENCE, k=20, window=96)
    batches = plan([3] * 78, config)
    assert [[piece.end - piece.first for piece in batch.pieces] for batch in batches] == [[20, 12], [20, 12], [14]]


def test_the_paper_cuts_batches_after_whole_chunks() -> None:
    batches = plan([3] * 78, PaperConfig(setting=Setting.K_SENTENCE, k=20))
    assert [[piece.end - piece.first for piece in batch.pieces] for batch in batches] == [[20, 20], [20, 18]]


def test_the_references_k_sentence_cache_is_what_the_window_or_the_batch_leaves() -> None:
    config = PaperConfig(mode=Mode.REFERENCE, setting=Setting.K_SENTENCE, k=2, window=50)
    (long,) = plan([10, 10, 10, 30, 10], config)
    assert [piece.cache for piece in long.pieces] == [30, 10, 40]
    (short,) = plan([10, 10, 5], config)
    assert [piece.cache for piece in short.pieces] == [5, 20]
    (one,) = plan([10, 10], config)
    assert [piece.cache for piece in one.pieces] == [0]


def test_sentences_that_divide_by_k_leave_no_empty_chunk() -> None:
    config = PaperConfig(mode=Mode.REFERENCE, setting=Setting.K_SENTENCE, k=4)
    assert [len(batch.pieces) for batch in plan([5] * 64, config)] == [8, 8]


def test_part_inc_of_the_reference_is_one_chunk_of_ready_made_segments() -> None:
    (batch,) = plan([40, 60, 50], PaperConfig(mode=Mode.REFERENCE, setting=Setting.PART_INC))
    assert [(piece.first, piece.cache) for piece in batch.pieces] == [(0, 0), (1, 0), (2, 0)]
    assert batch.chunks == ((0, 3),)


def test_part_inc_of_the_paper_fills_segments_with_whole_sentences() -> None:
    (batch,) = plan([40, 60, 50, 10], PaperConfig(setting=Setting.PART_INC, window=110))
    assert batch.chunks == ((0, 2), (2, 4))
    (cached,) = plan([40, 60, 50, 10], PaperConfig(setting=Setting.PART_INC, window=110, cache=50))
    assert [(piece.first, piece.end, piece.cache) for piece in cached.pieces] == [(0, 1, 50), (1, 2, 50), (2, 4, 50)]


def test_what_a_piece_does_not_see_is_gone_for_the_next() -> None:
    config = PaperConfig(mode=Mode.REFERENCE, setting=Setting.SENT_INC, cache=4)
    (batch,) = plan([5, 1, 3], config)
    assert seen_before([5, 1, 3], batch.pieces) == [0, 4, 4]
    unlimited = PaperConfig(mode=Mode.REFERENCE, setting=Setting.K_SENTENCE, k=1, window=12)
    (batch,) = plan([5, 11, 2, 5], unlimited)
    assert [piece.cache for piece in batch.pieces] == [7, 1, 10, 7]
    assert seen_before([5, 11, 2, 5], batch.pieces) == [0, 1, 10, 7]
