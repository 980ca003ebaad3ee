"""What a new user of an earlier version stumbled over: steps, before, now, and the test of each.

    python benchmarks/newcomer.py --out benchmarks/results/newcomer.md [--only P1 P6]

Each case with a script is a shell in a small repository with a home of its own; see `attacks.py` for what it must and
must not print. Repositories of others, in which the faults were found, are asked by `twelve.py`.
"""

from __future__ import annotations

import sys

from attacks import Attack, report

RECEIPTS, PAGE = "tests/cli/test_ask_receipts.py::test_", "tests/web/test_page.py::test_"

BOTH_MODES = """
grep -c 'for read' "$TREE/README.md" > /dev/null && grep -q 'tokens asked' "$TREE/README.md" && echo 'README: both'
grep -q '# The default, beside' "$TREE/docs/benchmarks.md" && echo 'benchmarks: both'
satchel context --help | grep -A 3 -e '--for '
"""
NO_CEILING = """
for n in $(seq 8); do
    printf 'def measure_kiln_%d(kiln):\\n    heat = kiln.heat\\n    return heat + %d\\n\\n\\n' $n $n >> kiln.py
done
printf 'def kiln_limit(size):\\n    # The default limit of a kiln of this size.\\n' >> kiln.py
printf '    if size > 9:\\n        return 77\\n    return 33\\n' >> kiln.py
git add -A; git commit -qm Kilns
satchel context 'what is the default limit of a kiln, by its size'
"""
BASE_SERVE = """
cat > "$HOME/base.py" <<'END'
import sys
sys.modules.update(dict.fromkeys(("starlette", "uvicorn", "mcp")))
from satchel.__main__ import main
sys.argv = ["satchel", *sys.argv[1:]]
sys.exit(main())
END
$PYTHON -P "$HOME/base.py" serve 2> said; echo "exit $?, $(grep -c . said) line"; cat said
$PYTHON -P "$HOME/base.py" serve --show-token 2> said; echo "exit $?, $(grep -c . said) line"; cat said
"""
WHY = """
printf 'vendor:\\n\\tgo mod vendor\\n\\tgo mod tidy\\n' > Makefile; mkdir vendor
printf 'def glow(): return 2\\n' > glow.py; git add -A; git commit -qm 'Vendor test dependencies'
printf 'def light(): return glow()\\n' > lightlib.py; git add -A
git commit -qm 'Vendor lightlib in-tree' -m 'Its author gave it up, and the last release does not build.'
satchel context 'why is lightlib vendored?' | grep -m 1 -A 9 '^## '
"""
FOLDER = """
for name in list create factory; do
    mkdir -p pkg/cmd/$name
    printf 'package %s\\n\\nfunc TestFails(t *testing.T) {\\n\\tt.Fatal("failing tests")\\n}\\n' $name \\
        > pkg/cmd/$name/${name}_test.go
done
git add -A; git commit -qm Tests; satchel context 'fix the failing tests in pkg/cmd/factory' | grep -m 1 '^### '
"""
VARIABLES = """
printf 'import os\\n\\n\\ndef kiln():\\n    return os.environ.get("KILN_HEAT", "9")\\n' > kiln.py
printf 'export function glaze() {\\n  return process.env.GLAZE_COLOUR\\n}\\n' > glaze.js
printf 'pub fn clay() -> String {\\n    env::var("CLAY_KIND").unwrap_or_default()\\n}\\n' > clay.rs
printf 'package shop\\n\\nfunc Wheel() string {\\n\\treturn os.Getenv("WHEEL_SPEED")\\n}\\n' > wheel.go
printf 'def read_lines(path):\\n    return open(path).read()\\n' > reading.py
git add -A; git commit -qm Variables; satchel context 'which environment variables are read, and what do they change'
"""
ABSENT = """
mkdir -p tests/fixtures; printf 'name: telemetry\\n' > tests/fixtures/x.cabal
for n in $(seq 6); do
    printf 'def send_%d(shop):\\n    # Send data of the shop.\\n    return shop.usage + %d\\n' $n $n > send_$n.py
done
git add -A; git commit -qm Send; satchel context 'telemetry: does shop send usage data anywhere'
"""
INLINE_TESTS = """
mkdir src; cat > src/lib.rs <<'END'
//! Terminals.

/// Returns the columns of a terminal of this size.
pub fn columns(size: usize) -> usize {
    let half = size / 2;
    let rest = size - half;
    half + rest
}

/// Returns the default width of a terminal.
pub fn default_width(size: usize) -> usize {
    if size > 9 { 120 } else { 80 }
}

#[cfg(test)]
mod tests {
    #[test]
    fn default_width_of_a_terminal_is_small() { assert_eq!(super::default_width(1), 80); }
    #[test]
    fn default_width_of_a_terminal_is_large() { assert_eq!(super::default_width(10), 120); }
}
END
git add -A; git commit -qm Width; satchel context 'what is the default width of a terminal' | grep -m 1 'fn '
"""
WEAK = """
printf 'def limit(text):\\n    return text[:9]\\n' > limit.py; printf 'def rate(film):\\n    return 5\\n' > film.py
git add -A; git commit -qm Films; satchel context 'is there a rate limit'
"""
NEW_FILE = """
cat > "$HOME/ask.py" <<'END'
import pathlib
from satchel import Satchel
with Satchel.open(".") as satchel:
    satchel.assemble("light", max_tokens=500)
    pathlib.Path("zebra.py").write_text("def zebra_quota():\\n    return 5\\n")
    print(satchel.assemble("what is the zebra_quota", max_tokens=500).markdown)
END
$PYTHON -P "$HOME/ask.py"
"""
PLACES = """
for n in $(seq 40); do
    printf 'def bar_%d(kiln):\\n    # Show the bar.\\n    return kiln.bar + %d\\n' $n $n > bar_$n.py
done
git add -A; git commit -qm Bars; satchel context 'when is the bar of a kiln shown' > answer
test "$(sed -n '/^## Places/,/^---/p' answer | grep -c '^[- ] ')" -le 10 && echo 'a short list'
"""
UNDERLINED = """
printf 'Kiln\\n====\\n\\nHeating\\n-------\\n\\nThe kiln is heated on Mondays.\\n' > kiln.rst
git add -A; git commit -qm Docs; satchel context 'when is the kiln heated' | grep -c '^### '
"""
SHALLOW = """
echo 'def glow(): return 2' > b.py; git add -A; git commit -qm Second
git clone -q --depth 1 "file://$PWD" ../shallow; cd ../shallow || exit
satchel context --diff HEAD~1; echo "exit $?"; satchel context --diff; echo "exit $?"
"""
CI = """
cd "$TREE"
grep -n '[.]ci/run' .github/workflows/check.yml; grep -n install_peers .ci/run; grep -n chromium scripts/*.sh
"""
UNINSTALL = "grep -n '^## Uninstall' $TREE/docs/troubleshooting.md; satchel clean --help | grep -e --all"
CONVENTIONS = """
satchel --version; satchel --version --json
cd "$TREE"; $PYTHON scripts/write_man.py "$HOME/man"; grep "^.SH" "$HOME/man"
"""
WORDS = """
satchel experience list 2>&1; satchel hook 2>&1
satchel remember 'The kiln is lit on Mondays' > /dev/null; satchel export --out "$HOME/all.jsonl" 2>&1
"""

