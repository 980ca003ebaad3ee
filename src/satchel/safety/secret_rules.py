"""The shapes of secrets, and the judges that tell a secret from a name or a placeholder.

A match of a known provider's shape counts as a secret. An assignment (`password = "..."`) is judged by its value:
names, placeholders, calls, lookups and sentences stay, so that code stays readable.
What people write into sentences ("the admin password is ...") is in `secret_sentences`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec import Struct

from satchel.text import pattern, word_lists

_RANDOM_CHANGES_CAPITALS = 0.15
"""The same without any lower case: base32 has only six digits, so 0.30."""

Extent = tuple[int, int]
Judge = Callable[[str, int, re.Match[str]], Extent | None]


class SecretRule(Struct, frozen=True):
    """One kind of secret: `head` (of fixed width), `anchor` (plain characters) and `body`, one after the other.

    A scan searches for the anchor, so it should be rare in source. The character before the head must not match
    `boundary`; an empty one allows everything. `judge` has as arguments the text, the start of the head and the match
    of anchor and body, and returns the range to replace, or None.
    """

    type: str
    head: str
    anchor: str
    body: str
    judge: Judge
    boundary: str = "[A-Za-z0-9]"

    @property
    def pattern(self) -> str:
        """The expression after the anchor; its one group starts at the head."""
        head = self.head + re.escape(self.anchor)
        before = f"(?<!{self.boundary}{head})" if self.boundary else ""
        return f"(?<=({head})){before}(?:{self.body})"


# --- judging one find -------------------------------------------------------------------------------------------

_FAKE_TOKEN = pattern(r"(?i)example|x{4}|\*{3}|\.{3}|redacted|your|dummy|fake|placeholder|changeme|0{8}")
PLACEHOLDER = pattern(
    r"(?i)example|sample|change|placeholder|dummy|fake|test|mock|your|insert|replac|redact|removed|hidden|masked|todo"
    r"|foo[_-]|foobar|x{4}|\*{3}|\.{3}|lorem|secret|passw|token|credential|api[_-]?key|access[_-]?key|user.?name|qwerty|abcde"
    r"|12345|a{5}|0{8}|a-z|0-9|localhost|undefined|null|none|[<>]|\$[({\w]|\{\{|\{[\w.:!]*\}|#\{|%[(s]|^%.*%$|://"
    r"|^(?:[/.~]|process\.|env\.|os\.|self\.|this\.)"
)
_CHUNK = pattern(r"[A-Za-z0-9]+")
_PIECE = pattern(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
STRONG_SYMBOLS = frozenset("!@#$%^&*?+~")


def _bits(value: str) -> float:
    """Return the Shannon entropy of the characters, in bits per character."""
    return -sum(count / len(value) * math.log2(count / len(value)) for count in Counter(value).values())


def looks_random(value: str) -> bool:
    """Tell a generated value from a name or a sentence: letters and digits in short, varied runs."""
    chunks = _CHUNK.findall(value)
    core = "".join(chunks)
    # Letters and digits below which a value is too short to tell a random one from a name.
    if len(core) < 16 or core.isalpha() or core.isdigit():
        return False
    # A separator is not a change of kind: `2.5-pro-exp-03-25` is as readable as words are.
    changes = sum(len(_PIECE.findall(chunk)) - 1 for chunk in chunks)
    # Changes of kind (word, capitals, digits) per letter or digit: random hex has 0.47, `getSecretFromVault2` 0.21.
    least = _RANDOM_CHANGES_CAPITALS if core.isupper() else 0.25
    # Entropy in bits per character: words repeated or counted up stay below, 32 random hex digits have about 3.5.
    return changes / len(core) >= least and _bits(core) >= 3.0


def _looks_like_password(value: str, kinds: int) -> bool:
    """Tell a chosen password from a word: at least so many `kinds` of lower, upper, digit and strong symbol."""
    # Characters below which a quoted password is too short to be told from a word.
    return len(value) >= 8 and kinds_of(value) >= kinds


def kinds_of(value: str) -> int:
    """Return how many of lower case, capitals, digits and symbols a value has; letters alone count as one."""
    strong = any(character in STRONG_SYMBOLS for character in value)
    digit = any(character.isdigit() for character in value)
    if not strong and not digit:
        return 1
    return (value != value.upper()) + (value != value.lower()) + digit + strong


def _token(text: str, start: int, match: re.Match[str]) -> Extent | None:
    """Accept a provider's token, unless it is a placeholder or has very few distinct characters."""
    body = text[match.start() : match.end()]
    if len(set(body)) < 6 or _FAKE_TOKEN.search(body):
        return None
    return start, match.end()


