"""A tree of 30 contexts, four levels deep, with rules on each level: what the golden outputs are made from."""

from __future__ import annotations

from collections.abc import Mapping

AREAS = ("api", "web", "ops")
TEAMS = ("core", "edge")
TASKS = ("auth", "billing")


def tree() -> Mapping[str, str]:
    """Path -> text of 30 `context.yaml` files: a root, 3 areas, 6 teams, 12 tasks, and 8 shared ones beside them."""
    files = {"context.yaml": _context("workspace", "Shop", "Sell more", "", "shared/base", "language: [python, rust]")}
    for area in AREAS:
        files[f"{area}/context.yaml"] = _context(
            "project", area.upper(), f"Run {area}", "..", f"shared/{area}", "tool: edit_*"
        )
        for team in TEAMS:
            path = f"{area}/{team}"
            files[f"{path}/context.yaml"] = _context("team", f"{area} {team}", "", "..", "shared/team", "agent: coder")
            for task in TASKS:
                files[f"{path}/{task}/context.yaml"] = _context(
                    "task", f"{area} {team} {task}", f"Finish {task}", "..", f"shared/{task}", f"paths: '**/{task}/**'"
                )
    for name in ("base", *AREAS, "team", *TASKS, "extra"):
        files[f"shared/{name}/context.yaml"] = _context("rule_set", f"Shared {name}", "", "", "", "")
    return files


def _context(kind: str, name: str, goal: str, extends: str, inject: str, when: str) -> str:
    lines = [f"metadata: {{type: {kind}, name: {name}, updated: 2026-04-20}}", "intent_context:"]
    lines += [f"  business_goal: {goal}"] if goal else []
    lines += [f"  extends: {extends}"] if extends else ["  intent_type: business_growth"]
    lines += ["behavior_rules:", f"  - {{trigger: work in {name}, action: 'follow {name}'}}"]
    if inject:
        lines += ["injection_rules:", f"  - {{name: '{kind} brings {inject}', when: {{{when}}}, inject: {inject}}}"]
    return "\n".join(lines) + "\n"


SITUATION = {
    "tool": "edit_file",
    "task": "Let users log in with a passkey",
    "intent": "fewer support calls",
    "files": ["api/core/auth/login.py"],
    "agent": "coder",
}
NOW = 1_777_000_000.0
