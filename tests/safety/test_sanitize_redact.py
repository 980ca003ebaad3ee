"""Redaction: secrets go, code stays readable, lines stay where they are. Every secret here is made at run time."""

from __future__ import annotations

import random
import re
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import UsageError
from satchel.safety.sanitize import counted_text, counted_texts, line, lines, redact

LETTERS = string.ascii_letters
ALNUM = string.ascii_letters + string.digits
CAPITALS = string.ascii_uppercase + "234567"
DIGITS = string.digits
HEX = DIGITS + "abcdef"
WORD = ALNUM + "-_"
BASE64 = ALNUM + "+/"


def made(alphabet: str, length: int, seed: int = 7) -> str:
    """A value such as a generator would give, with at least one digit and one letter where the alphabet has both."""
    values = random.Random(seed)
    while True:
        value = "".join(values.choice(alphabet) for _ in range(length))
        if value[0] not in "-_" and (alphabet in (LETTERS, DIGITS) or not (value.isalpha() or value.isdigit())):
            return value


TOKENS = {
    "adafruit-key": "aio_" + made(ALNUM, 28),
    "age-key": "AGE-SECRET-KEY-1" + made(CAPITALS, 58),
    "airtable-token": "pat" + made(ALNUM, 14) + "." + made(HEX, 64),
    "anthropic-key": "sk-ant-api03-" + made(WORD, 95),
    "atlassian-token": "ATATT3" + made(WORD, 180) + "=" + made(HEX, 8),
    "aws-access-key": "AKIA" + made(CAPITALS, 16),
    "aws-access-key temporary": "ASIA" + made(CAPITALS, 16),
    "aws-bedrock-key": "ABSK" + made(BASE64, 128),
    "azure-client-secret": made(ALNUM, 3) + "8Q~" + made(ALNUM, 34),
    "azure-devops-token": made(ALNUM, 75) + "AZDO" + made(ALNUM, 4),
    "azure-key": "AccountKey=" + made(BASE64, 86) + "==",
    "azure-key shared": "SharedAccessKey=" + made(BASE64, 43) + "=",
    "brevo-key": "xkeysib-" + made(HEX, 64) + "-" + made(ALNUM, 16),
    "digitalocean-token": "dop_v1_" + made(HEX, 64),
    "discord-token": "M" + made(WORD, 23) + "." + made(ALNUM, 6) + "." + made(WORD, 38),
    "teams-webhook": "https://a.webhook.office.com/webhookb2/"
    + "/".join((f"{made(HEX, 36)}@{made(HEX, 36)}", "IncomingWebhook", made(HEX, 32), made(HEX, 36))),
    "discord-webhook": "https://discord.com/api/webhooks/" + made(DIGITS, 18) + "/" + made(WORD, 68),
    "docker-token": "dckr_pat_" + made(WORD, 27),
    "doppler-token": "dp.st." + made(ALNUM, 43),
    "dropbox-token": "sl." + made(WORD, 140),
    "easypost-key": "EZAK" + made(ALNUM, 54),
    "figma-token": "figd_" + made(WORD, 43),
    "fly-token": "fo1_" + made(WORD, 43),
    "github-token": "ghp_" + made(ALNUM, 36),
    "github-token fine grained": "github_pat_" + made(ALNUM, 22) + "_" + made(ALNUM, 59),
    "gitlab-token": "glpat-" + made(WORD, 20),
    "google-api-key": "AIza" + made(WORD, 35),
    "google-oauth-secret": "GOCSPX-" + made(WORD, 28),
    "google-oauth-token": "ya29." + made(WORD, 100),
    "grafana-token": "glsa_" + made(ALNUM, 32) + "_" + made(HEX, 8),
    "groq-key": "gsk_" + made(ALNUM, 52),
    "heroku-key": "HRKU-" + made(WORD, 60),
    "huggingface-token": "hf_" + made(LETTERS, 34),
    "json-web-token": "eyJ" + made(WORD, 33) + ".eyJ" + made(WORD, 40) + "." + made(WORD, 43),
    "linear-key": "lin_api_" + made(ALNUM, 40),
    "mailgun-key": "key-" + made(HEX, 32),
    "newrelic-key": "NRAK-" + made(CAPITALS, 27),
    "notion-token": "ntn_" + made(ALNUM, 46),
    "npm-token": "npm_" + made(ALNUM, 36),
    "openai-key": "sk-proj-" + made(WORD, 120),
    "openai-key plain": "sk-" + made(ALNUM, 48),
    "openrouter-key": "sk-or-v1-" + made(HEX, 64),
    "perplexity-key": "pplx-" + made(ALNUM, 48),
    "planetscale-token": "pscale_tkn_" + made(WORD, 43),
    "postman-key": "PMAK-" + made(HEX, 24) + "-" + made(HEX, 34),
    "pulumi-token": "pul-" + made(HEX, 40),
    "pypi-token": "pypi-AgEIcHlwaS5vcmc" + made(WORD, 150),
    "replicate-token": "r8_" + made(ALNUM, 37),
    "rubygems-key": "rubygems_" + made(HEX, 48),
    "sendgrid-key": "SG." + made(WORD, 22) + "." + made(WORD, 43),
    "sentry-token": "sntrys_" + made(BASE64, 100),
    "shopify-token": "shpat_" + made(HEX, 32),
    "slack-token": "xoxb-" + made(DIGITS, 12) + "-" + made(DIGITS, 12) + "-" + made(ALNUM, 24),
    "slack-webhook": "https://hooks.slack.com/services/T" + made(CAPITALS, 8) + "/" + made(ALNUM, 24),
    "square-token": "sq0atp-" + made(WORD, 22),
    "stripe-key": "sk_live_" + made(ALNUM, 24),
    "stripe-key restricted": "rk_test_" + made(ALNUM, 99),
    "stripe-webhook-secret": "whsec_" + made(BASE64, 44),
    "supabase-token": "sbp_" + made(HEX, 40),
    "telegram-token": made(DIGITS, 8) + ":AA" + made(WORD, 33),
    "terraform-token": made(ALNUM, 14) + ".atlasv1." + made(WORD, 67),
    "twilio-key": "SK" + made(HEX, 32),
    "vault-token": "hvs." + made(WORD, 90),
    "1password-token": "ops_eyJ" + made(BASE64, 250),
    "alibaba-key": "LTAI" + made(ALNUM, 20),
    "artifactory-token": "AKCp8" + made(ALNUM, 68),
    "aws-mws-key": "amzn.mws." + "-".join(made(HEX, length) for length in (8, 4, 4, 4, 12)),
    "buildkite-token": "bkua_" + made(HEX, 40),
    "circleci-token": "CCIPAT_" + made(ALNUM, 22) + "_" + made(HEX, 40),
    "clojars-token": "CLOJARS_" + made(HEX, 60),
    "contentful-token": "CFPAT-" + made(WORD, 43),
    "databricks-token": "dapi" + made(HEX, 32),
    "duffel-token": "duffel_live_" + made(WORD, 43),
    "dynatrace-token": "dt0c01." + made(CAPITALS, 24) + "." + made(CAPITALS, 64),
    "facebook-token": "EAA" + made(ALNUM, 160),
    "langsmith-key": "lsv2_pt_" + made(HEX, 32) + "_" + made(HEX, 10),
    "mailchimp-key": made(HEX, 32) + "-us12",
    "mapbox-token": "sk.eyJ" + made(ALNUM, 60) + "." + made(WORD, 22),
    "netlify-token": "nfp_" + made(ALNUM, 36),
    "nuget-key": "oy2" + made(DIGITS + "abcdefghijklmnopqrstuvwxyz", 43),
    "prefect-key": "pnu_" + made(ALNUM, 36),
    "readme-key": "rdme_" + made(DIGITS + "abcdefghijklmnopqrstuvwxyz", 70),
    "shippo-token": "shippo_live_" + made(HEX, 40),
    "tailscale-key": "tskey-auth-" + made(ALNUM, 16) + "-" + made(ALNUM, 32),
    "typeform-token": "tfp_" + made(WORD, 40) + "_" + made(WORD, 16),
    "xai-key": "xai-" + made(ALNUM, 80),
    "firebase-key": "AAAA" + made(ALNUM, 7) + ":APA91b" + made(WORD, 134),
    "asana-token": "1/" + "12" * 8 + ":" + made(HEX, 32),
    "asana-token of two numbers": "2/" + "12" * 8 + "/" + "34" * 8 + ":" + made(HEX, 32),
    "password-hash of a web server": "$apr1$" + made(ALNUM, 8) + "$" + made(ALNUM, 22),
    "password-hash of bcrypt": "$2y$" + "05$" + made(ALNUM, 53),
    "password-hash of a system": "$6$" + made(ALNUM, 16) + "$" + made(ALNUM, 86),
    "password-hash of yescrypt": "$y$" + "j9T$" + made(ALNUM, 22) + "$" + made(ALNUM, 43),
}