def _before_anchor(text: str, start: int, match: re.Match[str]) -> Extent | None:
    """Accept a key whose random part is before its anchor."""
    return (start, match.end()) if looks_random(text[start : match.start()]) else None


def _after_equals(text: str, start: int, match: re.Match[str]) -> Extent | None:
    """Accept the value after the equals sign."""
    span = _token(text, start, match)
    return span and (text.index("=", start) + 1, match.end())


_BASE64_RUN = pattern(r"[A-Za-z0-9+/]{32,}")
_BASE64_LINES = pattern(r"(?:[^A-Za-z0-9+/]{0,40}[A-Za-z0-9+/]{40,}={0,2})+")
_KEY_BEGIN = pattern(r"-----BEGIN [A-Z0-9 ]{0,40}$")
_KEY_END = pattern(r"-----END [A-Z0-9 ]{0,40}-----")


def _private_key(text: str, start: int, match: re.Match[str]) -> Extent | None:
    """Accept the block up to its end line, or the base64 lines that follow, not a mere mention of the first line."""
    begin = _KEY_BEGIN.search(text, max(0, start - 60), start)
    if begin is None:
        return None
    # Characters of a private key block; a 16,384 bit RSA key has 12,700.
    stop = text.find("-----", match.end(), match.end() + 16_000)
    last_line = _KEY_END.match(text, stop) if stop >= 0 else None
    closing = last_line or _BASE64_LINES.match(text, match.end())
    if closing is None:
        return None
    if any(looks_random(run) for run in _BASE64_RUN.findall(text, match.end(), closing.end())):
        return begin.start(), closing.end()
    return None


_CREDENTIALS_IN_URL = r"""//[^\s/:@?#"'`<>\[\](){}|]{0,64}:[^\s/@"'`<>\[\](){}|]{3,128}@"""
_PLAIN_WORD = pattern(r"[a-z_-]+|[A-Z_-]+|.*pass.*|\d{1,5}|\*+")


def _url_password(_text: str, _start: int, match: re.Match[str]) -> Extent | None:
    """Accept the password of `scheme://user:password@host`, unless a word, a placeholder or the user's own name."""
    user, _, password = match[0].removeprefix("://").removesuffix("@").partition(":")
    if password == user or _PLAIN_WORD.fullmatch(password) or PLACEHOLDER.search(password):
        return None
    return match.end() - 1 - len(password), match.end() - 1


_CREDENTIAL = pattern(r"[A-Za-z0-9._~+/-]{16,2000}={0,2}")


def _authorization(text: str, _start: int, match: re.Match[str]) -> Extent | None:
    """Accept the credential of an `Authorization` header, or after the word `Bearer`."""
    value = _CREDENTIAL.match(text, match.end())
    if value is None or PLACEHOLDER.search(value[0]) or not looks_random(value[0]):
        return None
    return value.span()


_VALUE = pattern(
    # `: str = "` after a name that has a type, `=> "`, `== "`, `= (` and a line break, `b"`, `\"` inside a string
    r"""[=>]{0,2}(?:[ \t]{0,4}[\w&'<>\[\]., |]{1,40}=)?[ \t(]{0,8}"""
    r"""(?:(?:\n[ \t]{0,80})?[bBrRuUfF@]{0,2}\\?["'`](?P<quoted>[^"'`\\\s,;{}]{8,256})\\?["'`]"""
    r"""|(?P<bare>[A-Za-z0-9+/_~.!@#$%^&*?-]{8,256}={0,2})(?=[\s,;&"'`<)\]}\\]|$))"""
)


