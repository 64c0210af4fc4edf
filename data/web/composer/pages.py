"""The kinds of pages that are composed."""

from collections.abc import Callable
from typing import Literal

import msgspec

from trivium.data.config import Strict
from trivium.data.longcontext.dice import Dice
from trivium.data.web import phrases
from trivium.data.web.composer import blocks, charts, panels
from trivium.data.web.composer.theme import theme
from trivium.data.web.composer.writer import Sketch, document, tag, words

Kind = Literal[
    "landing", "dashboard", "article", "settings", "shop", "pricing", "report", "profile", "board", "sign_in"
]


_WEIGHTS: dict[Kind, float] = {"landing": 3, "dashboard": 3, "article": 2, "settings": 1, "shop": 2}
_WEIGHTS |= {"pricing": 1, "report": 2, "profile": 1, "board": 1, "sign_in": 1}


class ComposeRules(Strict, frozen=True, kw_only=True):
    """How often each kind of page is composed, as weights."""

    kinds: dict[Kind, float] = msgspec.field(default_factory=lambda: dict(_WEIGHTS))  # weight by kind


def compose(seed: int, index: int, rules: ComposeRules) -> tuple[str, str]:
    """Page number `index` as HTML, and its title; a pure function of its arguments."""
    dice = Dice("page", seed, index)
    kind = dice.weighted(rules.kinds)
    sketch = Sketch(theme(dice), dice)
    blocks.base(sketch)
    title, brand = dice.sample(phrases.TITLES, 2)
    inside = _KINDS[kind](sketch, title, brand)
    return document(sketch, title, *inside), title


def _landing(sketch: Sketch, title: str, brand: str) -> list[str]:
    dice = sketch.dice
    options: list[Callable[[Sketch], str]] = [
        panels.features,
        panels.gallery,
        panels.prices,
        panels.quote,
        panels.figures,
    ]
    chosen = dice.sample(options, dice.between(2, 3))
    heads = dice.sample(phrases.TITLES, len(chosen))
    parts = [blocks.section(sketch, head, make(sketch)) for head, make in zip(heads, chosen, strict=True)]
    return [blocks.nav(sketch, brand), blocks.hero(sketch, title), *parts, blocks.footer(sketch, brand)]


def _dashboard(sketch: Sketch, title: str, brand: str) -> list[str]:
    dice, style = sketch.dice, sketch.theme
    shell, side, main = sketch.name("shell"), sketch.name("side"), sketch.name("main")
    wide = dice.pick((200, 220, 250))
    dark_side = dice.share() < 0.5
    ground, front = ("#1f2937", "#e5e7eb") if dark_side else (style.surface, style.words)
    sketch.rule(f".{shell}", display="grid", grid_template_columns=f"{wide}px 1fr", min_height="100vh")
    sketch.narrow(f".{shell}", grid_template_columns="1fr")
    sketch.rule(f".{side}", padding="24px 18px", background=ground, color=front, border_right=f"1px solid {style.line}")
    sketch.rule(f".{side} ul", list_style="none", margin=0, padding=0)
    sketch.rule(
        f".{side} a", display="block", padding="9px 12px", border_radius=style.radius, color=front, font_size=15
    )
    sketch.rule(f".{side} .{sketch.name('is', 'here')}", background=style.accent, color=style.on_accent)
    sketch.rule(f".{main}", padding=dice.pick((24, 28, 32)), display="grid", gap=style.gap, align_content="start")
    sketch.narrow(f".{main}", padding=16)
    links = dice.sample(phrases.LINKS, dice.between(5, 8))
    here = dice.below(len(links))
    items = [
        tag("li", "", tag("a", sketch.name("is", "here") if at == here else "", text, href="#"))
        for at, text in enumerate(links)
    ]
    top = tag("h1", "", words(title))
    sketch.rule(f".{main} h1", font_size=26, margin=0)
    sketch.rule(f".{main} h2", font_size=17)
    heads = dice.sample(phrases.TITLES, 4)
    wide_part = [blocks.card(sketch, tag("h2", "", words(heads[0])), charts.chart(sketch))]
    other: Callable[[Sketch], str] = dice.pick((charts.donut, panels.progress, charts.chart))
    wide_part.append(blocks.card(sketch, tag("h2", "", words(heads[1])), other(sketch)))
    rows = [top, panels.figures(sketch), blocks.grid(sketch, 2, *dice.shuffled(wide_part))]
    if dice.share() < 0.8:
        rows.append(blocks.card(sketch, tag("h2", "", words(heads[2])), panels.table(sketch)))
    menu = tag("aside", side, tag("h2", "", words(brand)), tag("ul", "", *items))
    sketch.rule(f".{side} h2", font_size=19, margin="0 0 20px")
    return [tag("div", shell, menu, tag("main", main, *rows))]