@pytest.mark.parametrize(("name", "token"), TOKENS.items(), ids=TOKENS.keys())
def test_the_token_of_a_provider_is_replaced_by_its_type(name: str, token: str) -> None:
    kind = name.split()[0]
    text = f'x = connect("{token}")  # staging\n'
    redacted, counts = redact(text)
    assert counts == {kind: 1}
    assert f"[REDACTED:{kind}]" in redacted
    assert token not in redacted
    assert redacted.startswith("x = connect(")
    assert redacted.endswith("# staging\n")


@pytest.mark.parametrize(("name", "token"), TOKENS.items(), ids=TOKENS.keys())
def test_the_type_of_a_provider_wins_over_the_name_of_a_variable(name: str, token: str) -> None:
    redacted, counts = redact(f"export API_TOKEN='{token}'")
    assert counts == {name.split()[0]: 1}
    assert redacted.startswith("export API_TOKEN='")


@pytest.mark.parametrize("margin", ["\n" * 1_000, "\n" * 1_001, "é" + "\n" * 1_001])
def test_a_secret_is_found_at_any_place_of_a_long_text_as_in_a_short_one(margin: str) -> None:
    np.zeros(1)  # with numpy, a long text is first searched for pairs of letters
    texts = [*TOKENS.values(), *PLACES, *(form.replace("{}", value) for form, value, _ in ASSIGNMENTS.values())]
    found = [redact(margin + text) for text in texts]
    assert found == [(margin + redacted, counts) for redacted, counts in map(redact, texts)]
    assert all(counts for _, counts in found)


