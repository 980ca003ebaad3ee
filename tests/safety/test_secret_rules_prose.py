"""Secrets in sentences go, in many languages; sentences about secrets stay. Every secret here is made at run time."""

from __future__ import annotations

import random
import re

import pytest

from satchel.memory.memories import Memories
from satchel.memory.scope import Notebook
from satchel.safety.secret_rules import without_secrets
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


@pytest.mark.parametrize("sentence", [line.strip() for line in HARMLESS])
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