_OPTION = pattern(r"(?:(?<![\w-])--?[\w.-]{0,40}|\bset[ \t]{1,4}[\w./:@-]{0,60})\Z")
"""What is before the name of an option with a blank after it: `--db-`, `config set //host/:_auth`."""


def _option(text: str, start: int, match: re.Match[str], kinds: int) -> Extent | None:
    """Accept the word after an option, as in `--password X`."""
    if not _OPTION.search(text, max(0, start - 70), start):
        return None
    value = _unlike_word(text, match.end())
    if value is None or value[0].startswith("-"):
        return None
    is_path = kinds > 3 and not {"/", "."}.isdisjoint(value[0])
    is_chosen = not is_path and _looks_like_password(value[0], kinds - 1)
    return value.span() if looks_random(value[0]) or is_chosen else None


def _value(text: str, start: int, match: re.Match[str], *, kinds: int) -> Extent | None:
    """Accept the literal after an operator if it looks random, or like a password of `kinds` kinds of characters."""
    if match[0][-1] in " \t" and text[match.end()] not in "\"'":
        return _option(text, start, match, kinds)
    literal = _VALUE.match(text, match.end())
    if literal is None:
        return None
    quoted, bare = literal["quoted"], literal["bare"]
    if PLACEHOLDER.search(quoted or bare):
        return None
    if quoted:
        return literal.span("quoted") if looks_random(quoted) or _looks_like_password(quoted, kinds) else None
    # Without quotes it may be a name of the program: a dotted path, or an optional type (`password: Base64Text?`).
    if "." in bare or not (looks_random(bare) or _looks_like_password(bare.rstrip("?"), kinds + 1)):
        return None
    return literal.span("bare")


_password = partial(_value, kinds=3)
"""A password has three kinds of characters, four without quotes."""

_secret = partial(_value, kinds=4)
"""A secret that does not look random needs quotes and all four kinds."""

_ARGUMENT = pattern(r"""[^\s"'`,;|&<>()]{6,256}""")
_ARGUMENT_REACH = 300
"""Characters before a password among which its command, or the login of its line, must be."""
_LOGIN = pattern(r"(?P<host>\b(?:machine\s{1,9}\S{1,99}|default)\s{1,9})?\blogin\s{1,9}\S{1,99}\s{1,9}\Z")


def _user_password(text: str, start: int, match: re.Match[str]) -> Extent | None:
    """Accept the word after `curl -u user:`, unless it looks like a word."""
    return _command_value(text, start, match) if "curl" in text[max(0, start - _ARGUMENT_REACH) : start] else None


def _login_password(text: str, start: int, match: re.Match[str]) -> Extent | None:
    """Accept the word after `login NAME password` of netrc, or after an option `--password`, unless it is a word."""
    login = _LOGIN.search(text, max(0, start - _ARGUMENT_REACH), start)
    if login is None:
        return _option(text, start, match, 3)
    if login["host"] is None:
        return _command_value(text, start, match)
    word = _ARGUMENT.match(text, match.end())
    if word is None or PLACEHOLDER.search(word[0]):
        return None
    # In a whole line many letters alone are a password, too.
    return word.span() if len(word[0]) >= 10 or kinds_of(word[0]) >= 2 else None


def _command_value(text: str, _start: int, match: re.Match[str]) -> Extent | None:
    """Accept the word at the place of a command where its password is, unless it looks like a word."""
    value = _unlike_word(text, match.end())
    is_chosen = value is not None and (looks_random(value[0]) or _looks_like_password(value[0], 2))
    return value.span() if value is not None and is_chosen else None


_PASS_OPTION = pattern(r"-pass(?:in|out)?[ \t]{1,3}['\"]?\Z")


def _source_of_password(text: str, start: int, match: re.Match[str]) -> Extent | None:
    """Accept the password of `openssl -passin pass:X`."""
    return _command_value(text, start, match) if _PASS_OPTION.search(text, max(0, start - 20), start) else None


_CLIENT = pattern(
    r"(?:mysql|mysqldump|mysqladmin|mariadb|(?P<blank>sshpass|mongo(?:sh|dump|restore)?|"
    r"(?:docker|podman|buildah|skopeo|helm|oras|nerdctl|az)\b[^\n;|]*\blogin))\b[^\n;|]*\Z"
)