def test_there_are_at_least_forty_shapes_of_providers() -> None:
    assert len({name.split()[0] for name in TOKENS}) >= 40


PASSWORD = "Tr" + "0ub4dor" + "&3x"
KEY_ID = made(HEX, 40)
PLACES = (
    f"mysql -u root -p{PASSWORD[:9]} shop",
    f"mysqldump -h db.local -u app -p{PASSWORD[:9]} shop > dump.sql",
    f"sshpass -p '{PASSWORD[:9]}' ssh ada@host",
    f"localhost:5432:shop:app:{PASSWORD[:9]}",
)


@pytest.mark.parametrize("text", PLACES)
def test_a_password_in_a_command_or_in_a_line_of_pgpass_is_replaced(text: str) -> None:
    redacted, counts = redact(text)
    assert counts == {"password": 1}
    assert PASSWORD[:9] not in redacted
    assert redacted.replace("[REDACTED:password]", PASSWORD[:9]) == text


def test_the_id_of_a_google_key_is_replaced() -> None:
    text = '{"private_key_id": "%s"}'
    assert redact(text % KEY_ID)[0] == text % "[REDACTED:google-key-id]"


@pytest.mark.parametrize(
    "text",
    [
        *("mysql -u root -p shop1x", "cp -p file-name1 other", "mkdir -p build/Debug1x", "docker run -p 8080:80 nginx"),
        *("localhost:5432:postgres:postgres:postgres", "echo $1$2$3 $5$6", "sshpass -p password ssh host"),
        *(f"digest:{made(HEX, 32)}", '"private_key_id": "abc"', "mysql -prompt"),
    ],
)
def test_what_only_resembles_them_stays(text: str) -> None:
    assert redact(text) == (text, {})


SECRET = made(ALNUM, 32)
HEXADECIMAL = made(HEX, 32)

