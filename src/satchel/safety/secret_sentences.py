"""Secrets in sentences: what people write to each other and ask an agent to remember.

A saying has anchors, plain texts of which each of its occurrences contains at least one. A text is searched for those,
which costs far less than an expression; from there one expression goes on, and another one looks back. The value is
judged: what is named or described ("the password is required", "log in with OAuth2") stays.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from msgspec import Struct

from satchel.safety.secret_rules import PLACEHOLDER, STRONG_SYMBOLS, Extent, kinds_of, looks_random
from satchel.text import STOP_WORDS, pattern, wording

# Expressions are for text in lower case.
_PHRASES = r"pass[ -]?phrase|(?:wi-?fi|wlan|wpa[23]?)[ -]?(?:key|psk|code|passwort|schlüssel|pw)"
_CODES = (
    rf"(?:(?:{_PHRASES}|pass(?:words?|wd|code|wort|wörter|ord)|kennwort|zugangscode|wachtwoord|lösenord|adgangskode|"
    r"kodeord|salasana|contraseña|contrasena|пароль|пароля|(?:(?<=mot de )|(?<=palavra-))passe|(?<!\w)(?:pwd|pw|mdp|"
    r"clave|senha|parola|hasło|haslo|heslo|jelszó|lozinka|şifre|şifresi|парола|лозинка|κωδικός|mật khẩu|kata sandi|"
    r"passord))(?!\w)|密码|密碼|口令|パスワード|비밀번호|كلمة (?:المرور|السر)|סיסמ[הא]|पासवर्ड|รหัสผ่าน)"
)
_CODE_ANCHORS = (
    "pass", "wifi", "wi-fi", "wlan", "wpa", "kennwort", "zugangscode", "wachtwoord", "lösenord", "adgangskode",
    "kodeord", "salasana", "contrase", "пароль", "пароля", "pw", "mdp", "clave", "senha", "parola", "hasło",
    "haslo", "heslo", "jelszó", "lozinka", "şifre", "парола", "лозинка", "κωδικός", "密码", "密碼", "口令",
    "パスワード", "비밀번호", "סיסמ", "पासवर्ड", "รหัสผ่าน", "mật khẩu", "kata sandi", "كلمة ",
)  # fmt: skip
_TOKEN_OWNERS = ("api", "access", "secret", "client", "auth", "bearer")
_KEY_OWNERS = ("api", "access", "secret", "license", "licence", "product", "activation")
_KEYS = (
    rf"(?:(?:(?<!\w)|{'|'.join(f'(?<={owner})|(?<={owner}_)' for owner in _TOKEN_OWNERS)})(?:token|secret|schlüssel)|"
    rf"(?:{'|'.join(f'(?<={owner})|(?<={owner}[ _-])' for owner in _KEY_OWNERS)})key|(?<!\w)lizenzschlüssel|"
    r"(?:(?<=otp|2fa|mfa)|(?<=(?:otp|2fa|mfa)[ _-]))(?:seed|key)|clé (?:api|d'api|secrète)|clave de api|"
    r"(?<!\w)токен)(?!\w)|令牌|トークン|토큰"
)
_KEY_ANCHORS = (
    "token", "secret", "schlüssel", "lizenzschlüssel", "key", "seed", "clé ", "clave", "токен", "令牌",
    "トークン", "토큰",
)  # fmt: skip
_OWNER = (
    r"(?:(?: (?:for|of|to|on|in|at|from|des|der|die|dem|den|für|fürs|vom|von|zum|zur|am|im|pour|du|de|del|do|da|para|"
    r"per|di|na|no|till|til|för|på|van|voor|bij|dla|для|от|к|на) )[^.!?;:=\n\"'`]{1,60}?)?"
)
_LINK = (
    r"(?:\s?(?:=>|->|[=:\uff1a→—])\s?| (?:is|are|was|equals|has been|is set to|set to|changed to|lautet|lauten|ist|"
    r"sind|heißt|wurde auf|est|es|era|é|è|jest|to|är|er|on|je|это|є|είναι|là|adalah|है|คือ|هي|هو|היא|הוא)"
    r"(?: now| jetzt| still)? |\s?(?:は|是|为|為|은|는)\s?)"
)
_NO_WORD = r"(?![^\W\d]+(?:[.,;:!?)]*\s|[.,;:!?)]*$))"
"""What follows is not a word: the sentence may state the value later."""

_VALUE = r"(?:(?P<quote>[\"'`“„«])(?P<quoted>[^\"'`”“»\n]{4,80})[\"'`”“»]|(?P<bare>[^\s\"'`“”„«»]{4,200}))"
_UNQUOTED = r"[\"'`“„«]?(?P<quoted>(?!))?"
"""What is before a value in the group `bare` that may be quoted."""

_USER = (
    r"(?:[\w.@+-]{1,40}\s?[/:]\s?|[\w.@+-]{1,40}(?:, |,? (?:and|und|et|y) |(?= pass| pw| kw))"
    r"(?: ?(?:the )?(?:password|passwort|pass|pw|kw) )?)"
)
"""The name before a password: `ann / ...`, `ann:...`, `ann and ...`, `ann, password ...`."""

_NO_SECRET = wording("no secret")
"""What is named or described: placeholders, calls, paths, algorithms, numbers with a unit, dates, addresses, names."""

_NUMBERED = wording("numbered, no secret")
"""What has letters, digits and a sign, and is the number of something: `issue#1234`, `Ctrl+F12`."""

_ENDING = pattern(r"(?:です|でした|だ|입니다)?[.,;:?)。、]*$")
_WORDS = pattern(r"[^\W\d]{2,}(?: [^\W\d]{2,}){3,}")
_JOINED_WORDS = pattern(r"[a-z]{3,}(?:[-_.][a-z]{3,}){2,}")
_LETTERS_AND_DIGIT = pattern(
    r"(?i)(?!.*(?:crypt|oauth|hash|field|step|param|passw|version|level|option))[a-z]{6,}[0-9]"
)
_DESCRIBED = pattern(
    r"\w+(?:ed|ing|ly|able|al)|see|ask|four|five|six|seven|eight|random|stored|kept|hidden|secret|words?"
)
"""How a description begins: "generated at the first start", "five random words"."""

Judge = Callable[[str, re.Match[str]], bool]
"""Judges a value; the match is in the text in lower case."""


class Saying(Struct, frozen=True):
    """A way to write a secret: `expression` begins at one of `anchors`, and `before`, if any, ends there.

    The value is the group `quoted` or `bare` of one of both; `judge` gets it and the match that has it.
    """

    type: str
    anchors: Sequence[str]
    expression: re.Pattern[str]
    judge: Judge
    before: re.Pattern[str] | None = None


# --- judging a value --------------------------------------------------------------------------------------------


def _is_named(value: str) -> bool:
    """Return whether a value names or describes something."""
    return _NO_SECRET.search(value.rstrip("!?$%")) is not None


def _is_chosen(value: str, _: re.Match[str] | None = None) -> bool:
    """Tell a password where one must follow: at least two kinds of characters."""
    if _LETTERS_AND_DIGIT.fullmatch(value):
        return True
    return " " not in value and len(value) >= 6 and kinds_of(value) >= 2 and not _is_named(value)


def _is_plain(value: str, match: re.Match[str] | None = None) -> bool:
    """Tell a password where something else may follow: two kinds of characters, and two digits or a sign."""
    digits = sum(character.isdigit() for character in value)
    return (
        _is_chosen(value, match)
        and not _NUMBERED.search(value)
        and (digits >= 2 or not STRONG_SYMBOLS.isdisjoint(value.rstrip("!?")))
    )


def _is_strict(value: str, _: re.Match[str] | None = None) -> bool:
    """Tell a password anywhere near a word for one: three kinds of characters, among them a sign or three digits."""
    if " " in value or len(value) < 7 or kinds_of(value) < 3 or _is_named(value) or _NUMBERED.search(value):
        return False
    digits = sum(character.isdigit() for character in value)
    return digits >= 1 and (digits >= 3 or not STRONG_SYMBOLS.isdisjoint(value))


def _has_signs(value: str, match: re.Match[str] | None = None) -> bool:
    """Tell a password anywhere in a sentence about one: letters, digits and a sign that names rarely have."""
    return not {*"!#$%^&*?"}.isdisjoint(value) and any(map(str.isalpha, value)) and _is_strict(value, match)


def _is_said(value: str, match: re.Match[str]) -> bool:
    """Tell the password or token that a sentence states."""
    if match["token"]:
        return _is_token(value)
    may_be_words = re.search(_PHRASES, match["password"]) is not None
    if match["quoted"] and _WORDS.fullmatch(value):
        return may_be_words
    if _JOINED_WORDS.fullmatch(value):
        pieces = re.split("[-_.]", value)
        return len(pieces) >= 4 - may_be_words and value.count("-") == len(pieces) - 1 and _are_random_words(pieces)
    return _is_chosen(value)


def _is_token(value: str, _: re.Match[str] | None = None) -> bool:
    if _is_named(value) or " " in value:
        return False
    digits = sum(character.isdigit() for character in value)
    return len(value) >= 10 and 2 <= digits < len(value) and kinds_of(value) >= 2


def _is_random(value: str, _: re.Match[str]) -> bool:
    return " " not in value and not _is_named(value) and looks_random(value)


def _is_password_or_number(value: str, match: re.Match[str]) -> bool:
    return _is_chosen(value, match) or _is_number(value, match)


def _is_number(value: str, _: re.Match[str]) -> bool:
    return re.fullmatch(r"[0-9]{4,10}", value) is not None


def _is_stated(_value: str, _: re.Match[str]) -> bool:
    """Accept what the expression alone tells."""
    return True


def _is_identifying(value: str, match: re.Match[str]) -> bool:
    """Tell a password after "identified by", which may be said of anything, by its quotes or its characters."""
    return _is_chosen(value) if match["quoted"] else _is_strict(value)


def _is_no_placeholder(value: str, _: re.Match[str]) -> bool:
    """Accept anything that a statement of SQL makes a password."""
    return PLACEHOLDER.search(value) is None


def _are_random_words(words: Sequence[str]) -> bool:
    """Tell the words of a passphrase from a sentence, which has small words, or begins as a description does."""
    if STOP_WORDS.intersection(words) or _DESCRIBED.fullmatch(words[0]):
        return False
    return not {"password", "passwort", "passphrase", "key", "token", "secret", "secrets", "vault"}.intersection(words)


def _is_phrase(value: str, match: re.Match[str]) -> bool:
    words = value.split()
    return value.islower() and len(words) >= (3 if match["sign"] else 4) and _are_random_words(words)


_GROUPS = pattern(r"[A-Za-z0-9]{4,8}(?:-[A-Za-z0-9]{4,8})+")


def _is_recovery_code(value: str, match: re.Match[str]) -> bool:
    """Accept groups of the same length, and what a link introduces."""
    digits = sum(character.isdigit() for character in value)
    if _GROUPS.fullmatch(value):
        return len({len(group) for group in value.split("-")}) == 1 and digits >= 2
    is_date = re.fullmatch(r"(?:19|20)\d{2}-?\d{2}-?\d{2}", value) is not None
    is_code = value.isalnum() and len(value) >= 6 and digits >= 2 and not _is_named(value)
    return match["link"] is not None and not is_date and is_code


# --- the sayings ------------------------------------------------------------------------------------------------

_LOGIN_ANCHORS = ("log", "sign", "connect", "ssh", "anmeld", "einlog", "melde", "identif")
_IN = (
    r"(?<!\w)(?:log(?:ged|ging)?[ -]?(?:in|on)(?:to)?|sign(?:ed)?[ -]?in(?:to)?|connect(?:ed|s)?|ssh|anmeld\w*|"
    r"einlogg\w*|logg?e?|meldet? (?:dich|euch|mich)|connecte\w*|identifie\w*)(?!\w)"
)
_WITH = (
    r"\b(?:with|using|mit|avec|con|via)\b(?: the| dem)?(?: user(?:name)?| account| benutzer| nutzer)?"
    r"(?: password| passwort| pw)?"
)
_ASK_ANCHORS = ("asked", "asks", "prompt", "fragt")
_ASKED = r"(?:asked|asks|prompt(?:s|ed)?|gefragt|fragt)(?!\w)"
_TYPE = r"(?:type|enter|use|answer|give|say|gib|tippe|nimm|nutze)(?: in)?"
_PLACES = (
    r"(?:door|gate|alarm|access|entry|entrance|safe|vault|lock|garage|unlock|voicemail|keypad|security|tür|tor|zugangs|"
    r"tresor|sperr|schloss)[ -]?"
)
_PIN = r"(?<![\w-])(?:pin|geheimzahl|geheimnummer|puk)(?:[ -]?(?:code|nummer|number))?"
_NO_UNIT = (
    r"(?![\w/]|[.:,-]\d|[ -]?(?:%|°|(?:times|rounds|iterations|digits?|attempts|bytes|bits|ms|seconds|minutes|hours|"
    r"days|characters|users|people|entries|zeichen|stellen|ziffern|runden|mal|versuche|sekunden|minuten|tage)\b))"
)
_NUMBER = rf"{_UNQUOTED}(?P<bare>[0-9]{{4,10}}(?:-[0-9]{{2,6}})*|[0-9]{{1,3}}(?:-[0-9]{{1,3}}){{2,4}}){_NO_UNIT}"
_OF_USER = r"\b(?:(?:create|alter)\s(?:user|role|login)|grant)\b[^\n;]{0,80}\Z"
_ACCESS = r"(?<!\w)(?:credentials?|creds|zugangsdaten|root|admin(?:istrator)?)(?!\w)"
_ACCOUNT = (
    r"(?<![\w/])(?:credentials?|creds?|log-?in(?:s| data)?|zugangsdaten|zugang|anmeldedaten|login-?daten|identifiants|"
    r"credenciales|account|konto|wi-?fi|wlan)"
)
_USER_BEFORE = (
    r"(?<!\w)(?:u|user(?:name)?|login|benutzer(?:name)?|account|konto|usuario|root|admin)(?!\w)[^\n.;]{0,40}[ ,/;]\Z"
)
_CLIENT_BEFORE = r"\b(?:login|sshpass|mysql\w*|mariadb|redis-cli|mongo(?:sh)?)\b[^\n|;]{0,120}\Z"
_AS_USER = r"\b(?:as|als|comme|como)(?: user| benutzer)? [\w.@-]{1,40},? "
_RECOVERY = (
    r"(?<!\w)(?:recovery|backup|emergency|one-time|wiederherstellungs|notfall|einmal)[ -]?"
    rf"(?:code|key|pin|schlüssel)s?\b(?:{_OWNER}(?P<link>{_LINK})(?=[\"'`“„«]?[a-z-]*[0-9])|"
    r"[^\n;]{0,80}?[ :(](?=[\"'`“„«]?[a-z0-9]{4,8}-[a-z0-9]*[0-9]))"
    rf"{_UNQUOTED}(?P<bare>[a-z0-9]{{4,}}(?:-[a-z0-9]{{4,8}})*)(?![\w/.-]\w)"
)
_PHRASE = (
    r"(?:(?<=pass)|(?<=pass[ -])|(?<=recovery )|(?<=(?:backup|wallet) )|(?<=seed ))phrase"
    rf"{_OWNER}(?:\s?(?P<sign>=>|->|[=:—])\s?| (?:is|are|was|lautet|ist) ){_UNQUOTED}"
    r"(?P<bare>[a-zäöüß]{3,}(?: [a-zäöüß]{3,}){2,23})(?![\w-]| [\w(])"
)
_NOT_LETTERS = r"(?=\S{0,30}[0-9!#$%^&*])"
_SIGNED = r"(?<![^\s(/:,])(?=\S{0,30}[!#$%^&*?])(?=\S{0,30}[0-9])"

_SAYINGS: Sequence[tuple[str, Sequence[str], str, Judge] | tuple[str, Sequence[str], str, Judge, str]] = (
    # the admin password for staging is ..., API key: ...
    (
        "", (*_CODE_ANCHORS, *_KEY_ANCHORS),
        rf"(?:(?P<password>{_CODES})|(?P<token>{_KEYS})){_OWNER}{_LINK}{_NO_WORD}{_VALUE}", _is_said,
    ),
    # root password (...), password ...
    ("password", _CODE_ANCHORS, rf"{_CODES}(?: (?:for|von) \S+)?(?:\s?\(| ){_VALUE}", _is_strict),
    # with password ..., pw ...
    (
        "password", _CODE_ANCHORS, rf"{_CODES} {_VALUE}", _is_plain,
        r"(?:\b(?:with|use|using|enter|type|mit|nutze|benutze|verwende|avec|con)(?: the| das| dem| a)? )\Z",
    ),
    ("password", ("pw",), rf"(?<!\w)pw {_VALUE}", _is_plain),
    # the password from ... to
    (
        "password", _CODE_ANCHORS,
        rf"{_CODES}(?: (?:of|for) \S+)? (?:from|von) {_VALUE}(?= (?:to|auf|in|zu)\b)", _is_chosen,
    ),
    # ... is the root password, ... as the password
    (
        "password", (*_CODE_ANCHORS, "pin"), rf"(?:{_CODES}|pin\b)", _is_strict,
        rf"(?<!\S){_VALUE},? (?:is|was|ist|war|as|als|est|es)\b(?: [^\W\d]+){{0,5}} (?:[^\W\d]+-)?\Z",
    ),
    # a password with letters, digits and signs, anywhere after a word for it
    (
        "password", (*_CODE_ANCHORS, *_LOGIN_ANCHORS, *_ASK_ANCHORS, "cred", "zugang", "root", "admin"),
        rf"(?:{_CODES}|{_IN}|{_ASKED}|{_ACCESS})[^\n.;]{{0,80}}?{_SIGNED}{_VALUE}",
        _has_signs,
    ),
    # log in with ..., log in as root with ..., sign in with ann / ...
    ("password", _LOGIN_ANCHORS, rf"{_IN}[^\n.;!?]{{0,60}}? ?{_WITH} {_NOT_LETTERS}{_VALUE}", _is_strict),
    (
        "password", _LOGIN_ANCHORS,
        rf"{_IN}[^\n.;!?]{{0,60}}? ?(?:{_AS_USER}{_WITH} |{_WITH} {_USER}){_NOT_LETTERS}{_VALUE}",
        _is_plain,
    ),
    # type ... when asked; when asked, type ...
    ("password", _ASK_ANCHORS, _ASKED, _is_plain, rf"\b{_TYPE} {_VALUE} [^\n.;]{{0,30}}\Z"),
    ("password", _ASK_ANCHORS, rf"{_ASKED}[^\n.;]{{0,50}}?[ ,]{_TYPE} {_VALUE}", _is_plain),
    # credentials for staging: ann / ...
    (
        "password",
        ("cred", "log", "zugang", "anmeld", "identif", "account", "konto", "wifi", "wi-fi", "wlan"),
        rf"{_ACCOUNT}{_OWNER}(?:{_LINK}| ){_USER}{_NOT_LETTERS}{_VALUE}",
        _is_plain,
    ),
    # user/pw: ann / ...
    (
        "password", ("pass", "pw"), rf"(?:pass(?:word)?|pwd?)(?!\w){_OWNER}{_LINK}{_USER}{_VALUE}", _is_plain,
        r"(?<!\w)u(?:ser(?:name)?)?/\Z",
    ),
    # user ann, pass ...
    (
        "password", ("pass", "pw", "p:"),
        rf"(?:pass|passwor[dt]|pw|p)(?!\w)\s?(?:[:=]|->)?\s?{_VALUE}",
        _is_plain, _USER_BEFORE,
    ),
    # --password ..., --api-token ..., docker login -p ...
    (
        "password", ("pass", "pw", "pin"), rf"(?<=-)(?:pass(?:word|wd|phrase)?|pwd?|pin)[= ]{_VALUE}",
        _is_password_or_number, r"(?<!\S)--?(?:[a-z]+-)*\Z",
    ),
    (
        "token", ("token", "secret", "key"), rf"(?<=-)(?:token|secret|key)[= ]{_VALUE}",
        _is_token, r"(?<!\S)--?(?:[a-z]+-)*\Z",
    ),
    (
        "password", (" -p", " -a"), rf" -[pa]\s?{_VALUE}", _is_plain, _CLIENT_BEFORE,
    ),
    # CREATE USER ann IDENTIFIED BY ..., ALTER ROLE ann PASSWORD '...'
    ("password", ("identif",), rf"identified(?: with \S+)? (?:by|as)(?: password)? {_VALUE}", _is_identifying),
    (
        "password", ("identif", "pass"),
        rf"(?:identified(?: with \S+)? (?:by|as)(?: password)?|password) {_VALUE}", _is_no_placeholder, _OF_USER,
    ),
    # root -> ...
    ("password", ("root", "admin"), rf"(?<!\w)(?:root|admin(?:istrator)?)\s?(?:->|=>|→)\s?{_VALUE}", _is_plain),
    # the passphrase is SOME RANDOM WORDS
    ("password", ("phrase",), _PHRASE, _is_phrase),
    # recovery codes: ...
    (
        "recovery-code",
        ("recovery", "backup", "emergency", "one-time", "wiederherstellung", "notfall", "einmal"),
        _RECOVERY, _is_recovery_code,
    ),
    # PIN 4711, the pin of the card is 4711, door code 4711
    ("pin", ("pin", "puk", "geheim"), rf"{_PIN}(?:{_OWNER}(?! to ){_LINK}| |\s?\(){_NUMBER}", _is_stated),
    (
        "pin", ("code", "kombination", "combination"),
        rf"(?:code|[kc]ombination)(?:{_OWNER}{_LINK}| ){_NUMBER}", _is_stated, rf"\b{_PLACES}\Z",
    ),
    (
        "pin", ("kombination", "combination"),
        rf"[kc]ombination(?= (?:of|for|to|des|vom|zum|für)\b){_OWNER}{_LINK}{_NUMBER}", _is_stated,
    ),
    # the token ..., the signing key is ...
    ("token", _KEY_ANCHORS, rf"(?:{_KEYS}) {_VALUE}", _is_random),
    (
        "token", ("key", "schlüssel"), rf"(?:key|schlüssel){_OWNER}{_LINK}{_VALUE}", _is_random,
        r"\b(?:master|signing|encryption|root|deploy|service|account|storage)[ _-]?\Z",
    ),
)  # fmt: skip
"""Type, anchors, expression, judge, and what is before. The type of the first is that of its group."""

_MORE = pattern(rf"(?:,| and| und| or| oder|, and)\s{_VALUE}")
"""Another value after a secret, which is judged strictly."""

_REACH = 160
"""Characters before an anchor that are looked at."""

_CANDIDATE = pattern(
    r"[^\W\d_]\S{0,80}?[0-9#$%^&*!+~?]\S?|[0-9#$%^&*!+~?]\S{0,80}?[^\W\d_]|[0-9]{4}|[0-9]-[0-9]|phrase|identified|"
    r"password [\"']|\w-\w+-\w"
)
"""What a line with a secret has: a piece with letters and digits or signs, a number, or words that are joined."""


_SIGN = pattern(r"[0-9#$%^&*+~!-](?:\S|(?<=[0-9]))|[Pp][Hh][Rr][Aa][Ss][Ee]|[Dd] ['\"]|IDENTIFIED|identified")
"""What a text with a secret has: most remarks have none, which is told faster than that they have no anchor."""


@cache
def _by_anchor() -> Mapping[str, Sequence[Saying]]:
    groups: defaultdict[str, list[Saying]] = defaultdict(list)
    for kind, anchors, text, judge, *before in _SAYINGS:
        saying = Saying(kind, anchors, pattern(text), judge, pattern(before[0]) if before else None)
        for anchor in anchors:
            groups[anchor].append(saying)
    return groups


@cache
def _ascii_anchors() -> Sequence[str]:
    return [anchor for anchor in _by_anchor() if anchor.isascii()]


def _line_at(lower: str, position: int) -> Extent:
    """Return the range of a line, with the next one if it ends with a sign after which a value may follow."""
    start, end = lower.rfind("\n", 0, position) + 1, lower.find("\n", position)
    if end > 0 and lower[end - 1] in ":=>→—\uff1a":
        end = lower.find("\n", end + 1)
    return start, len(lower) if end < 0 else end


def _places(lower: str) -> Iterator[tuple[int, int, int, Sequence[Saying]]]:
    """Yield start and end of a line, the place of an anchor in it, and the sayings that may be there."""
    groups = _by_anchor()
    every = _ascii_anchors() if lower.isascii() else groups
    for anchor in [anchor for anchor in every if anchor in lower]:
        at, sayings = lower.find(anchor), groups[anchor]
        end, is_candidate = -1, False
        while at >= 0:
            if at >= end:
                start, end = _line_at(lower, at)
                is_candidate = _CANDIDATE.search(lower, start, end) is not None
            if is_candidate:
                yield start, end, at, sayings
                at = lower.find(anchor, at + 1)
            else:
                at = lower.find(anchor, end)


def _finds(text: str, lower: str) -> Iterator[tuple[Extent, str]]:
    """Yield the range and type of each secret, in no order; some may overlap."""
    for start, end, at, sayings in _places(lower):
        for saying in sayings:
            match = saying.expression.match(lower, at, end)
            if match is None:
                continue
            if saying.before is not None:
                before = saying.before.search(lower, max(start, at - _REACH), at)
                if before is None:
                    continue
                match = before if "bare" in before.re.groupindex else match
            extent = _extent(text, match)
            if saying.judge(text[slice(*extent)], match):
                kind = saying.type or ("password" if match["password"] else "token")
                yield extent, kind
                yield from _more(text, lower, extent[1], end, kind, match)


def _extent(text: str, match: re.Match[str]) -> Extent:
    """Return the range of the value, without the punctuation after one that is not quoted."""
    if match["quoted"]:
        return match.span("quoted")
    value = text[match.start("bare") : match.end("bare")]
    return match.start("bare"), match.start("bare") + len(_ENDING.sub("", value))


def _more(text: str, lower: str, start: int, end: int, kind: str, first: re.Match[str]) -> Iterator[tuple[Extent, str]]:
    """Yield the secrets that follow a first one in a list."""
    while (match := _MORE.match(lower, start, end)) is not None:
        extent = _extent(text, match)
        value = text[slice(*extent)]
        if not (_is_recovery_code(value, first) if kind == "recovery-code" else _is_strict(value)):
            return
        yield extent, kind
        start = extent[1]


def without_secrets(text: str, allow: Sequence[re.Pattern[str]] = ()) -> str:
    """Return a text in which the values of secrets that its sentences state are `[REDACTED:password]` and the like.

    A secret that one of `allow` matches stays. A second call changes nothing more.
    """
    if _SIGN.search(text) is None:
        return text
    lower = text.lower()
    if len(lower) != len(text):  # as of a dotted capital I, which becomes two characters
        lower = "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
    finds: dict[Extent, str] = {}
    for extent, kind in _finds(text, lower):
        finds.setdefault(extent, kind)
    parts: list[str] = []
    done = 0
    for (start, end), kind in sorted(finds.items()):
        if start >= done and not any(permitted.search(text[start:end]) for permitted in allow):
            parts += text[done:start], f"[REDACTED:{kind}]"
            done = end
    return "".join((*parts, text[done:])) if parts else text