def _client_password(text: str, start: int, match: re.Match[str]) -> Extent | None:
    """Accept the password after `mysql -p`, `sshpass -p` and `docker login -p`, unless it looks like a word."""
    client = _CLIENT.search(text, max(0, start - _ARGUMENT_REACH), start)
    # Of mysql a word after a blank is the name of the database.
    is_password = client is not None and (match[0] == "-p" or client["blank"] is not None)
    value = _unlike_word(text, match.end()) if is_password else None
    is_chosen = value is not None and (looks_random(value[0]) or _looks_like_password(value[0], 2))
    return value.span() if value is not None and is_chosen else None


_OF_USER = pattern(r"(?i)\b(?:create|alter|grant|set)\b[^\n;]{0,110}\Z")
_STATED = pattern(r"""[^"'\n<>]{4,128}(?=["'])""")


def _stated(text: str, start: int, match: re.Match[str]) -> Extent | None:
    """Accept the quoted text that a statement of SQL makes a password, unless it is a placeholder."""
    value = _STATED.match(text, match.end())
    if value is None or PLACEHOLDER.search(value[0]):
        return None
    # A sentence, too, may say "identified by 'name'".
    is_sql = match[0].isupper() or _OF_USER.search(text, max(0, start - 120), start)
    return value.span() if is_sql or kinds_of(value[0]) >= 2 else None


_SHARED_KEY = pattern(r"""[0-9a-fA-F]{64}(?![0-9a-fA-F])|[^\s"'<>]{8,63}""")


def _shared_key(text: str, _start: int, match: re.Match[str]) -> Extent | None:
    """Accept the key of a wireless network: 64 hexadecimal digits, or what was chosen."""
    value = _SHARED_KEY.match(text, match.end())
    if value is None or PLACEHOLDER.search(value[0]) or not (len(value[0]) == 64 or kinds_of(value[0]) >= 2):
        return None
    return value.span()


_KEY_FIELD = pattern(r"""[A-Za-z0-9_-]{16,2000}(?=")""")
_KEY_REACH = 3_000
"""Characters around a number of a JSON Web Key among which its kind must be: a key of 4,096 bits has 3,200 in all."""


def _web_key(text: str, start: int, match: re.Match[str]) -> Extent | None:
    """Accept a private number of a JSON Web Key."""
    value = _KEY_FIELD.match(text, match.end())
    blank = text.rfind("\n\n", max(0, start - _KEY_REACH), start)
    reach = text[max(0, start - _KEY_REACH, blank) : start + _KEY_REACH].partition("\n\n")[0 if blank < 0 else 2]
    return value.span() if value is not None and '"kty"' in reach else None


def _last_field(text: str, _start: int, match: re.Match[str]) -> Extent | None:
    """Accept the password of a line of pgpass: host, port, database, user, password."""
    value = _unlike_word(text, match.end())
    return value and value.span()


def _unlike_word(text: str, start: int) -> re.Match[str] | None:
    value = _ARGUMENT.match(text, start)
    is_word = value is None or _PLAIN_WORD.fullmatch(value[0]) or PLACEHOLDER.search(value[0])
    return None if is_word else value


_ASANA = pattern(r"\b[012]/(?:[0-9]{13,19}/)?[0-9]{13,19}\Z")


def _asana(text: str, start: int, match: re.Match[str]) -> Extent | None:
    """Accept a token of Asana: a version, one or two numbers, and 32 hex digits after the colon."""
    before = _ASANA.search(text, max(0, start - 44), start)
    return (before.start(), match.end()) if before and _token(text, start, match) else None


_COOKIES = pattern(r"""(?:[\w.-]{1,80}=[^\s;"'`]{1,4096}(?:;[ \t]{0,3})?){1,100}""")


def _cookies(text: str, _start: int, match: re.Match[str]) -> Extent | None:
    """Accept the cookies of a header if the value of one looks random."""
    cookies = _COOKIES.match(text, match.end())
    if cookies is None or not any(looks_random(part.partition("=")[2]) for part in cookies[0].split(";")):
        return None
    return cookies.span()


