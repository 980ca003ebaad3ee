#!/bin/sh
# Run every benchmark whose data is here, and name those that are left out; benchmarks/README.md says what each asks.
#
#   SATCHEL_EVAL         the measuring data, else ../shared/eval beside the repository
#   SATCHEL_BENCH_REPOS  folder with the repositories and their history, each OWNER+NAME
#   SATCHEL_BENCH_ENV    folder with the environments of the rivals
#   SATCHEL_BENCH_TREES  work trees whose history is measured, separated by spaces
#   SATCHEL_BENCH_TREE   the work tree of one repository, to measure the speed with
#   SATCHEL_BENCH_BASE   the commit of this repository that the speed is compared with, else the one before
#   SATCHEL_BENCH_WORK   where work trees and answers go, else a folder in TMPDIR
set -eu
cd "$(dirname "$0")/.."

data="${SATCHEL_EVAL:-../shared/eval}/code_localization_dev.jsonl"
repositories="${SATCHEL_BENCH_REPOS:-}"
work="${SATCHEL_BENCH_WORK:-${TMPDIR:-/tmp}/satchel-bench}"
mkdir -p "$work"

skip() { echo "skipped: $1"; }

rivals=bm25-files,bm25-chunks
if [ -n "${SATCHEL_BENCH_ENV:-}" ]; then
    if [ -d "$SATCHEL_BENCH_ENV/venv-contextsmith" ]; then rivals=$rivals,contextsmith-lexical; else skip "rival ContextSmith: no venv-contextsmith"; fi
    if [ -d "$SATCHEL_BENCH_ENV/venv-semble" ]; then rivals=$rivals,semble-wordllama; else skip "rival Semble: no venv-semble"; fi
    if [ -d "$SATCHEL_BENCH_ENV/venv-aider" ]; then rivals=$rivals,aider-map; else skip "rival Aider: no venv-aider"; fi
else
    skip "rivals ContextSmith, Semble, Aider: SATCHEL_BENCH_ENV names no folder with their environments"
fi

if [ ! -f "$data" ]; then
    skip "code localisation: $data is missing, set SATCHEL_EVAL"
elif [ ! -d "$repositories" ]; then
    skip "code localisation: SATCHEL_BENCH_REPOS names no folder with the repositories"
else
    echo "code localisation, answers in $work/answers.jsonl (delete it to ask again)"
    python benchmarks/code_localization.py --repos "$repositories" --work "$work" --out "$work/answers.jsonl" \
        --index "satchel=satchel index --quiet" \
        --system "satchel=satchel context - --for read --types code --max-tokens {max_tokens} --json" \
        --rivals "$rivals" --summary "$work/code.json"
fi

if [ -z "${SATCHEL_BENCH_TREES:-}" ]; then
    skip "history: SATCHEL_BENCH_TREES names no work trees"
else
    # shellcheck disable=SC2086 - a list of folders
    python benchmarks/history_eval.py $SATCHEL_BENCH_TREES --out "$work/history_eval.json"
fi

if [ -z "${SATCHEL_BENCH_TREE:-}" ]; then
    skip "speed: SATCHEL_BENCH_TREE names no work tree"
else
    python benchmarks/speed.py "$SATCHEL_BENCH_TREE" --base "${SATCHEL_BENCH_BASE:-HEAD^}" --out "$work/speed.json"
    python benchmarks/budgets.py "$SATCHEL_BENCH_TREE" --out "$work/budgets.json"
fi
