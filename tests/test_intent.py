"""What a request wants, told by its wording."""

from __future__ import annotations

import pytest

from satchel.intent import Intent, intent_of


@pytest.mark.parametrize(
    ("title", "intent"),
    [
        ("explain what uniq does", Intent.ASKS),
        ("Please list the callers of flush", Intent.ASKS),
        ("the cache is warm after a restart?", Intent.ASKS),
        ("show me the last three commits", Intent.ASKS),
        ("welche Klassen erben von Storage", Intent.ASKS),
        ("rename excess to rest", Intent.TIDIES),
        ("fix the typo in the README", Intent.TIDIES),
        ("Turn Modem into a dataclass.", Intent.TIDIES),
        ("add __all__ to the modules below store", Intent.TIDIES),
        ("Benenne die Variable p um.", Intent.TIDIES),
        ("sort the imports of inbox.ts", Intent.TIDIES),
        ("move send_all to ferry/notify/sms.py", Intent.TIDIES),
        ("extract the retry loop into a helper", Intent.TIDIES),
        ("remove unused variables", Intent.TIDIES),
        ("make this function shorter", Intent.TIDIES),
        ("fix the linter warnings", Intent.TIDIES),
        ("add a linter to the pipeline", Intent.CHANGES),
        ("import the customers from a CSV file each night", Intent.CHANGES),
        ("move the backups to another region", Intent.CHANGES),
        ("make the session timeout shorter", Intent.CHANGES),
        ("delete unused accounts after a year", Intent.CHANGES),
        ("extract the text of PDF attachments", Intent.CHANGES),
        ("format the dates in German", Intent.CHANGES),
        ("validate the parameters of the search endpoint", Intent.CHANGES),
        ("sortiere die Nachrichten nach Datum", Intent.CHANGES),
        ("verschiebe die Sicherung auf drei Uhr", Intent.CHANGES),
        ("show a clear error when the file cannot be read", Intent.CHANGES),
        ("deploy to staging", Intent.CHANGES),
        ("write tests for the decoder", Intent.CHANGES),
        ("port http.py to another library", Intent.CHANGES),
        ("Formulier die Warnung weniger dramatisch.", Intent.CHANGES),
    ],
)
def test_questions_and_new_forms_are_told_from_new_behaviour(title: str, intent: Intent) -> None:
    assert intent_of(title) is intent