def _last_40(_text: str, _start: int, match: re.Match[str]) -> Extent | None:
    """Accept the id of a key of Google, which its rotation needs."""
    return match.end() - 40, match.end()


_PUTTY_LINES = pattern(r"(?:\r?\n[A-Za-z0-9+/=]{16,64}(?![^\s])){1,200}")


def _putty_key(text: str, _start: int, match: re.Match[str]) -> Extent | None:
    """Accept the lines of a key of PuTTY."""
    lines = _PUTTY_LINES.match(text, match.end())
    return lines and (lines.start() + len(lines[0]) - len(lines[0].lstrip()), lines.end())


_PUBLIC_TOKEN = pattern(
    r"(?i)(?:next|prev|start(?:ing)?|public(?:[ _-]?key)?|lock|request|idempotency|continuation|page|pagination|cursor"
    r"|sync|resume|change|action|product)"
    r"[ _-]?$"
)


def _named_token(text: str, start: int, match: re.Match[str]) -> Extent | None:
    """Accept the literal that is assigned to a token, unless it is by its name a position in a list."""
    return None if _PUBLIC_TOKEN.search(text, max(0, start - 20), start) else _secret(text, start, match)


_KEY_OWNER = pattern(
    r"(?i)(?:api|access|secret|private|signing|encrypt(?:ion)?|auth|account|master|client|consumer|storage|service|sas"
    r"|subscription|license|session|admin|app|shared|deploy|hmac|jwt|cookie|crypto|server|webhook)[ ._-]?$"
)


def _named_key(text: str, start: int, match: re.Match[str]) -> Extent | None:
    """Accept the literal that is assigned to a key of a secret kind (`api_key`), not to any key."""
    return _secret(text, start, match) if _KEY_OWNER.search(text, max(0, start - 20), start + 1) else None


# --- the table --------------------------------------------------------------------------------------------------

_HEX = "[0-9a-f]"
_ALNUM = "[A-Za-z0-9]"
_WORD = r"[\w-]"
_END = r"(?![A-Za-z0-9])"

_KINDS = {"<hex>": _HEX, "<alnum>": _ALNUM, "<word>": _WORD, "<end>": _END, "''": ""}
_CELLS = [re.sub(r"<\w+>|''", lambda kind: _KINDS[kind[0]], cell) for cell in word_lists("secret_tokens.txt")["tokens"]]
_TOKENS = [tuple(_CELLS[at : at + 4]) for at in range(0, len(_CELLS), 4)]
"""Type, head, anchor and body of the tokens of providers."""

_SUFFIX = "(?i:[_-]?(?:key|value|base64|b64|hex|dev|prod|production|staging|local|default|old|new|[0-9]{1,2}))?"
_OPERATOR = (
    r"""["'\])\\]{0,3}(?:[ \t]{0,4}(?:[:=>]|,(?=[ \t]{0,4}\\?["']))|[ \t]{1,4}(?=["'])"""
    # `<add key="ApiKey" value=`, and `--api-key ` of a command
    r"""|[ \t]{1,4}[Vv]alue[ \t]{0,2}=|(?<=[A-Za-z0-9])[ \t]{1,2}(?=[^\s"'=:>,;.-]))"""
)

_NAMES: Sequence[tuple[str, str, str, str, Judge]] = (
    ("password", "[Pp]ass", "w", "(?:or)?d", _password),
    ("password", "PASS", "W", "(?:OR)?D", _password),
    ("password", "[Pp]", "w", "d", _password),
    ("password", "P", "W", "D", _password),
    ("password", "", "_PASS", "", _password),
    ("password", "", "_pass", "", _password),
    ("password", "[Pp]ass", "phrase", "", _password),
    ("password", "PASS", "PHRASE", "", _password),
    ("secret", "", '"auth', "", _secret),
    ("token", "[Tt]o", "ke", "n", _named_token),
    ("token", "TO", "K", "EN", _named_token),
    ("secret", "[Ss]e", "cre", "t", _secret),
    ("secret", "SE", "C", "RET", _secret),
    ("secret", "", "cre", "dentials?", _secret),
    ("secret", "", "C", "redentials?|REDENTIALS?", _secret),
    ("secret-key", "[A-Za-z_. -]", "ke", "y", _named_key),
    ("secret-key", "[A-Za-z_. -]", "K", "ey|EY", _named_key),
)
"""Type, head, anchor and rest of the names to which secrets are assigned, and the judge of the value."""

