"""Components that many kinds of pages share. Each gives its markup and brings its rules along."""

from trivium.data.web import phrases
from trivium.data.web.composer.theme import mixed
from trivium.data.web.composer.writer import Sketch, tag, words


def base(sketch: Sketch) -> None:
    """Rules of every page."""
    theme = sketch.theme
    sketch.rule("*", box_sizing="border-box")
    sketch.rule(
        "body", margin=0, background=theme.page, color=theme.words, font_family=theme.text_font, line_height=1.5
    )
    sketch.rule("h1, h2, h3", font_family=theme.head_font, font_weight=theme.heavy, line_height=1.2, margin="0 0 0.5em")
    sketch.rule("p", margin="0 0 1em")
    sketch.rule("a", color=theme.accent, text_decoration="none")


def button(sketch: Sketch, text: str, *, quiet: bool = False, kind: str = "a") -> str:
    theme, name = sketch.theme, sketch.name("btn")
    sketch.rule(
        f".{name}", display="inline-block", padding=sketch.dice.pick(("8px 16px", "10px 20px", "12px 26px")),
        border=f"1px solid {theme.accent}", border_radius=sketch.dice.pick((theme.radius, 999)),
        background=theme.accent,
        color=theme.on_accent, font="inherit", font_weight=600,
    )  # fmt: skip
    if quiet:
        sketch.rule(f".{name}.{sketch.name('is', 'quiet')}", background="transparent", color=theme.accent)
    css = f"{name} {sketch.name('is', 'quiet')}" if quiet else name
    return tag(kind, css, words(text), **({"href": "#"} if kind == "a" else {"type": "button"}))


def badge(sketch: Sketch, text: str, color: str) -> str:
    theme, name = sketch.theme, sketch.name("badge")
    sketch.rule(
        f".{name}", display="inline-block", padding="2px 10px", border_radius=999, font_size=12, font_weight=600
    )
    ground = mixed(color, theme.surface, 0.16)
    return tag("span", name, words(text), style=f"background: {ground}; color: {color}")


def nav(sketch: Sketch, brand: str) -> str:
    theme, dice = sketch.theme, sketch.dice
    bar, mark, links = sketch.name("nav"), sketch.name("nav", "brand"), sketch.name("nav", "links")
    filled = dice.share() < 0.3
    ground, front = (theme.accent, theme.on_accent) if filled else (theme.surface, theme.words)
    sketch.rule(
        f".{bar}", display="flex", align_items="center", justify_content=dice.pick(("space-between", "flex-start")),
        gap=32, padding="14px 32px", background=ground, border_bottom=f"1px solid {theme.line}",
    )  # fmt: skip
    sketch.rule(f".{mark}", font_family=theme.head_font, font_weight=theme.heavy, font_size=20, color=front)
    sketch.rule(f".{links}", display="flex", gap=22, list_style="none", margin=0, padding=0)
    sketch.rule(f".{links} a", color=front, font_size=15)
    sketch.narrow(f".{bar}", flex_wrap="wrap", gap=12, padding="12px 16px")
    items = [tag("li", "", tag("a", "", text, href="#")) for text in dice.sample(phrases.LINKS, dice.between(3, 6))]
    action = button(sketch, dice.pick(phrases.ACTIONS)) if not filled and dice.share() < 0.5 else ""
    return tag("nav", bar, tag("a", mark, words(brand), href="#"), tag("ul", links, *items), action)


def hero(sketch: Sketch, title: str) -> str:
    theme, dice = sketch.theme, sketch.dice
    name, lead, row = sketch.name("hero"), sketch.name("hero", "lead"), sketch.name("hero", "actions")
    split = dice.share() < 0.45
    grounds = (
        theme.soft,
        theme.surface,
        f"linear-gradient({dice.pick((120, 135, 180))}deg, {theme.soft}, {theme.page})",
    )
    if split:
        sketch.rule(
            f".{name}", display="grid", grid_template_columns=dice.pick(("1fr 1fr", "3fr 2fr")), gap=48,
            align_items="center", padding="72px 8%", background=dice.pick(grounds),
        )  # fmt: skip
        sketch.narrow(f".{name}", grid_template_columns="1fr", padding="40px 20px")
    else:
        sketch.rule(
            f".{name}", padding=dice.pick(("80px 18%", "96px 22%", "64px 12%")),
            text_align=dice.pick(("center", "left")),
            background=dice.pick(grounds),
        )  # fmt: skip
        sketch.narrow(f".{name}", padding="48px 20px")
    sketch.rule(f".{name} h1", font_size=dice.pick((40, 46, 54, 60)))
    sketch.rule(f".{lead}", font_size=dice.pick((17, 19, 21)), color=theme.quiet)
    sketch.rule(f".{row}", display="inline-flex", gap=12, margin_top=8)
    acts = dice.sample(phrases.ACTIONS, 2)
    actions = tag("div", row, button(sketch, acts[0]), button(sketch, acts[1], quiet=True))
    inner = [tag("h1", "", words(title)), tag("p", lead, words(phrases.sentences(dice, 2))), actions]
    if split:
        return tag("header", name, tag("div", "", *inner), picture(sketch))
    return tag("header", name, *inner)


