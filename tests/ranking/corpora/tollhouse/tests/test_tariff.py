from tollhouse.tariff import NightTariff, Tariff


def test_a_passage_by_day() -> None:
    assert Tariff(40).price_of(2, 12) == 80


def test_a_passage_at_night_is_half_the_price() -> None:
    assert NightTariff(40).price_of(2, 23) == 40