ASSIGNED = frozenset({"authorization", "cookie", "url-password", *(row[0] for row in _NAMES)})
"""Types that are named after the place of a secret, not its provider."""

_AUTHORIZATION = r"""["'\\\]]{0,3}[ \t]{0,3}[:=,][ \t]{0,3}\\?["'`]?(?i:basic|bearer|token|apikey)[ \t]{1,3}"""

_USER = r"""[= \t]{0,3}["']?[^\s:"'/]{1,64}:"""
_TEAMS_WEBHOOK = r"//[\w.-]{0,80}webhook\.office\.com/webhookb2/[\w@-]{36,100}/[A-Za-z]{1,30}/[\w/-]{32,120}"
_DISCORD_WEBHOOK = r"//discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/[\w-]{60,}"

_HASH = r"(?:rounds=[0-9]{1,9}\$|j[0-9A-Za-z./]{1,4}\$)?[A-Za-z0-9./]{1,32}\$[A-Za-z0-9./]{20,90}"
_BCRYPT = r"[0-9]{2}\$[A-Za-z0-9./]{53}"

_SPECIAL = (
    SecretRule("private-key", "PRIVATE ", "K", "EY(?: BLOCK)?-----", _private_key, ""),
    SecretRule("url-password", "[A-Za-z0-9]", ":", _CREDENTIALS_IN_URL, _url_password, ""),
    SecretRule("slack-webhook", "https", ":", r"//hooks\.slack\.com/[a-z]{8,9}/[\w/+-]{20,}", _token, ""),
    SecretRule("discord-webhook", "https", ":", _DISCORD_WEBHOOK, _token, ""),
    SecretRule("azure-key", "(?:Account|dAccess)", "K", r"ey=[A-Za-z0-9+/]{42,86}={1,2}", _after_equals, ""),
    SecretRule("mailchimp-key", rf"{_HEX}{{32}}", "-u", rf"s[0-9]{{1,2}}{_END}", _before_anchor),
    SecretRule("telegram-token", "[0-9]{8}", ":", r"AA[\w-]{33}(?![\w-])", _token, ""),
    SecretRule("json-web-token", "ey", "J", r"[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}", _token, r"[\w-]"),
    SecretRule("authorization", "(?i:authori)", "z", "(?i:ation)" + _AUTHORIZATION, _authorization, ""),
    SecretRule("authorization", "(?i:authori)", "Z", "(?i:ation)" + _AUTHORIZATION, _authorization, ""),
    SecretRule("authorization", "[Bb]", "earer", r"[ \t]{1,3}", _authorization),
    SecretRule("cookie", "[Cc]", "ookie", r"""["']?[ \t]{0,3}[:=,][ \t]{0,3}\\?["'`]?""", _cookies, ""),
    SecretRule("password", "", "-u", _USER, _user_password, r"\S"),
    SecretRule("password", "-", "-u", "ser" + _USER, _user_password, r"\S"),
    SecretRule("password", "[Pp]ass", "w", r"ord\s{1,9}(?![\s:='\"])", _login_password),
    SecretRule("private-key", "", "Private-Lines", r": [0-9]{1,3}(?=\s)", _putty_key, ""),
    SecretRule("azure-signature", "[?&;]", "sig=", r"[A-Za-z0-9%+/]{40,90}={0,2}", _after_equals, ""),
    SecretRule("firebase-key", r"AAAA[\w-]{7}:", "APA91b", r"[\w-]{100,}", _token),
    SecretRule("google-key-id", "", "private_key_id", r"""["']\s{0,3}:\s{0,3}["'][0-9a-f]{40}""", _last_40),
    SecretRule("password", "", "-p", r"""(?:[ \t]{0,3}['"]?)""", _client_password, r"\S"),
    SecretRule("password", "", "redis-cli", r"""[^\n;|]{0,120}?[ \t](?:-a|--pass)[ \t]{1,3}['"]?""", _command_value),
    SecretRule("password", "", "ldapsearch", r"""\b[^\n;|]{0,200}?[ \t]-w[ \t]{0,3}['"]?""", _command_value),
    SecretRule(
        "password",
        "",
        "htpasswd",
        r"""[ \t]{1,3}-\w{0,5}b\w{0,5}[ \t]{1,3}\S{1,99}[ \t]{1,3}\S{1,99}[ \t]{1,3}['"]?""",
        _command_value,
    ),
    SecretRule("password", "", "wpa_passphrase", r"""[ \t]{1,3}\S{1,40}[ \t]{1,3}['"]?""", _command_value),
    SecretRule("password", "", "pass:", "", _source_of_password, ""),
    SecretRule("token", "", "vault login ", r"(?:-no-print[ \t]{1,3})?", _command_value),
    SecretRule("token", "", "--with-token", r"[ \t]{1,3}", _command_value, ""),
    *(
        SecretRule(
            "password",
            "",
            identified,
            rf"""(?:{with_}\s\S{{1,60}}\s)?{by}\s{{1,3}}(?:{password}\s{{1,3}})?["']""",
            _stated,
            "",
        )
        for identified, with_, by, password in (
            ("IDENTIFIED ", "WITH", "(?:BY|AS)", "PASSWORD"),
            ("identified ", "with", "(?:by|as)", "password"),
        )
    ),
    SecretRule("password", "", "psk", r"""\s{0,3}[:=]\s{0,3}["']?""", _shared_key),
    *(
        SecretRule("private-key", "", f'"{name}"', r"""[ \t]{0,3}:[ \t]{0,3}["']""", _web_key, "")
        for name in ("d", "p", "q", "dp", "dq", "qi", "k")
    ),
    *(
        SecretRule("url-signature", "", f"X-{cloud}-Signature=", f"(?i:{_HEX}){{64,600}}", _after_equals, "")
        for cloud in ("Amz", "Goog")
    ),
    SecretRule("password", "", ":5432:", r"[^\s:]{1,64}:[^\s:]{1,64}:", _last_field, ""),
    SecretRule("asana-token", "", ":", rf"{_HEX}{{32}}{_END}", _asana, ""),
    *(SecretRule("password-hash", "", f"${name}$", _HASH, _token, "") for name in ("apr1", "1", "5", "6", "y")),
    *(SecretRule("password-hash", "", f"${name}$", _BCRYPT, _token, "") for name in ("2a", "2b", "2y")),
    SecretRule("teams-webhook", "https", ":", _TEAMS_WEBHOOK, _token, ""),
)