ASSIGNMENTS = {
    "python": ('password = "{}"', PASSWORD, "password"),
    "python with a type": ('password: str = "{}"', PASSWORD, "password"),
    "python bytes": ("SECRET_KEY = b'{}'", SECRET, "secret"),
    "keyword argument": ('connect(host, password="{}", port=5432)', PASSWORD, "password"),
    "wrapped": ('SECRET_KEY = (\n    "{}"\n)', SECRET, "secret"),
    "item": ('os.environ["GITHUB_TOKEN"] = "{}"', SECRET, "token"),
    "comparison": ('if token == "{}":', SECRET, "token"),
    "call with two arguments": ('os.environ.setdefault("CLIENT_SECRET", "{}")', SECRET, "secret"),
    "dictionary": ('{"db": {"passwd": "{}"}}', PASSWORD, "password"),
    "json in a string": ('"{\\"apiKey\\": \\"{}\\"}"', SECRET, "secret-key"),
    "javascript": ("const clientSecret = '{}';", SECRET, "secret"),
    "typescript": ("private apiKey: string = `{}`;", SECRET, "secret-key"),
    "rust": ('let auth_token: &\'static str = "{}";', SECRET, "token"),
    "go": ('accessToken := "{}"', SECRET, "token"),
    "c": ('#define API_TOKEN "{}"', SECRET, "token"),
    "php": ("'password' => '{}',", PASSWORD, "password"),
    "csharp": ('var cs = "Server=db;User=app;Password={};Encrypt=true";', "Tr0ub4dor!", "password"),
    "xml": ("<accessToken>{}</accessToken>", SECRET, "token"),
    "yaml": ("  secret_key: {}", SECRET, "secret"),
    "properties": ("aws.secret.access.key={}", made(BASE64, 40), "secret-key"),
    "environment file": ("export DB_PASSWORD={}", "Tr0ub4dor!", "password"),
    "environment file, aws": ("AWS_SECRET_ACCESS_KEY={}", made(BASE64, 40), "secret-key"),
    "hexadecimal": ("api_key: {}", HEXADECIMAL, "secret-key"),
    "base32": ("totp_secret = '{}'", made(CAPITALS, 32), "secret"),
    "suffix": ("PRIVATE_KEY_HEX = '{}'", made(HEX, 64), "secret-key"),
    "query": ("GET /items?access_token={}&page=2", SECRET, "token"),
    "header": ("Authorization: Bearer {}", SECRET, "authorization"),
    "header in a command": ("curl -H 'authorization: Basic {}' url", made(ALNUM, 24), "authorization"),
    "header in code": ('headers["Authorization"] = "Token {}"', SECRET, "authorization"),
    "header in capitals": ("AUTHORIZATION: BASIC {}", made(BASE64, 40), "authorization"),
    "header of git": ("extraheader = AUTHORIZATION: basic {}", made(BASE64, 60), "authorization"),
    "bare bearer": ("the client sent Bearer {} twice", SECRET, "authorization"),
    "environment file, pass": ("DB_PASS={}", "Tr0ub4dor!", "password"),
    "yaml, pass": ("smtp_pass: '{}'", PASSWORD, "password"),
    "passphrase": ('passphrase = "{}"', PASSWORD, "password"),
    "passphrase in capitals": ("GPG_PASSPHRASE={}", SECRET, "password"),
    "docker": ('"auths": {"registry.internal": {"auth": "{}"}}', made(BASE64, 40), "secret"),
    "cookies": ("Cookie: {}", f"lang=en; session={SECRET}; csrf={HEXADECIMAL}", "cookie"),
    "cookies of an answer": ("Set-Cookie: {}", f"sid={SECRET}; Path=/", "cookie"),
    "cookies in code": ('headers = {"Cookie": "{}"}', f"session={SECRET}", "cookie"),
    "curl": ("curl -s -u app:{} https://db.internal/_all", "Tr0ub4dor!", "password"),
    "curl, long": ("curl --user 'app:{}' https://db.internal/_all", "Tr0ub4dor!", "password"),
    "netrc": ("machine git.internal login app password {}", "s3cr3" + "tPa55", "password"),
    "netrc on lines": ("machine git.internal\n  login app\n  password {}\n", SECRET, "password"),
    "azure signature": ("https://a.blob.core/x?sv=2022&sig={}&se=2027", made(BASE64, 43) + "%3D", "azure-signature"),
    "url": ("postgres://app:{}@db.internal:5432/app", "s3cr3" + "tPa55", "url-password"),
    "url without a user": ("redis://:{}@cache:6379/0", SECRET, "url-password"),
}


