"""Secrets of commands, statements and settings: where no sign stands before the value."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.errors import SatchelError
from satchel.safety.sanitize import prose, redact
from tests.e2e.sample import sample_repository
from tests.safety.test_sanitize_redact import ALNUM, HEX, made

SIGNS, LETTERS = "Tr0ub4dor" + "+Zk9q", "q7" + "Xk92LmPz4"
RANDOM, HASH, WORD = made(ALNUM, 40), made(HEX, 64), "kqzvn" + "wpltbdx"
KEY = json.dumps({"kty": "EC", "crv": "P-256", "x": made(ALNUM, 43, 3), "y": made(ALNUM, 43, 4), "d": RANDOM + "abc"})

COMMANDS = (
    f"deploy --password {SIGNS} --host db", f"deploy --password {LETTERS}", f"deploy --db-password {LETTERS}",
    f"tool --api-key {RANDOM}", f"tool --token {RANDOM}", f"tool --client-secret {RANDOM}",
    f"CREATE USER bob IDENTIFIED BY '{WORD}';", f"create user bob identified by '{WORD}';",
    f"ALTER USER bob IDENTIFIED WITH mysql_native_password BY '{LETTERS}';",
    f"docker login -u bob -p {SIGNS} registry.local", f"helm registry login -u bob -p {LETTERS} registry.local",
    f"mongosh -u bob -p {SIGNS}", f"redis-cli -h cache -a {SIGNS} ping", f"redis-cli --pass {LETTERS}",
    f"openssl enc -aes-256-cbc -pass pass:{SIGNS} -in f", f"openssl rsa -passin pass:{LETTERS} -in k",
    f"ldapsearch -x -D cn=admin -w {SIGNS} -b dc=x", f"htpasswd -b users bob {SIGNS}",
    f"wpa_passphrase home {LETTERS}", f"vault login {RANDOM}", f"echo x | gh auth login --with-token {RANDOM}",
    f"npm config set //registry.local/:_authToken {RANDOM}", f"aws configure set aws_secret_access_key {RANDOM}",
    f'<add key="ApiKey" value="{RANDOM}"/>', f'<add key="DbPassword" value="{SIGNS}" />', KEY,
    f"https://b.example/k?X-Amz-Credential=x&X-Amz-Signature={HASH}", f"https://b.example/k?X-Goog-Signature={HASH}",
    f'    psk="{LETTERS}"', f"psk={HASH}", f"machine h login bob password {WORD}", f"default login bob password {WORD}",
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_the_secret_of_a_command_is_redacted_in_code_and_in_what_is_remembered(command: str) -> None:
    for safe in (redact(command)[0], prose(command), redact(f"run:\n    {command}\n")[0]):
        assert "[REDACTED:" in safe
        assert not any(secret in safe for secret in (SIGNS, LETTERS, RANDOM, HASH, WORD, RANDOM + "abc"))


HARMLESS = """
deploy --password $DB_PASSWORD --host db
deploy --password "$(pass show db)"
deploy --password-stdin < file
use --password to give one
the option --token takes the value of the environment
--token TOKEN  the token to send
--api-key KEY  where KEY is yours
--secret-key-file keys/prod2.pem
--private-key ~/.ssh/id_ed25519
--access-key-id is documented below
--max-tokens 4000Tokens1
--next-token eyJhIjoxfQabcdef0123456789
--change-token 12cs345-67cd-890b-1cd2-c3a4567d89f1
--tokenizer o200k_base2
--key-size 4096Bits
a password consists of eight characters
the password field1 is required
password manager2024 is a program
password reset2024 page
set password policy2 in the settings
git config set user.signingkey ABCD
npm config set registry https://registry.example.org/abc1
set token lifetime 3600Seconds
mkdir -p build/Release64
cp -p Makefile2 other
docker run -p 8080:8080Port image
docker build -p x1y2z3w4
ssh -p 2222Port host
redis-cli -h cache -p 6379
redis-cli --pass $REDIS_PASSWORD
redis-cli -a "$PASSWORD" ping
openssl enc -pass env:PASSWORD1
openssl enc -pass file:secret2.txt
pass:Through1 is a label here
openssl x509 -in cert2024.pem
ldapsearch -x -w "$LDAP_PASSWORD"
ldapsearch -x -W -D cn=admin
htpasswd -c users bob
htpasswd -b users bob "$PASSWORD"
vault login -method=userpass
vault login to see more
gh auth login --with-token < token.txt
identified by 'name' or by 'number'
Load a dynamic library identified by 'name'
a user is identified by "email" and id
IDENTIFIED BY 'password'
IDENTIFIED BY '<your password>'
IDENTIFIED BY '${PASSWORD}'
CREATE USER bob IDENTIFIED BY ?
IDENTIFIED VIA unix_socket
<add key="ApiKey" value="#{ApiKey}#"/>
<add key="ApiKey" value="your-key-here"/>
<add key="PageSize" value="1024Lines4"/>
<add key="TokenLifetime" value="3600"/>
<input name="password" value="">
<option key="a" value="Tokyo2020">Tokyo</option>
{"d": "M12 2C6 2 2 6 2 12s4 10 10 10"}
{"d": "0123456789abcdef0123456789abcdef", "p": "x"}
{"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"}
"k": 10, "p": 0.95
the X-Amz-Signature= parameter is computed last
X-Amz-Signature=<signature>
psk = None
psk: the pre-shared key of a connection
pskov = "Region77"
wpa_passphrase SSID passphrase
machine learning and login forms
machine example.org login USER password PASSWORD
the login name and password follow
Users log in with a token that expires after 15 minutes
The password hash uses argon2id with 64MB
The key of the cache is user:1234:Profile2
A token bucket with 100 tokens per second
Rotate the api-key every 90 days
The secret is kept in the vault of team2
Tokens are counted with o200k_base
The cookie banner2 is shown once
Set the key up in Settings2
Ask ann for the credentials of staging2
The pass rate rose to 98percent
We pass options2 along to the child
Compass2 and passport2 are products
Secretary2 of the board
Monkey2See is a joke
keyboard Layout2 settings
turkey Roast2024 recipe
The author token2 in the header is the id of the author
authToken expiry2 is checked on each call
accessKey rotation2 runs on Mondays
privateKey format2 is PEM
tokenized Words2 are counted
secretName prod2 of the chart
kubectl get secret web2tls
kubectl create secret generic web2tls
passwd -l bob2user
login bob from host2name
curl -u bob https://host2.example/x
mysql -p shop2024
mysqldump -h host2 shop2024
sshpass -e ssh host2name
mongodump -p 27017Port
az login --identity
docker login registry2.example.org
podman login -u bob registry2.example.org
""".strip().splitlines()


def test_of_a_hundred_harmless_lines_at_most_one_is_changed() -> None:
    assert len(HARMLESS) >= 100
    changed = [line for line in HARMLESS if redact(line)[0] != line]
    assert len(changed) <= 1, changed


@pytest.mark.parametrize("name", ["include", "exclude", "names"])
@pytest.mark.parametrize(
    "said", [f"password: {SIGNS}", f"the admin password is {SIGNS}", f"deploy --password {LETTERS}"]
)
def test_a_secret_that_is_refused_as_an_argument_is_not_quoted_back(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    arguments = {name: [said]}
    with Satchel.open(sample_repository(tmp_path / "shop").root) as satchel:
        answer = satchel.assemble("where is the backoff", **arguments)  # type: ignore[arg-type]
    for text in (answer.text, *map(str, answer.failures)):
        assert SIGNS not in text
        assert LETTERS not in text


def test_no_error_quotes_a_secret_of_a_sentence() -> None:
    assert SIGNS not in str(SatchelError(f"there is no handle 'the admin password is {SIGNS}'"))
