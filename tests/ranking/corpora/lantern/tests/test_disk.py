"""The disk store survives a crash."""

from lantern.store.disk import DiskStore


def test_a_torn_last_line_of_the_journal_is_dropped(tmp_path):
    store = DiskStore(tmp_path)
    store.save(1, "{}")
    with (tmp_path / "journal").open("a") as journal:
        journal.write('+2 {"na')
    assert DiskStore(tmp_path).load(1) == "{}"