def picture(sketch: Sketch, height: int = 0) -> str:
    """An abstract drawing in place of a photograph."""
    theme, dice = sketch.theme, sketch.dice
    high = height or dice.pick((220, 260, 300))
    name = sketch.name("art")
    sketch.rule(f".{name}", display="block", width="100%", height="auto", border_radius=theme.radius)
    shapes = [tag("rect", "", width=400, height=high, fill=mixed(dice.pick(theme.series), theme.surface, 0.25))]
    kind = dice.pick(("hills", "dots", "stripes", "sun"))
    if kind == "hills":
        for at in range(3):
            y = round(high * (0.45 + 0.17 * at))
            bend = dice.between(-60, 60)
            path = f"M0,{y} C130,{y - bend} 270,{y + bend} 400,{y - 20} L400,{high} L0,{high} Z"
            shapes.append(tag("path", "", d=path, fill=mixed(theme.series[at], theme.surface, 0.5 + 0.15 * at)))
    elif kind == "sun":
        shapes.append(
            tag(
                "circle",
                "",
                cx=dice.between(90, 310),
                cy=round(high * 0.45),
                r=dice.between(40, 80),
                fill=theme.series[1],
            )
        )
        shapes.append(tag("rect", "", y=round(high * 0.7), width=400, height=high, fill=theme.series[2]))
    else:
        for _ in range(dice.between(5, 9)):
            color = mixed(dice.pick(theme.series), theme.surface, dice.pick((0.4, 0.6, 0.9)))
            x, y = dice.between(0, 400), dice.between(0, high)
            if kind == "dots":
                shapes.append(tag("circle", "", cx=x, cy=y, r=dice.between(12, 60), fill=color))
            else:
                shapes.append(tag("rect", "", x=x, width=dice.between(10, 50), height=high, fill=color))
    return tag("svg", name, *shapes, viewBox=f"0 0 400 {high}", role="img")


def card(sketch: Sketch, *inside: str, css: str = "") -> str:
    theme, name = sketch.theme, sketch.name("card")
    border = "none" if theme.shadow != "none" and not theme.dark else f"1px solid {theme.line}"
    sketch.rule(
        f".{name}", background=theme.surface, border=border, border_radius=theme.radius, box_shadow=theme.shadow,
        padding=sketch.dice.pick((18, 22, 26)),
    )  # fmt: skip
    return tag("article", f"{name} {css}".strip(), *inside)


def section(sketch: Sketch, title: str, *inside: str) -> str:
    name = sketch.name("section")
    sketch.rule(f".{name}", padding=sketch.dice.pick(("40px 8%", "48px 8%", "36px 5%")))
    sketch.narrow(f".{name}", padding="28px 16px")
    sketch.rule(
        f".{name} h2", font_size=sketch.dice.pick((24, 28, 32)), text_align=sketch.dice.pick(("left", "left", "center"))
    )
    return tag("section", name, tag("h2", "", words(title)), *inside)


def grid(sketch: Sketch, columns: int, *inside: str) -> str:
    name = sketch.name(f"grid{columns}") if sketch.theme.joint == "" else sketch.name("grid", str(columns))
    gap = sketch.theme.gap
    if sketch.dice.share() < 0.7:
        sketch.rule(f".{name}", display="grid", grid_template_columns=f"repeat({columns}, 1fr)", gap=gap)
        sketch.narrow(f".{name}", grid_template_columns="1fr")
    else:
        sketch.rule(f".{name}", display="flex", gap=gap, flex_wrap="wrap")
        sketch.rule(f".{name} > *", flex=f"1 1 calc({100 // columns}% - {gap}px)")
        sketch.narrow(f".{name} > *", flex="1 1 100%")
    return tag("div", name, *inside)


def footer(sketch: Sketch, brand: str) -> str:
    theme, dice = sketch.theme, sketch.dice
    name = sketch.name("footer")
    ground, front = dice.pick(((theme.surface, theme.quiet), ("#111827", "#cbd5e1"), (theme.accent, theme.on_accent)))
    sketch.rule(
        f".{name}", display="flex", justify_content="space-between", flex_wrap="wrap", gap=16, padding="28px 8%",
        margin_top=32, background=ground, color=front, font_size=14,
    )  # fmt: skip
    sketch.rule(f".{name} a", color=front, margin_left=18)
    links = [tag("a", "", text, href="#") for text in dice.sample(phrases.LINKS, dice.between(2, 4))]
    return tag("footer", name, tag("span", "", words(brand)), tag("div", "", *links))