@pytest.mark.parametrize(("frame", "value", "kind"), ASSIGNMENTS.values(), ids=ASSIGNMENTS.keys())
def test_only_the_value_of_an_assignment_is_replaced(frame: str, value: str, kind: str) -> None:
    before, after = frame.split("{}")
    assert redact(before + value + after) == (f"{before}[REDACTED:{kind}]{after}", {kind: 1})


READABLE = {
    "bearer of a name": "headers = f'Bearer {access_token_v2}'; Bearer authentication_scheme_1",
    "user of a container": "docker run -u 1000:1000 --user app:Group2Users image2go",
    "cookie of a name": "Cookie: name=value; theme=dark",
    "copy as a user": "rsync -u host:path/to/File2.txt .",
    "test that passes": "_pass = run_all_the_tests2(); 'pass': 'AllTestsPassed'",
    "auth of a name": '"auth": "oauth2-authorization-code"',
    "netrc without a secret": "machine example.org login me password hunter",
    "lookup in a form": 'password = request.form["password"]',
    "lookup in the environment": 'token = os.environ["GITHUB_TOKEN_2024_V1"]',
    "lookup with default": 'api_key = os.getenv("API_KEY", "")',
    "javascript environment": "const apiKey = process.env.OPENAI_API_KEY2;",
    "call": "password = make_password(length=32, seed=4)",
    "generated": "token = secrets.token_urlsafe(32)",
    "method": "secret = getSecretFromVault2(path)",
    "name": "token = refreshTokenFromStore2",
    "type": "def login(user: str, password: str | None = None) -> Token:",
    "optional type": "var password: Base64String?",
    "sentence": 'error("password: must contain 8 characters and 1 Digit!")',
    "label": 'password: "Password1"',
    "placeholder": 'password = "changeme"',
    "placeholder with kinds": 'password = "YourPassword123!"',
    "example": 'aws_key = "AKIA" "IOSFODNN7EXAMPLE"'.replace('" "', ""),
    "stars": 'token = "********************"',
    "exes": "GITHUB_TOKEN=ghp_" + "x" * 36,
    "zeros": "OPENAI_KEY=sk-" + "0" * 48,
    "angle brackets": 'api_key = "<your-api-key-v2>"',
    "template": "token: ${{ secrets.GITHUB_TOKEN_V2 }}",
    "shell variable": 'password="${DB_PASSWORD_V1}"',
    "format": 'password = "{settings.db_Pass1}"',
    "percent": 'password = "%(db_Password1)s"',
    "test value": 'token = "test-token-1A2b3C4d5E6f7G8h"',
    "path": 'private_key = "/run/secrets/App1/key.pem"',
    "link": 'token_url = "https://example.org/oauth2/v1/token"',
    "pattern": 'password = "[A-Za-z0-9]{8}"',
    "git hash": f"commit {made(HEX, 40)}",
    "checksum in a lock file": f'"integrity": "sha512-{made(BASE64, 86)}=="',
    "checksum": f'sha256 = "{made(HEX, 64)}"',
    "pinned action": f"uses: actions/checkout@{made(HEX, 40)}",
    "identifier": 'request_id = "f47ac10b-58cc-4372-a567-0e02b2c3d479"',
    "cache key": 'key = "v1-linux-3f786850e387550fdab836ed7e6dc881"',
    "public key token": f'publicKeyToken="{made(HEX, 16)}"',
    "page of a list": f'"NextToken": "{made(BASE64, 60)}"',
    "model name": '("GEMINI_API_KEY", "gemini/gemini-2.5-pro-exp-03-25")',
    "count": "max_tokens: 4000, token_count=1234567890123456",
    "tokenizer": 'tokenizer = "o200k_base_v2_2024A1b2"',
    "names of tests": "def test_password_is_hashed_with_sha256_and_16_rounds() -> None: ...",
    "kebab case": "class='sk-fading-circle1 sk-circle12-fade-in'",
    "snake case": "npm_config_registry_for_all_packages_in_this_workspace = 1",
    "url of a user": "git+ssh://git@host/path.git",
    "url with a port": "http://localhost:8080/a@b",
    "url with a default password": "postgres://postgres:postgres@localhost/db",
    "url with a word": "amqp://guest:guest@rabbit/ and ftp://user:password@host",
    "url with a variable": "https://user:${TOKEN1}@host and https://{user}:{pw}@host",
    "mention of a key block": 'if text.startswith("-----BEGIN RSA PRIVATE KEY-----"):',
    "short documented key": "-----BEGIN PRIVATE KEY-----\nMIIE...\n-----END PRIVATE KEY-----",
    "certificate": f"-----BEGIN CERTIFICATE-----\n{made(BASE64, 64)}\n-----END CERTIFICATE-----",
    "minified": 'a("token: "+(0,y.parseErrorMessage2)(e)),b("x")',
}


