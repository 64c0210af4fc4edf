"""Components with much in them: tables, forms, prices, lists, figures, timelines."""

from trivium.data.web import phrases
from trivium.data.web.composer.blocks import badge, button, card, grid, picture
from trivium.data.web.composer.charts import spark
from trivium.data.web.composer.theme import mixed
from trivium.data.web.composer.writer import Sketch, tag, words

_HEADS = ("Name", "Place", "State", "Items", "Share", "Updated", "Total", "Group")
_FIELDS = ("Name", "Place", "Street", "Title", "Number", "Phone", "Subject", "Team", "Colour", "Date")
_PLANS = ("Basic", "Plus", "Studio", "Team", "Large", "Single")
_FIGURES = ("Visits", "Orders", "Open", "Returns", "Hours", "Members", "Parcels", "Pages")


def table(sketch: Sketch, rows: int = 0) -> str:
    theme, dice = sketch.theme, sketch.dice
    name = sketch.name("table")
    heads = ["Name", *dice.sample(_HEADS[1:], dice.between(2, 5))]
    sketch.rule(f".{name}", width="100%", border_collapse="collapse", font_size=dice.pick((14, 15)))
    sketch.rule(
        f".{name} th",
        text_align="left",
        padding="10px 14px",
        color=theme.quiet,
        border_bottom=f"2px solid {theme.line}",
    )
    sketch.rule(f".{name} td", padding=dice.pick(("8px 14px", "12px 14px")), border_bottom=f"1px solid {theme.line}")
    if dice.share() < 0.4:
        sketch.rule(f".{name} tbody tr:nth-child(even)", background=mixed(theme.line, theme.surface, 0.35))
    lines = []
    for title in dice.sample(phrases.TITLES, rows or dice.between(4, 9)):
        cells = [tag("td", "", words(title))]
        cells += [tag("td", "", _cell(sketch, head)) for head in heads[1:]]
        lines.append(tag("tr", "", *cells))
    head = tag("thead", "", tag("tr", "", *(tag("th", "", text) for text in heads)))
    return tag("table", name, head, tag("tbody", "", *lines))


def _cell(sketch: Sketch, head: str) -> str:
    dice = sketch.dice
    if head == "State":
        return badge(sketch, dice.pick(phrases.LABELS), dice.pick(sketch.theme.series))
    if head == "Share":
        return f"{dice.between(1, 99)} %"
    if head in ("Items", "Total"):
        return f"{dice.between(2, 980)}"
    if head == "Updated":
        return f"{dice.between(1, 28)} {dice.pick(('March', 'May', 'June', 'October'))}"
    return dice.pick(("North", "South", "East", "West", "Harbour", "Hill", "Old town", "Market"))


def form(sketch: Sketch, title: str) -> str:
    theme, dice = sketch.theme, sketch.dice
    name, field = sketch.name("form"), sketch.name("field")
    two = dice.share() < 0.5
    sketch.rule(f".{name}", display="grid", grid_template_columns="1fr 1fr" if two else "1fr", gap=18)
    sketch.narrow(f".{name}", grid_template_columns="1fr")
    sketch.rule(f".{field} label", display="block", font_size=14, font_weight=600, margin_bottom=6)
    sketch.rule(
        f".{field} input, .{field} select, .{field} textarea", width="100%", padding="10px 12px", font="inherit",
        color=theme.words, background=theme.page, border=f"1px solid {theme.line}", border_radius=min(theme.radius, 10),
    )  # fmt: skip
    fields = []
    for number, text in enumerate(dice.sample(_FIELDS, dice.between(3, 6))):
        key = f"field{number + 1}"
        kind = dice.pick(("input", "input", "select", "value"))
        label = tag("label", "", words(text), for_=key)
        if kind == "select":
            options = [tag("option", "", words(one)) for one in dice.sample(phrases.LABELS, 3)]
            control = tag("select", "", *options, id=key)
        else:
            filled = {"value": dice.pick(phrases.TITLES)} if kind == "value" else {"placeholder": f"{text} …"}
            control = tag("input", "", id=key, type="text", **filled)
        fields.append(tag("div", field, label, control))
    check = sketch.name("check")
    sketch.rule(f".{check}", display="flex", gap=10, align_items="center", font_size=14)
    box = tag("input", "", type="checkbox", id="agree", **({"checked": ""} if dice.share() < 0.5 else {}))
    fields.append(tag("div", check, box, tag("label", "", words(dice.pick(phrases.TITLES)), for_="agree")))
    fields.append(tag("div", "", button(sketch, dice.pick(phrases.ACTIONS), kind="button")))
    return card(sketch, tag("h2", "", words(title)), tag("form", name, *fields))


