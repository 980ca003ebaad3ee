"""Secrets in sentences go, in many languages; sentences about secrets stay. Every secret here is made at run time."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest

from satchel.memory.memories import Memories
from satchel.memory.scope import Notebook
from satchel.safety.secret_sentences import without_secrets
from tests.memory.conftest import make_notebook, notebook

__all__ = ["make_notebook", "notebook"]


def made(seed: int) -> str:
    """A password as people make them: a word, symbols, digits."""
    draw = random.Random(seed)
    word = "".join(draw.choice("bdfgklmnprst") + draw.choice("aeiou") for _ in range(3))
    return f"{word.capitalize()}{draw.choice('-&!#')}{draw.randrange(100, 1000)}"


SAID = [
    "The mail password={} belongs to ops",
    "the admin password is {}",
    "The password for the staging database is {}, ask Ann",
    "password: {}",
    "We changed the root passwd to `{}`",
    'the passphrase is "{}"',
    "db_password={}",
    "Das Passwort des Mailservers lautet {}",
    "WLAN-Passwort: {}",
    "Das Kennwort für den Drucker ist „{}“.",
    "Le mot de passe du serveur est {}",
    "mdp : {}",
    "La contraseña del servidor es {}",
    "La clave de la base es {}",
    "A senha do banco é {}",
    "La password del server è {}",
    "Het wachtwoord van de server is {}",
    "Hasło do serwera to {}",
    "Lösenordet: x. Lösenord är {}",
    "Passordet er nytt. Passord: {}",
    "Adgangskode til serveren er {}",
    "Salasana on {}",
    "Heslo je {}",
    "A jelszó: {}",
    "Пароль от сервера: {}",
    "Пароль для базы — {}",
    "Şifre: {}",
    "κωδικός: {}",
    "管理员密码是{}",
    "密码\uff1a{}",
    "管理画面のパスワードは{}です",
    "비밀번호는 {}",
    "كلمة المرور هي {}",
    "הסיסמה: {}",
    "Mật khẩu là {}",
    "पासवर्ड है {}",
]
TOKENS = [
    "the api token is {}",
    "API key: {}",
    "access_token={}",
    "the client secret for mail is {}",
    "Der API-Schlüssel lautet {}",
]


def plain(seed: int) -> str:
    """A password without signs: letters, and two digits at its end."""
    draw = random.Random(seed)
    word = "".join(draw.choice("bdfgklmnprst") + draw.choice("aeiou") for _ in range(4))
    return f"{word.capitalize()}{draw.randrange(10, 100)}"


def digits(seed: int) -> str:
    return str(random.Random(seed).randrange(1_000, 10_000))


def groups(seed: int) -> str:
    draw = random.Random(seed)
    return "-".join("".join(draw.choices("0123456789", k=4)) for _ in range(3))


def random_words(seed: int, mark: str = " ", count: int = 4) -> str:
    listed = ["copper", "lantern", "turtle", "violin", "marble", "window", "saddle", "pepper", "anchor", "velvet"]
    return mark.join(random.Random(seed).sample(listed, count))


def joined_words(seed: int) -> str:
    return random_words(seed, "-", 3)


def signed(seed: int) -> str:
    return f"{plain(seed)}!!"


def spelled(seed: int) -> str:
    draw = random.Random(seed)
    return f"{draw.choice('bdgr')}r4{draw.choice('bdgr')}4n{draw.randrange(2, 10)}!!"


def generated(seed: int) -> str:
    return "".join(random.Random(seed).choices("abcdef0123456789", k=32))


PROSE = [
    ("pin", digits, "Use the PIN {} for the server room"),
    ("pin", digits, "The pin of the company card is {}."),
    ("pin", digits, "PIN: {}"),
    ("pin", digits, "Die PIN für den Tresor lautet {}, bitte nicht weitergeben"),
    ("pin", digits, "Die Geheimzahl der Karte ist {}"),
    ("pin", digits, "The alarm code of the office is {}"),
    ("pin", digits, "Door code {} works after six"),
    ("pin", digits, "Der Türcode ist {}"),
    ("password", random_words, "The passphrase of the backup is {}"),
    ("password", random_words, "Passphrase: {}"),
    ("password", joined_words, "The passphrase for the signing key is {}."),
    ("recovery-code", groups, "Recovery code of the GitHub account, in case the phone is lost: {}"),
    ("recovery-code", groups, "The backup code is {}"),
    ("recovery-code", groups, "Der Wiederherstellungscode lautet {}"),
    ("recovery-code", groups, "one-time code {} was never used"),
    ("password", made, "Log in as root with {}"),
    ("password", plain, "log in to the console as admin with {} and restart it"),
    ("password", plain, "Sign in with ann / {}"),
    ("password", signed, "Melde dich als root mit {} an"),
    ("password", plain, "Anmelden als root mit {}"),
    ("password", signed, "Connect to the replica as reader with {}"),
    ("password", plain, "pw: {}"),
    ("password", spelled, "pw for grafana admin -> {}"),
    ("password", plain, "The pw is {}"),
    ("password", plain, "user ann, pw {}"),
    ("password", spelled, "root -> {}"),
    ("password", signed, "root password -> {}"),
    ("password", made, "Credentials for staging: ann / {}"),
    ("password", plain, "creds: ann:{}"),
    ("password", plain, "Zugangsdaten für die Testumgebung: ann / {}"),
    ("password", plain, "Login: ann / {}"),
    ("password", plain, "user/pass for Jenkins: ann / {}"),
    ("password", plain, "restore it with mysqldump --password {} shop"),
    ("password", plain, "Run `backup --db-password {}` at night"),
    ("password", plain, "CREATE USER ann IDENTIFIED BY '{}';"),
    ("password", lambda seed: plain(seed)[:-2].lower(), "alter user ann identified by '{}'"),
    ("password", plain, "ALTER ROLE ann WITH LOGIN PASSWORD '{}'"),
    ("password", plain, "GRANT ALL ON shop.* TO 'ann'@'%' IDENTIFIED BY '{}'"),
    ("password", plain, "docker login registry.internal -u ann -p {}"),
    ("password", signed, "redis-cli -a {} ping"),
    ("password", joined_words, "The wifi key is {}"),
    ("password", plain, "WLAN-Schlüssel: {}"),
    ("password", plain, "Wi-Fi of the office: guest / {}"),
    ("password", signed, "ssh deploy@build-3 and type {} when asked"),
    ("password", signed, "When the installer asks for it, enter {}"),
    ("password", signed, "Wenn du gefragt wirst, gib {} ein"),
    ("password", signed, "{} is the root password"),
    ("password", signed, "Use {} as the password of the replica"),
    ("password", signed, "root password ({}) still works"),
    ("password", plain, "Open it with the password {}"),
    ("password", plain, "The password was changed, it is now in use. Password for ann: {}"),
    ("token", generated, "The TOTP seed is {}"),
    ("token", generated, "Use the API token {} for the mirror"),
    ("token", generated, "The license key: {}"),
    ("token", generated, "The signing key of the app is {}"),
]
"""Type, maker of the value, and a sentence that states it."""

HARMLESS = """
    The password is required
    Passwords are hashed with argon2id and salted
    The password is argon2id-hashed
    The password field is hidden until step2 of the form
    password is stored in settings.DB_PASSWORD2
    The password is read from DB_PASSWORD_FILE
    the password is at least 12-characters long
    password policy: 90days rotation, 12chars
    The password of the test user is in 1Password, item staging-db7
    A password reset token is valid for 15min
    the token is 128-bit
    The token is base64url-encoded JSON
    The token is sent as an Authorization header
    tokens: 2,000 of 4,000 used
    max_tokens=4000
    The token budget is 2000 tokens for MCP
    The api key is read from $OPENAI_API_KEY2
    api_key=os.environ["API_KEY1"]
    password=getpass.getpass()
    The password is <your-password-1>
    password: ${DB_PASSWORD1}
    The passphrase is asked for at the first start
    Das Passwort ist im Tresor hinterlegt
    Das Passwort wird mit bcrypt12 gespeichert
    Le mot de passe est obligatoire
    La contraseña es obligatoria en el paso 2
    A senha é alterada a cada 90dias
    Пароль хранится в сейфе
    密码是必填项
    パスワードは必須です
    The secret is to call flush() before close()
    The secret of Q4-2026 is a small team
    The password is never logged, see issue#1234
    Token: see RFC6750
