"""Special tokens by name, and where Kimi's rank files place them (K3's released configuration)."""

BOS = "[BOS]"
EOS = "[EOS]"
MEDIA_BEGIN = "<|media_begin|>"
MEDIA_CONTENT = "<|media_content|>"
MEDIA_END = "<|media_end|>"
MEDIA_PAD = "<|media_pad|>"
PAD = "[PAD]"

SPECIALS: tuple[str, ...] = (
    BOS,
    EOS,
    "<|end_of_msg|>",
    "<|open|>",
    "<|close|>",
    "<|sep|>",
    "[start_header_id]",
    "[end_header_id]",
    "[EOT]",
    MEDIA_BEGIN,
    MEDIA_CONTENT,
    MEDIA_END,
    MEDIA_PAD,
    "[UNK]",
    PAD,
)

# Ids above the last rank, in the released file: 163 584 ranks, 256 places for specials, 163 840 ids.
RESERVED = 256
KIMI_RANKS = 163584
KIMI_PLACES: dict[str, int] = {
    BOS: 163584,
    EOS: 163585,
    "<|end_of_msg|>": 163586,
    "<|open|>": 163587,
    "<|close|>": 163588,
    "<|sep|>": 163589,
    "[start_header_id]": 163590,
    "[end_header_id]": 163591,
    "[EOT]": 163593,
    MEDIA_BEGIN: 163602,
    MEDIA_CONTENT: 163603,
    MEDIA_END: 163604,
    MEDIA_PAD: 163605,
    "<osagent_mode>": 163649,
    "[UNK]": 163838,
    PAD: 163839,
}


def kimi_names(ranks: int) -> list[str]:
    """Names of the 256 ids above `ranks` ranks, in order; places unnamed in the release are `<|reserved_N|>`."""
    placed = {place - KIMI_RANKS: name for name, place in KIMI_PLACES.items()}
    return [placed.get(place, f"<|reserved_{ranks + place}|>") for place in range(RESERVED)]
