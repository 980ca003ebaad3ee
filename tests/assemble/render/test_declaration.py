"""Reading the declared name off the shown lines."""

from __future__ import annotations

import pytest

from satchel.assemble.render.declaration import DECLARATION_REACH, declared_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("def read(self):", "read"),
        ("@cached\n@app.get(\n    '/')\nasync def read(\n    path,\n):", "read"),
        ("# why\nclass Reader(Base):", "Reader"),
        ("export default async function* load() {", "load"),
        ("export const load = async (x) => {", "load"),
        ("const load: Loader = function () {", "load"),
        ("  static async load(x, y) {", "load"),
        ("    @Override public Map<K, V> read(Path path) throws Problem {", "read"),
        ("func (r *Reader) Read(p []byte) (int, error) {", "Read"),
        ("type Reader struct {", "Reader"),
        ("#[inline]\npub(crate) async fn read<T>(&self) -> T {", "read"),
        ("static char *read_all(int fd) {", "read_all"),
        ("public record Point(int X, int Y);", "Point"),
        ("import os\nx = os.getcwd()", ""),
        ("    if (ready) {\n        go();", ""),
        ("    return total", ""),
        ("", ""),
        ("x = 1\n" * DECLARATION_REACH + "def far(): ...", ""),
    ],
)
def test_the_first_declaration_gives_the_name(text: str, name: str) -> None:
    assert declared_name(text) == name
