"""Secrets that people write into sentences: "the admin password is ...", "Passwort lautet ...", "password=...".

A word for a secret, at most a phrase that says whose it is, a word such as "is" or a sign, and then the value at once.
Code has rules of its own (`satchel.safety.secret_rules`); these are for what is said and remembered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from satchel.text import pattern, wording

_CODES = (
    r"(?:pass(?:word|wd|phrase|code|wort|ord)|kennwort|zugangscode|wachtwoord|lösenord|adgangskode|kodeord|salasana|"
    r"contraseña|contrasena|пароль|пароля|(?<!\w)(?:pwd|mdp|mot de passe|clave|senha|palavra-passe|parola|hasło|haslo|"
    r"heslo|jelszó|lozinka|şifre|şifresi|парола|лозинка|κωδικός|mật khẩu|kata sandi|passord))(?!\w)|"
    r"密码|密碼|口令|パスワード|비밀번호|كلمة (?:المرور|السر)|סיסמ[הא]|पासवर्ड|รหัสผ่าน"
)
_KEYS = (
    r"(?<!\w)(?:(?:api|access|secret|client|auth|bearer)?[ _-]?(?:token|secret|schlüssel)|"
    r"(?:api|access|secret)[ _-]?key|clé (?:api|d'api|secrète)|clave de api|токен)(?!\w)|令牌|トークン|토큰"
)
_OWNER = (
    r"(?:(?: (?:for|of|to|on|in|at|from|des|der|die|dem|den|für|fürs|vom|von|zum|zur|am|im|pour|du|de|del|do|da|para|"
    r"per|di|na|no|till|til|för|på|van|voor|bij|dla|для|от|к|на) )[^.!?;:=\n\"'`]{1,60}?)?"
)
_LINK = (
    r"(?:\s?(?:=>|->|[=:\uff1a→—])\s?| (?:is|was|equals|has been|is set to|set to|changed to|lautet|ist|heißt|"
    r"wurde auf|est|es|era|é|è|jest|to|är|er|on|je|это|є|είναι|là|adalah|है|คือ|هي|هو|היא|הוא)(?: now| jetzt)? |"
    r"\s?(?:は|是|为|為|은|는)\s?)"
)
_SAID = pattern(
    rf"(?:(?P<password>{_CODES})|(?P<token>{_KEYS})){_OWNER}{_LINK}"
    r"(?:(?P<quote>[\"'`“„«])(?P<quoted>[^\"'`”“»\n]{4,80})[\"'`”“»]|(?P<bare>[^\s\"'`“”„«»]{4,200}))",
    re.IGNORECASE,
)
_NO_SECRET = wording("no secret")
"""What is named or described: placeholders, calls, paths, algorithms, numbers with a unit, dates, addresses, names."""

_END = pattern(r"(?:です|でした|だ|입니다)?[.,;:!?)。、]*$")
_ANCHORS = """
    pass kennwort zugangscode wachtwoord lösenord adgangskode kodeord salasana contrase парол pwd mdp clave senha
    palavra parola has heslo jelsz lozinka ifre лозинка κωδικ mật kata 密 口令 パス 비밀 كلمة סיסמ पासवर्ड รหัส token
    secret schlüssel key clé токен 令牌 トークン 토큰
"""
"""A text without any of these, in lower case, is not scanned."""

_WORDS = pattern(r"[^\W\d]{2,}(?: [^\W\d]{2,}){3,}")
_STRONG = frozenset("!@#$%^&*?+~")


def without_secrets(text: str, allow: Sequence[re.Pattern[str]] = ()) -> str:
    """Return a text in which the values of passwords and tokens are `[REDACTED:password]` and `[REDACTED:token]`.

    A secret that one of `allow` matches stays. A second call changes nothing more.
    """

    def replaced(match: re.Match[str]) -> str:
        group = "quoted" if match["quoted"] else "bare"
        value = _END.sub("", match[group]) if group == "bare" else match[group]
        kind = "password" if match["password"] else "token"
        is_secret = _is_password(value, match) if kind == "password" else _is_token(value)
        if not is_secret or any(one.search(value) for one in allow):
            return match[0]
        start = match.start(group) - match.start()
        return f"{match[0][:start]}[REDACTED:{kind}]{match[0][start + len(value) :]}"

    lower = text.lower()
    return _SAID.sub(replaced, text) if any(anchor in lower for anchor in _ANCHORS.split()) else text


def _is_password(value: str, match: re.Match[str]) -> bool:
    if match["quoted"] and _WORDS.fullmatch(value):
        return "phrase" in match["password"].lower()
    if _NO_SECRET.search(value.rstrip("!?$%")):
        return False
    return " " not in value and len(value) >= 6 and _kinds(value) >= 2


def _is_token(value: str) -> bool:
    if _NO_SECRET.search(value) or " " in value:
        return False
    digits = sum(character.isdigit() for character in value)
    return len(value) >= 10 and 2 <= digits < len(value) and _kinds(value) >= 2


def _kinds(value: str) -> int:
    """Return how many of lower case, capitals, digits and symbols a value has; letters alone count as one."""
    strong = any(character in _STRONG for character in value)
    digit = any(character.isdigit() for character in value)
    if not strong and not digit:
        return 1
    return (value != value.upper()) + (value != value.lower()) + digit + strong
