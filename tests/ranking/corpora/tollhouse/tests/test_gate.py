from tollhouse.gate import Gate
from tollhouse.tariff import Tariff


def test_a_gate_is_open_after_the_charge() -> None:
    gate = Gate(Tariff(40))
    assert gate.charge(2, 12) == 80
    assert gate.is_open