CASES = (
    Attack("P1", "the figures of README and its comparison, and what the default answers",
           "all figures were those of `--for read`; the default had none", "docs/benchmarks.md", BOTH_MODES,
           ("README: both", "benchmarks: both", "find (default)")),
    Attack("P2", "the same question on the command line and on the page", "1,078 and 3,976 tokens",
           "tests/web/test_routes_operations.py::test_the_same_request_has_the_same_answer_as_on_the_command_line",
           "grep -n 'purpose' $TREE/src/satchel/web/page/ask.js; echo done", ("done",), ("purpose",)),
    Attack("P3", "who calls a function, on the page", "no list of calls",
           f"{PAGE}a_question_for_callers_lists_them_with_links_to_their_lines"),
    Attack("P4", "a default that a short function decides, among many matches", "1,200 of 4,000 tokens, without it",
           "benchmarks/results/score_default.json", NO_CEILING, ("return 77",)),
    Attack("P5", "the budget that would show what is left out", "4,001 promised, 16,000 needed",
           "tests/contracts/test_budget_promises.py::test_no_row_promises_a_budget_at_or_below_the_one_asked_with"),
    Attack("P6", "`serve` and `serve --show-token` without the extra", "a traceback of 25 lines", "scripts/smoke.py",
           BASE_SERVE, ("exit 1, 1 line", "[mcp]"), ("exit 0",)),
    Attack("P7", "what doctor tells to install", "pip, where there is none",
           "tests/system/test_installed.py::test_an_environment_without_pip_is_changed_from_outside"),
    Attack("P8", "why a library is vendored, which a commit tells", "the Makefile; the commit in fourth place",
           "this script", WHY, ("## Commits", "gave it up")),
    Attack("P9", "a question with a folder in it", "tests of other folders",
           "tests/search/test_mentions_pasted.py::test_the_files_of_a_folder_that_the_question_names_come_first",
           FOLDER, ("### pkg/cmd/factory",)),
    Attack("P10", "which environment variables are read, in four languages", "functions with `read` in their names",
           "benchmarks/idioms.py", VARIABLES, ("os.environ.get", "process.env.", "env::var", "os.Getenv")),
    Attack("P11", "a subject of which only test data has the word, beside the name of the project",
           "1,105 tokens of other functions, without a warning", "this script", ABSENT, ("telemetry.",)),
    Attack("P12", "a function above the tests of its file that say the same", "54 lines of tests, not the function",
           "this script", INLINE_TESTS, ("pub fn default_width",)),
    Attack("P13", "a feature that is not there", "20 lines of another function, and no warning above them",
           "tests/search/test_strength_absent.py::test_the_answer_about_an_absent_feature_is_short_and_says_so", WEAK,
           ("Not found here: rate limit",)),
    Attack("P14", "a new file, asked for at once in a process that runs", "Not found here, for 2 seconds",
           "tests/e2e/test_fresh.py", NEW_FILE, ("def zebra_quota",), ("Not found",)),
    Attack("P15", "the list of places below many alike matches", "up to 50 names, 42 % of the answer",
           "tests/answer/test_omissions_places.py::"
           "test_other_places_have_range_name_and_best_line_in_text_and_as_data", PLACES, ("a short list",)),
    Attack("P16", "a heading with its underline", "an item and a section for one heading", "this script", UNDERLINED,
           ("1",), ("2",)),
    Attack("P17", "tabs and views of the page without contents; methods of a route",
           "an empty tab; relations of notes in a repository of code; a tab that wraps alone",
           "tests/web/test_page_views.py::test_no_view_is_wider_than_a_small_span"),
    Attack("P18", "a revision that a shallow clone lacks; `--diff` without changes", "fatal of git; exit 2 for both",
           f"{RECEIPTS}a_revision_that_a_shallow_clone_lacks_is_told_with_what_to_do", SHALLOW,
           ("shallow", "exit 1"), ("fatal",)),
    Attack("P19", "what the public checks run", "no browser, so no test of the page", "tests/architecture", CI,
           ("- run: .ci/run", "sh scripts/install_peers.sh", "chromium")),
    Attack("P20", "how to remove it all", "no page had the word", "docs/troubleshooting.md", UNINSTALL,
           ("## Uninstall", "--all")),
    Attack("P21", "`--version --json`, the manual", "refused; no synopsis, environment, files",
           "tests/docs/test_site.py::test_the_manual_has_every_command_and_its_options", CONVENTIONS,
           ('{"name": "satchel"', "SYNOPSIS", "ENVIRONMENT", "FILES")),
    Attack("P22", "messages of lists without entries, counts, a hook without event",
           "there is no such experience here; wrote 1 records; a line without usage", "this script", WORDS,
           ("no experience", "session-start"), ("1 records", "no such experience")),
    Attack("P23", "twenty sentences, and numbers without a leading zero", "in all pages",
           "tests/docs/test_language.py"),
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(report(CASES, "What a new user stumbled over", "newcomer", __doc__))