def prices(sketch: Sketch) -> str:
    theme, dice = sketch.theme, sketch.dice
    price, points = sketch.name("price"), sketch.name("points")
    chosen = sketch.name("is", "chosen")
    sketch.rule(f".{price}", font_size=dice.pick((34, 40)), font_weight=theme.heavy, margin=0)
    sketch.rule(f".{price} small", font_size=15, font_weight=400, color=theme.quiet)
    sketch.rule(f".{points}", list_style=dice.pick(("none", "disc", "square")), padding_left=18, color=theme.quiet)
    sketch.rule(f".{sketch.name('card')}.{chosen}", border=f"2px solid {theme.accent}")
    names = dice.sample(_PLANS, dice.pick((3, 3, 4, 2)))
    best = dice.below(len(names))
    cards = []
    for at, name in enumerate(names):
        items = [tag("li", "", words(text)) for text in dice.sample(phrases.TITLES, dice.between(3, 5))]
        amount = tag("p", price, str(dice.between(3, 60) + 20 * at), " <small>a month</small>")
        cards.append(
            card(
                sketch,
                tag("h3", "", words(name)),
                amount,
                tag("ul", points, *items),
                button(sketch, "Choose", quiet=at != best),
                css=chosen if at == best else "",
            )
        )
    return grid(sketch, len(names), *cards)


def features(sketch: Sketch) -> str:
    """Cards with a sign, a title and a sentence."""
    theme, dice = sketch.theme, sketch.dice
    sign = sketch.name("sign")
    sketch.rule(
        f".{sign}", display="flex", align_items="center", justify_content="center", width=44, height=44,
        margin_bottom=14,
        border_radius=dice.pick((theme.radius, 999)), background=theme.soft, color=theme.accent, font_weight=700,
    )  # fmt: skip
    columns = dice.pick((2, 3, 3, 4))
    cards = []
    for title in dice.sample(phrases.TITLES, columns * dice.pick((1, 1, 2))):
        mark = tag("div", sign, words(title[0]))
        cards.append(card(sketch, mark, tag("h3", "", words(title)), tag("p", "", words(phrases.sentence(dice)))))
    return grid(sketch, columns, *cards)


def gallery(sketch: Sketch) -> str:
    """Cards with a drawing on top."""
    theme, dice = sketch.theme, sketch.dice
    meta = sketch.name("meta")
    sketch.rule(f".{meta}", color=theme.quiet, font_size=14, margin="6px 0 0")
    columns = dice.pick((2, 3, 3, 4))
    priced = dice.share() < 0.5
    cards = []
    for title in dice.sample(phrases.TITLES, columns * dice.pick((1, 2))):
        below = f"{dice.between(4, 180)}.00" if priced else f"{dice.between(2, 15)} minutes"
        cards.append(card(sketch, picture(sketch, 200), tag("h3", "", words(title)), tag("p", meta, below)))
    return grid(sketch, columns, *cards)


def figures(sketch: Sketch) -> str:
    """Large numbers, each with what it counts."""
    theme, dice = sketch.theme, sketch.dice
    value, label = sketch.name("stat", "value"), sketch.name("stat", "label")
    sketch.rule(f".{value}", font_size=dice.pick((26, 30, 34)), font_weight=theme.heavy, margin=0)
    sketch.rule(f".{label}", color=theme.quiet, font_size=14, margin=0)
    cards = []
    for name in dice.sample(_FIGURES, dice.pick((3, 4, 4))):
        number = dice.between(12, 9800)
        line = spark(sketch) if dice.share() < 0.5 else ""
        cards.append(card(sketch, tag("p", label, words(name)), tag("p", value, f"{number:,}"), line))
    return grid(sketch, len(cards), *cards)


def steps(sketch: Sketch) -> str:
    """A line of things one after another."""
    theme, dice = sketch.theme, sketch.dice
    name = sketch.name("steps")
    sketch.rule(f".{name}", list_style="none", margin=0, padding="0 0 0 22px", border_left=f"3px solid {theme.accent}")
    sketch.rule(f".{name} li", margin_bottom=20)
    sketch.rule(f".{name} time", display="block", color=theme.quiet, font_size=13)
    items = []
    for at, title in enumerate(dice.sample(phrases.TITLES, dice.between(3, 6))):
        time = tag("time", "", f"Week {at * dice.between(1, 3) + 1}")
        items.append(tag("li", "", time, tag("strong", "", words(title)), f" {words(phrases.sentence(dice))}"))
    return tag("ol", name, *items)


def progress(sketch: Sketch) -> str:
    theme, dice = sketch.theme, sketch.dice
    row, track, fill = sketch.name("bar"), sketch.name("bar", "track"), sketch.name("bar", "fill")
    sketch.rule(f".{row}", margin_bottom=14, font_size=14)
    sketch.rule(f".{track}", height=dice.pick((6, 8, 12)), margin_top=6, border_radius=999, background=theme.line)
    sketch.rule(f".{fill}", height="100%", border_radius=999, background=theme.accent)
    rows = []
    for title in dice.sample(phrases.TITLES, dice.between(3, 5)):
        share = dice.between(8, 97)
        inner = tag("div", track, tag("div", fill, style=f"width: {share}%"))
        rows.append(tag("div", row, tag("span", "", f"{words(title)}, {share} %"), inner))
    return "\n".join(rows)


def quote(sketch: Sketch) -> str:
    theme, dice = sketch.theme, sketch.dice
    name = sketch.name("quote")
    sketch.rule(
        f".{name}", margin=0, padding="24px 32px", border_left=f"4px solid {theme.accent}", background=theme.soft,
        font_family=theme.head_font, font_size=dice.pick((18, 20, 22)),
    )  # fmt: skip
    return tag("blockquote", name, words(phrases.sentences(dice, 2)))