""".strip().splitlines()

MORE_HARMLESS = """
    Pin pytest to 8.3.4 in constraints.txt
    GPIO pin 18 drives the relay
    Pin 11 is ground, pin 12 is the clock
    pin the base image to 2026.11
    The PIN has 4 to 6 digits
    PINs are checked with 3 attempts
    PIN: at least 4 digits
    A PIN is hashed 10000 times
    We pin commit 4f2a91c of the parser
    Ask for the PIN only after 15 minutes
    The pin code field accepts 6 digits
    The passphrase is asked for once per session
    The passphrase is derived from the user's answer
    Passphrases have five words or more
    The passphrase is a list of six random words
    Passphrase: see the vault of the operations team
    Recovery codes are shown once and stored as hashes
    Recovery codes were rotated on 2026-11-03
    The recovery code has three groups of 4 digits
    Backup codes live in backup_codes.py
    one-time codes expire after 300 seconds
    The emergency code path is tested in CI
    Log in as root with your SSH key
    Log in with OAuth2 and PKCE
    Log in as the test user with a magic link
    Sign in with Google or GitHub
    Connect as app with sslmode=verify-full
    connect to the replica with psycopg3
    Log in with the account that has role v2-admin
    Users log in with 2FA since release 4.2
    ssh into build-3 with agent forwarding
    We log to stdout with JSON lines
    Log on errors with level=WARNING2
    The pw column was dropped in migration 0042
    pw is short for password
    pwd prints the working directory
    Rename pw to password_hash
    admin -> settings -> users
    root -> /srv/app
    The request goes from admin -> api -> db3
    Credentials for staging are in the vault
    credentials: include
    Credentials for AWS come from the instance profile
    The credentials provider chain ends with IMDSv2
    Zugangsdaten liegen im Tresor
    Zugangsdaten für Staging: siehe Vault
    Login: see docs/login2.md
    The login page is /auth/login2
    Login for customers: form, then session cookie
    account: checking, savings or both
    Run psql --password to be asked for it
    The option --password is deprecated since 2.4
    --token is read from the environment
    Use --password-stdin with docker login
    docker login -u ann -p "$REGISTRY_PASSWORD"
    docker run -p 8080:8080 app1
    mkdir -p build/login/v2
    Rows are identified by UUIDv7
    A user is identified by 'user_id'
    Tenants are identified by their slug, for example acme
    CREATE USER app IDENTIFIED BY '${DB_PASSWORD}'
    The wifi key is on the board in the kitchen
    The WLAN is slow, use the cable
    type yes when asked
    Type Ctrl+C when the prompt hangs
    enter the version number when asked, 3.12 or newer
    When asked for the region, use eu-central-1
    Wenn gefragt wird, nimm die Standardwerte
    The prompt shows user@host1
    argon2id is the password hash since 2.0
    CVE-2026-1234 is about the password reset
    issue#1234 is the password policy
    Use bcrypt12 as the password hasher
    Passwords longer than 72 bytes are cut by bcrypt
    Password rules: 12 characters, 1 digit, 1 sign
    def check_password(user, password): return verify(user.hash2, password)
    The password form posts to /login?next=/home
    assert response.status_code == 401, "wrong password"
    Fix the password reset, see PR#4821
    The token bucket refills 100 tokens per second
    Token v2 has claims aud, iss and exp
    The secret key of the session is rotated every 90 days
    Rotate the signing key each quarter
    The key is the order id, the value its total
    Use the API key of the environment, not of the user
    The API token page lists token names and their last use
    Das Passwort muss 12 Zeichen haben
    Das Passwort-Feld heißt password2 im Formular
    Die Passwörter werden mit Argon2 gehasht
    Passwörter stehen nie im Log
    Die PIN hat vier bis sechs Ziffern
    Die PIN darf nicht 1234567890123 sein
    Der Zugang zum Server läuft über SSH-Schlüssel
    Anmelden mit SSO, nicht mit Passwort
    Die Anmeldung als root ist seit 2025 gesperrt
    Melde dich mit deinem Firmenkonto an
    Der Token läuft nach 15 Minuten ab
    Die Kombination aus Redis 7 und Celery 5 ist getestet
    The combination of Python 3.12 and mypy 1.11 works
    The access code path has 100% coverage
    Exit code 1234 means a lost lock
    The error code of the gate is 5021 in the old API
    Unlock the door sensor topic home/door/1
