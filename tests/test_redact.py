"""Redaction: secrets go, code stays readable, lines stay where they are. Every secret here is made at run time."""

from __future__ import annotations

import random
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import UsageError
from satchel.redact import redact

LETTERS = string.ascii_letters
ALNUM = string.ascii_letters + string.digits
CAPITALS = string.ascii_uppercase + "234567"
HEX = "0123456789abcdef"
WORD = ALNUM + "-_"
BASE64 = ALNUM + "+/"


def made(alphabet: str, length: int, seed: int = 7) -> str:
    """A value such as a generator would give, with at least one digit and one letter where the alphabet has both."""
    values = random.Random(seed)
    while True:
        value = "".join(values.choice(alphabet) for _ in range(length))
        if value[0] not in "-_" and (alphabet == LETTERS or not (value.isalpha() or value.isdigit())):
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
    "discord-webhook": "https://discord.com/api/webhooks/" + made(string.digits + "1", 18) + "/" + made(WORD, 68)
    if False
    else "https://discord.com/api/webhooks/" + "123456789" * 2 + "/" + made(WORD, 68),
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
    "slack-token": "xoxb-" + made(string.digits[1:] + "a", 12, 3).replace("a", "1") + "-" + made(ALNUM, 24),
    "slack-webhook": "https://hooks.slack.com/services/T" + made(CAPITALS, 8) + "/B" + made(CAPITALS, 8) + "/" + made(ALNUM, 24),
    "square-token": "sq0atp-" + made(WORD, 22),
    "stripe-key": "sk_live_" + made(ALNUM, 24),
    "stripe-key restricted": "rk_test_" + made(ALNUM, 99),
    "stripe-webhook-secret": "whsec_" + made(BASE64, 44),
    "supabase-token": "sbp_" + made(HEX, 40),
    "telegram-token": "12345678" + ":AA" + made(WORD, 33),
    "terraform-token": made(ALNUM, 14) + ".atlasv1." + made(WORD, 67),
    "twilio-key": "SK" + made(HEX, 32),
    "vault-token": "hvs." + made(WORD, 90),
    "xai-key": "xai-" + made(ALNUM, 80),
}