@pytest.mark.parametrize("text", READABLE.values(), ids=READABLE.keys())
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == (text, {})


def key_block(kind: str = "RSA PRIVATE KEY", lines: int = 12, *, end: bool = True) -> list[str]:
    body = [made(BASE64, 64, seed) for seed in range(lines)]
    return [f"-----BEGIN {kind}-----", *body, *([f"-----END {kind}-----"] if end else [])]


@pytest.mark.parametrize(
    "kind",
    ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"],
)
def test_a_private_key_leaves_as_many_lines_as_it_had(kind: str) -> None:
    block = key_block(kind)
    redacted, counts = redact("\n".join(["before", *block, "after"]))
    assert counts == {"private-key": 1}
    assert redacted.split("\n") == ["before", "[REDACTED:private-key]", *[""] * (len(block) - 1), "after"]


def test_a_private_key_with_headers_goes_as_a_whole() -> None:
    begin, *rest = key_block()
    redacted, _ = redact("\n".join([begin, "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,ABCDEF", "", *rest]))
    assert redacted.strip() == "[REDACTED:private-key]"


def test_the_private_lines_of_a_putty_key_go() -> None:
    key = ["Private-Lines: 3", *(made(BASE64, 64, seed) for seed in (1, 2)), made(BASE64, 30) + "==", "Private-MAC: 0"]
    redacted, counts = redact("\n".join(key))
    assert counts == {"private-key": 1}
    assert redacted.split("\n") == ["Private-Lines: 3", "[REDACTED:private-key]", "", "", "Private-MAC: 0"]


def test_a_private_key_without_an_end_goes_as_far_as_it_looks_like_one() -> None:
    redacted, _ = redact("\n".join([*key_block(lines=4, end=False), "def f(): ..."]))
    assert redacted == "[REDACTED:private-key]\n\n\n\n\ndef f(): ..."


def test_a_private_key_on_one_line_goes() -> None:
    redacted, _ = redact('{"private_key": "' + "\\n".join(key_block()) + '\\n"}')
    assert redacted == '{"private_key": "[REDACTED:private-key]\\n"}'


def test_a_private_key_written_as_lines_of_code_goes() -> None:
    redacted, counts = redact("KEY = (\n" + "\n".join(f'    "{line}\\n"' for line in key_block(lines=3)) + "\n)\n")
    assert counts == {"private-key": 1}
    assert redacted.count("\n") == 7
    assert not re.search(r"[A-Za-z0-9+/]{30}", redacted)


@pytest.mark.parametrize("comment", ["# pragma: allowlist secret", "// satchel:allow-secret", "# gitleaks:allow"])
def test_a_comment_exempts_its_own_line_and_no_other(comment: str) -> None:
    line = f'password = "{PASSWORD}"'
    text = f"{line}\n{line}  {comment}\n{line}\n"
    redacted, counts = redact(text)
    assert counts == {"password": 2}
    assert redacted.split("\n")[1] == f"{line}  {comment}"


