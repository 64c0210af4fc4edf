"""What a composed page looks like as a whole: colours, letters, corners, room, and how its classes are named."""

import msgspec

from trivium.data.longcontext.dice import Dice

ACCENTS = {
    "indigo": ("#4f46e5", "#eef2ff"), "blue": ("#2563eb", "#eff6ff"), "sky": ("#0284c7", "#f0f9ff"),
    "teal": ("#0d9488", "#f0fdfa"), "green": ("#16a34a", "#f0fdf4"), "lime": ("#4d7c0f", "#f7fee7"),
    "amber": ("#b45309", "#fffbeb"), "orange": ("#ea580c", "#fff7ed"), "red": ("#dc2626", "#fef2f2"),
    "rose": ("#e11d48", "#fff1f2"), "fuchsia": ("#c026d3", "#fdf4ff"), "violet": ("#7c3aed", "#f5f3ff"),
    "slate": ("#334155", "#f1f5f9"), "brown": ("#78350f", "#fdf8f0"),
}  # fmt: skip
# Page, surface, line, words, quiet words.
_LIGHT = {
    "white": ("#ffffff", "#ffffff", "#e5e7eb", "#111827", "#6b7280"),
    "paper": ("#faf7f2", "#ffffff", "#e7e0d5", "#292524", "#78716c"),
    "cool": ("#f3f4f6", "#ffffff", "#e2e8f0", "#0f172a", "#64748b"),
    "mint": ("#f4faf7", "#ffffff", "#d7e8df", "#10241b", "#5b7266"),
}
_DARK = {
    "night": ("#0b1120", "#151d2f", "#26324a", "#e6ebf5", "#94a3b8"),
    "coal": ("#121212", "#1e1e1e", "#333333", "#f2f2f2", "#a3a3a3"),
    "plum": ("#17111f", "#221a2e", "#3a2d4b", "#f1eaf8", "#b3a4c4"),
}
_LETTERS = {
    "sans": ('"Noto Sans", sans-serif', '"Noto Sans", sans-serif'),
    "arial": ("Arial, Helvetica, sans-serif", "Arial, Helvetica, sans-serif"),
    "dejavu": ('"DejaVu Sans", Verdana, sans-serif', '"DejaVu Sans", Verdana, sans-serif'),
    "book": ('"Noto Serif", serif', '"Noto Serif", serif'),
    "mixed": ('"Noto Sans", sans-serif', '"Noto Serif", serif'),
    "times": ("Arial, Helvetica, sans-serif", '"Times New Roman", Times, serif'),
    "mono": ('"Noto Sans", sans-serif', '"DejaVu Sans Mono", monospace'),
}


class Theme(msgspec.Struct, frozen=True, kw_only=True):
    """Colours as #rrggbb, lengths in pixels. `series` are the colours of charts."""

    dark: bool
    accent: str
    soft: str  # a ground that the accent can stand on
    on_accent: str
    page: str
    surface: str
    line: str
    words: str
    quiet: str
    text_font: str
    head_font: str
    radius: int
    gap: int
    shadow: str
    joint: str  # between the parts of a class's name
    heavy: int  # weight of headings
    series: tuple[str, ...]

    def name(self, *parts: str) -> str:
        """A class: `card-title`, `card__title` or `cardTitle`."""
        if self.joint:
            return self.joint.join(parts)
        return parts[0] + "".join(part.capitalize() for part in parts[1:])


def theme(dice: Dice) -> Theme:
    dark = dice.share() < 0.3
    accent, soft = ACCENTS[dice.pick(sorted(ACCENTS))]
    others = dice.sample([color for color, _ in ACCENTS.values() if color != accent], 4)
    page, surface, line, words, quiet = (_DARK if dark else _LIGHT)[dice.pick(sorted(_DARK if dark else _LIGHT))]
    text_font, head_font = _LETTERS[dice.pick(sorted(_LETTERS))]
    if dark:
        accent = mixed(accent, "#ffffff", 0.72)
        soft = mixed(accent, surface, 0.22)
        others = [mixed(color, "#ffffff", 0.75) for color in others]
    return Theme(
        dark=dark,
        accent=accent,
        soft=soft,
        on_accent="#ffffff" if _light(accent) < 0.6 else "#111111",
        page=page,
        surface=surface,
        line=line,
        words=words,
        quiet=quiet,
        text_font=text_font,
        head_font=head_font,
        radius=dice.pick((0, 4, 8, 8, 12, 16)),
        gap=dice.pick((16, 20, 24, 28)),
        shadow=dice.pick(("none", "0 1px 3px rgba(0, 0, 0, 0.12)", "0 6px 20px rgba(0, 0, 0, 0.08)")),
        joint=dice.pick(("-", "-", "__", "")),
        heavy=dice.pick((500, 600, 700, 700, 800)),
        series=(accent, *others),
    )


def mixed(color: str, other: str, share: float) -> str:
    """`share` of the first colour and the rest of the other."""
    pairs = zip(_channels(color), _channels(other), strict=True)
    return "#" + "".join(f"{round(one * share + two * (1 - share)):02x}" for one, two in pairs)


def _channels(color: str) -> tuple[int, ...]:
    return tuple(int(color[at : at + 2], 16) for at in (1, 3, 5))


def _light(color: str) -> float:
    red, green, blue = _channels(color)
    return (0.299 * red + 0.587 * green + 0.114 * blue) / 255