def _article(sketch: Sketch, title: str, brand: str) -> list[str]:
    dice, style = sketch.dice, sketch.theme
    name, lead = sketch.name("article"), sketch.name("lead")
    sketch.rule(
        f".{name}",
        max_width=dice.pick((640, 720, 800)),
        margin="40px auto",
        padding="0 20px",
        font_size=dice.pick((16, 17, 18)),
    )
    sketch.rule(f".{name} h1", font_size=dice.pick((36, 42, 48)))
    sketch.rule(f".{name} h2", font_size=24, margin_top=32)
    sketch.rule(f".{lead}", font_size=20, color=style.quiet)
    parts = [tag("h1", "", words(title)), tag("p", lead, words(phrases.sentence(dice)))]
    if dice.share() < 0.7:
        parts.append(blocks.picture(sketch))
    for head in dice.sample(phrases.TITLES, dice.between(2, 3)):
        parts.append(tag("h2", "", words(head)))
        parts += [tag("p", "", words(phrases.sentences(dice, dice.between(2, 5)))) for _ in range(dice.between(1, 2))]
        extra = dice.pick(("", "", "list", "quote", "steps"))
        if extra == "list":
            items = [tag("li", "", words(text)) for text in dice.sample(phrases.TITLES, dice.between(3, 5))]
            parts.append(tag(dice.pick(("ul", "ol")), "", *items))
        elif extra == "quote":
            parts.append(panels.quote(sketch))
        elif extra == "steps":
            parts.append(panels.steps(sketch))
    return [blocks.nav(sketch, brand), tag("main", name, *parts), blocks.footer(sketch, brand)]


def _settings(sketch: Sketch, title: str, brand: str) -> list[str]:
    name = sketch.name("narrow")
    sketch.rule(
        f".{name}",
        max_width=sketch.dice.pick((620, 760, 900)),
        margin="36px auto",
        padding="0 20px",
        display="grid",
        gap=24,
    )
    heads = sketch.dice.sample(phrases.TITLES, 2)
    parts = [tag("h1", "", words(title)), *(panels.form(sketch, head) for head in heads[: sketch.dice.between(1, 2)])]
    return [blocks.nav(sketch, brand), tag("main", name, *parts), blocks.footer(sketch, brand)]


def _shop(sketch: Sketch, title: str, brand: str) -> list[str]:
    name = sketch.name("filters")
    style = sketch.theme
    sketch.rule(f".{name}", display="flex", gap=10, flex_wrap="wrap", margin_bottom=20)
    chips = [blocks.badge(sketch, text, style.accent) for text in sketch.dice.sample(phrases.LABELS, 4)]
    part = blocks.section(sketch, title, tag("div", name, *chips), panels.gallery(sketch))
    return [blocks.nav(sketch, brand), part, blocks.footer(sketch, brand)]


def _pricing(sketch: Sketch, title: str, brand: str) -> list[str]:
    parts = [blocks.section(sketch, title, panels.prices(sketch))]
    if sketch.dice.share() < 0.6:
        parts.append(blocks.section(sketch, sketch.dice.pick(phrases.TITLES), panels.table(sketch)))
    return [blocks.nav(sketch, brand), *parts, blocks.footer(sketch, brand)]


def _report(sketch: Sketch, title: str, brand: str) -> list[str]:
    name = sketch.name("sheet")
    sketch.rule(
        f".{name}",
        max_width=sketch.dice.pick((860, 980, 1100)),
        margin="32px auto",
        padding="0 24px",
        display="grid",
        gap=sketch.theme.gap,
    )
    heads = sketch.dice.sample(phrases.TITLES, 3)
    one = blocks.card(sketch, tag("h2", "", words(heads[0])), charts.chart(sketch))
    two = blocks.card(sketch, tag("h2", "", words(heads[1])), charts.donut(sketch))
    sketch.rule(f".{name} h2", font_size=18)
    parts = [
        tag("h1", "", words(title)),
        tag("p", "", words(phrases.sentences(sketch.dice, 3))),
        blocks.grid(sketch, 2, *sketch.dice.shuffled([one, two])) if sketch.dice.share() < 0.6 else one,
        blocks.card(sketch, tag("h2", "", words(heads[2])), panels.table(sketch, sketch.dice.between(6, 14))),
    ]
    return [tag("main", name, *parts)]