def test_a_comment_can_exempt_the_next_line() -> None:
    text = f'# pragma: allowlist nextline secret\npassword = "{PASSWORD}"\npassword = "{PASSWORD}"'
    assert redact(text)[0].split("\n")[1:] == [f'password = "{PASSWORD}"', 'password = "[REDACTED:password]"']


def test_an_allowed_pattern_keeps_the_secret_in_which_it_is_found() -> None:
    text = f'token = "{SECRET}"\napi_key = "{HEXADECIMAL}"\n'
    redacted, counts = redact(text, allow=[f"^{SECRET[:6]}"])
    assert counts == {"secret-key": 1}
    assert SECRET in redacted


def test_an_allowed_pattern_that_is_none_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"'\(' is not a regular expression"):
        redact("x", allow=["("])


def test_counts_name_every_type_in_order() -> None:
    text = f'{TOKENS["npm-token"]} {TOKENS["github-token"]} password="{PASSWORD}" {TOKENS["npm-token"]}'
    assert list(redact(text)[1].items()) == [("github-token", 1), ("npm-token", 2), ("password", 1)]


def test_a_text_without_secrets_is_returned_without_a_copy() -> None:
    text = "def token(self) -> str: ...\n" * 10
    assert redact(text)[0] is text


FRAGMENTS = [
    *(
        "password",
        "token",
        "api_key",
        "Authorization",
        "secret",
        "=",
        ": ",
        " = ",
        '"',
        "'",
        "\n",
        " ",
        "\\n",
        "(",
        ",",
        "Bearer ",
    ),
    *(
        "://",
        "user:",
        "@host",
        "eyJ",
        ".",
        "-",
        "_",
        "ghp_",
        "sk-",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
    ),
    *(
        "# pragma: allowlist secret",
        "[REDACTED:token]",
        "é",
        "\ud800",
        "AKIA",
        SECRET,
        HEXADECIMAL,
        PASSWORD,
        made(BASE64, 64),
    ),
]


@given(parts=st.lists(st.sampled_from(FRAGMENTS), max_size=30))
def test_lines_stay_and_doing_it_twice_changes_nothing_more(parts: list[str]) -> None:
    text = "".join(parts)
    redacted, _ = redact(text)
    assert redacted.count("\n") == text.count("\n")
    assert redact(redacted) == (redacted, {})


@given(texts=st.lists(st.lists(st.sampled_from(FRAGMENTS), max_size=6).map("".join), max_size=40))
def test_texts_that_are_checked_together_come_out_as_each_alone(texts: list[str]) -> None:
    assert counted_texts(texts) == [counted_text(text) for text in texts]
    assert lines(texts) == [line(text) for text in texts]


@pytest.mark.parametrize(
    "before", ["next", "pragma: allowlist nextline secret", "-----BEGIN RSA PRIVATE KEY-----", "password =", "api"]
)
def test_a_text_before_it_does_not_hide_a_secret(before: str) -> None:
    texts = [before, "token = 'ab3dEf6hIj9kLm2nOp5q'", "key = 'Zx9Yw8Vu7Ts6Rq5Po4Nm3'"]
    assert counted_texts(texts) == [counted_text(text) for text in texts]
    assert counted_texts(texts)[1][1] == {"redacted": 1}


@given(before=st.text(max_size=20), after=st.text(max_size=20))
def test_a_token_is_found_in_any_surroundings_that_do_not_prolong_it(before: str, after: str) -> None:
    token = TOKENS["github-token"]
    redacted, _ = redact(f"{before} {token} {after}")
    assert token not in redacted


@pytest.mark.parametrize(
    "part",
    [
        "eyJ",
        "eyJaaaaaaaaaa.",
        "token=",
        "token='",
        "http://a:",
        "-----BEGIN PRIVATE KEY-----\nAAAA",
        "_A1b2C3d4E5f6G7h8",
        "-",
        "curl -u a:",
        "Cookie: a=b;",
        "a=b; ",
        "machine a login b password ",
        "Bearer ",
    ],
)
def test_a_long_hostile_line_ends(part: str) -> None:
    """Each of these was slow with some earlier expression; a quadratic one would not end within the test run."""
    text = part * (200_000 // len(part))
    assert redact(text)[0].count("\n") == text.count("\n")
