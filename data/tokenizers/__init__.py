"""Tokenizers: byte-level BPE of our own and tiktoken rank files; the layout of a document as tokens."""

from trivium.data.tokenizers.layout import (
    ClipSpan,
    ImageSpan,
    TokenizedDocument,
    join_tokens,
    split_tokens,
    tokenize_document,
)
from trivium.data.tokenizers.special import SPECIALS
from trivium.data.tokenizers.tokenizer import Tokenizer

__all__ = [
    "SPECIALS",
    "ClipSpan",
    "ImageSpan",
    "TokenizedDocument",
    "Tokenizer",
    "join_tokens",
    "split_tokens",
    "tokenize_document",
]