def _profile(sketch: Sketch, title: str, brand: str) -> list[str]:
    dice, style = sketch.dice, sketch.theme
    name, face = sketch.name("profile"), sketch.name("face")
    sketch.rule(
        f".{name}",
        display="flex",
        gap=28,
        align_items="center",
        padding="36px 8%",
        background=style.soft,
        flex_wrap="wrap",
    )
    sketch.rule(
        f".{face}", width=96, height=96, border_radius="50%", background=style.accent, color=style.on_accent,
        display="flex", align_items="center", justify_content="center", font_size=38, font_weight=700,
    )  # fmt: skip
    sketch.rule(f".{name} h1", font_size=30, margin=0)
    sketch.rule(f".{name} p", margin=0, color=style.quiet)
    text = tag("div", "", tag("h1", "", words(title)), tag("p", "", words(phrases.sentence(dice))))
    head = tag(
        "header", name, tag("div", face, words(title[0])), text, blocks.button(sketch, dice.pick(phrases.ACTIONS))
    )
    heads = dice.sample(phrases.TITLES, 2)
    parts = [
        blocks.section(sketch, heads[0], panels.figures(sketch)),
        blocks.section(sketch, heads[1], dice.pick((panels.gallery, panels.steps, panels.progress))(sketch)),
    ]
    return [blocks.nav(sketch, brand), head, *parts]


def _board(sketch: Sketch, title: str, brand: str) -> list[str]:
    """Columns of cards."""
    dice, style = sketch.dice, sketch.theme
    board, column = sketch.name("board"), sketch.name("column")
    sketch.rule(f".{board}", display="flex", gap=20, align_items="flex-start", padding="24px 32px")
    sketch.narrow(f".{board}", flex_direction="column")
    sketch.rule(
        f".{column}",
        flex="1",
        background=style.soft,
        border_radius=style.radius,
        padding=14,
        display="grid",
        gap=12,
        width="100%",
    )
    sketch.rule(f".{column} h2", font_size=16, margin=0)
    sketch.rule(f".{column} h3", font_size=15, margin="8px 0 0")
    columns = []
    for label in dice.sample(phrases.LABELS, dice.between(3, 4)):
        cards = []
        for text in dice.sample(phrases.TITLES, dice.between(1, 5)):
            mark = blocks.badge(sketch, dice.pick(phrases.LABELS), dice.pick(style.series))
            cards.append(blocks.card(sketch, mark, tag("h3", "", words(text))))
        columns.append(tag("section", column, tag("h2", "", f"{words(label)} ({len(cards)})"), *cards))
    top = sketch.name("top")
    sketch.rule(f".{top}", padding="24px 32px 0")
    return [blocks.nav(sketch, brand), tag("h1", top, words(title)), tag("main", board, *columns)]


def _sign_in(sketch: Sketch, title: str, brand: str) -> list[str]:
    dice, style = sketch.dice, sketch.theme
    name = sketch.name("entry")
    split = dice.share() < 0.5
    sketch.rule(
        f".{name}",
        display="grid",
        min_height="100vh",
        grid_template_columns="1fr 1fr" if split else "minmax(0, 440px)",
        justify_content="center",
        align_items="center",
    )
    sketch.narrow(f".{name}", grid_template_columns="1fr", padding=16)
    side = sketch.name("entry", "side")
    sketch.rule(f".{side}", align_self="stretch", padding="20% 15%", background=style.accent, color=style.on_accent)
    box = sketch.name("entry", "box")
    sketch.rule(f".{box}", padding="0 12%" if split else 0)
    picture = tag("div", side, tag("h1", "", words(brand)), tag("p", "", words(phrases.sentences(dice, 2))))
    inner = tag("div", box, panels.form(sketch, title))
    return [tag("main", name, *([picture, inner] if split else [inner]))]


_KINDS: dict[str, Callable[[Sketch, str, str], list[str]]] = {
    "landing": _landing,
    "dashboard": _dashboard,
    "article": _article,
    "settings": _settings,
    "shop": _shop,
    "pricing": _pricing,
    "report": _report,
    "profile": _profile,
    "board": _board,
    "sign_in": _sign_in,
}
