"""Goal: at most one fault window per place; after N ms open, N ms closed."""

from umi_sim.faults.window import Window


def test_no_window_starts_before_as_long_a_rest_as_the_last_one_took() -> None:
    window = Window()
    assert window.is_rested(0)
    window.begin(0, 7)
    assert [ms for ms in range(20) if window.is_open(ms)] == list(range(7))
    assert [ms for ms in range(20) if window.is_rested(ms)] == list(range(14, 20))
