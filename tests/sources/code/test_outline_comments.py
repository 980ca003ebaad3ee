"""The first sentence of a doc comment."""

from __future__ import annotations

import pytest

from satchel.sources.code.outline import MAX_SUMMARY, of_comment, of_docstring


@pytest.mark.parametrize(
    ("literal", "summary"),
    [
        ('"""One. Two."""', "One."),
        ("'''\n    One\n    goes on\n\n    Two\n    '''", "One goes on"),
        ('r"""Raw text!"""', "Raw text!"),
        ('"single"', "single"),
        ('""""Quoted" word."""', '"Quoted" word.'),
        ('"""Uses e.g. this, i.e. that. Next."""', "Uses e.g. this, i.e. that."),
        ('"""Version 1.2.3 of a.b.c. Next."""', "Version 1.2.3 of a.b.c."),
        ('"""Sum\n    :param a: b\n    """', "Sum"),
        ('"""Sum\n\n    Args:\n        a: b\n    """', "Sum"),
        ('""""""', ""),
    ],
)
def test_a_doc_string_says(literal: str, summary: str) -> None:
    assert of_docstring(literal) == summary


@pytest.mark.parametrize(
    ("comment", "summary"),
    [
        ("/**\n * Adds two. Really.\n * @param a\n */", "Adds two."),
        ("/** One line */", "One line"),
        ("/// Rust. More.", "Rust."),
        ("//! Inner", "Inner"),
        ("// Go says\n// more. Done.", "Go says more."),
        ("# ruby", "ruby"),
        ("#!/bin/sh\n# Deploys.", "Deploys."),
        ("-- lua", "lua"),
        ("/// <summary>\n/// A shape. With sides.\n/// </summary>", "A shape."),
        ("# ------\n# Helpers\n# ------", "Helpers"),
        ("// eslint-disable-next-line\n// Why", "Why"),
        ("//go:generate x", ""),
        ("/* * */", ""),
        ("// @param a", ""),
    ],
)
def test_a_comment_says(comment: str, summary: str) -> None:
    assert of_comment(comment.split("\n")) == summary


def test_a_long_sentence_is_cut_at_a_word() -> None:
    summary = of_comment(["// " + "word " * 100])
    assert len(summary) <= MAX_SUMMARY
    assert summary.endswith("word...")