""".strip().splitlines()


@pytest.mark.parametrize("sentence", SAID)
def test_a_password_in_a_sentence_goes_and_the_sentence_stays(sentence: str) -> None:
    for seed in range(20):
        safe = without_secrets(sentence.format(made(seed)))
        assert safe == sentence.format("[REDACTED:password]")
        assert without_secrets(safe) == safe


@pytest.mark.parametrize("sentence", TOKENS)
def test_a_token_with_its_value_goes(sentence: str) -> None:
    secret = "".join(random.Random(3).choices("abcdef0123456789", k=20))
    assert without_secrets(sentence.format(secret)) == sentence.format("[REDACTED:token]")


@pytest.mark.parametrize(("kind", "make", "sentence"), PROSE, ids=[sentence for _, _, sentence in PROSE])
def test_a_secret_that_a_sentence_states_goes(kind: str, make: Callable[[int], str], sentence: str) -> None:
    for seed in range(20):
        safe = without_secrets(sentence.format(make(seed)))
        assert safe == sentence.format(f"[REDACTED:{kind}]")
        assert without_secrets(safe) == safe


def test_every_secret_of_a_list_goes() -> None:
    codes = [groups(seed) for seed in range(4)]
    safe = without_secrets(f"backup codes: {codes[0]}, {codes[1]}, {codes[2]} and {codes[3]}.")
    mark = "[REDACTED:recovery-code]"
    assert safe == f"backup codes: {mark}, {mark}, {mark} and {mark}."
    safe = without_secrets(f"The passwords are {made(1)} and {made(2)}")
    assert safe == "The passwords are [REDACTED:password] and [REDACTED:password]"


def test_a_long_hostile_sentence_ends() -> None:
    for part in ("pass", "login ", "pin ", "identified with ", "phrase: a", "a-", "root !1", "asked "):
        without_secrets(f"{part * 40_000}1")


def test_a_value_on_the_next_line_goes() -> None:
    assert without_secrets(f"Password:\n{made(4)}\nend") == "Password:\n[REDACTED:password]\nend"


@pytest.mark.parametrize("sentence", [line.strip() for line in (*HARMLESS, *MORE_HARMLESS)])
def test_a_sentence_about_passwords_stays(sentence: str) -> None:
    assert without_secrets(sentence) == sentence


def test_a_passphrase_of_words_goes_in_quotes() -> None:
    words = " ".join(("correct", "horse", "battery", "staple"))
    assert without_secrets(f'the passphrase is "{words}"') == 'the passphrase is "[REDACTED:password]"'
    assert "says to ask the operations team" in without_secrets('the password is "says to ask the operations team"')


def test_what_is_allowed_stays() -> None:
    sentence = f"the admin password is {made(1)}"
    assert without_secrets(sentence, [re.compile(re.escape(made(1)))]) == sentence


def test_a_memory_is_stored_without_it(notebook: Notebook) -> None:
    memory = Memories(notebook).add(f"the admin password is {made(2)}", tags=[f"password={made(3)}"]).memory
    assert memory.content == "the admin password is [REDACTED:password]"
    assert memory.tags == ("password=[REDACTED:password]",)