_MIXED = "(?=[a-z_+/-]{0,15}+[0-9A-Z])"
GATES = {
    "_": rf"(?=[A-Za-z0-9_+/-]{{16}}){_MIXED}",
    "-": rf"(?!--)(?=[A-Za-z0-9_-]{{16}}){_MIXED}",
    ".": rf"(?=[A-Za-z0-9_-]{{16}}){_MIXED}",
    ":": f"(?=//|AA|{_HEX}{{32}})",
    "-p": r"(?=[ \t'\"]{0,4}[^\s'\"]{6})",
    "A": r"(?=ZDO|[\w=-]{16})",
    "C": "(?=RET|redential|REDENTIAL)",
    "cre": "(?=t|dential)",
    "s": "(?=earch)",
    "w": "(?=d|ord)",
    "W": "(?=D|ORD)",
    "z": "(?i:(?=ation))",
    "Z": "(?i:(?=ation))",
}
"""Frequent anchor -> a lookahead that all of its shapes pass (but one random token in a million), and little else."""


def shapes() -> Iterator[SecretRule]:
    """Yield every shape."""
    yield from _SPECIAL
    for kind, head, anchor, body in _TOKENS:
        yield SecretRule(kind, head, anchor, body, _token)
    for kind, head, anchor, rest, judge in _NAMES:
        yield SecretRule(kind, head, anchor, f"(?:{rest}){_SUFFIX}{_OPERATOR}", judge, "")
