"""Words that stand in pages which nobody wrote: nothing is claimed by them, and nobody is named."""

from trivium.data.longcontext.dice import Dice

TITLES = (
    "Quiet mornings", "A second look", "Rooms with a view", "Notes from the garden", "Slow roads north",
    "The long table", "Light and shadow", "Small repairs", "Paper and thread", "Winter harvest", "Open water",
    "Tools we keep", "Between two rivers", "A house of glass", "First rain", "Stone by stone", "The blue hour",
    "Bread and salt", "On foot", "Field recordings", "Late summer", "A map of paths", "Northern light",
    "The workshop", "Early trains", "Copper and oak", "Seven bridges", "Salt air", "Hand to hand",
    "An ordinary week", "The old orchard", "Low tide",
)  # fmt: skip
ACTIONS = (
    "Get started", "Learn more", "Read on", "See all", "Try it", "Open", "Sign up", "Join", "Continue", "Browse",
    "Save changes", "Add item", "View details", "Next", "Subscribe", "Book now", "Download", "Explore", "Apply",
    "Start",
)  # fmt: skip
LINKS = (
    "Home", "About", "Work", "Journal", "Contact", "Shop", "Team", "Gallery", "Events", "Help", "Guides", "Library",
    "Overview", "Reports", "Settings", "Messages", "Archive", "Studio", "Places", "Pricing", "Features", "Docs",
)  # fmt: skip
LABELS = (
    "Open", "New", "Draft", "Done", "Waiting", "Active", "Paused", "Ready", "Late", "Closed", "Review", "Planned",
)  # fmt: skip
_OPENINGS = (
    "A short walk leads past", "In the morning one sees", "Behind the door there are", "Every page shows",
    "On the shelf stand", "The path goes along", "Under the window lie", "This corner keeps",
    "At the far end there are", "The list begins with",
)  # fmt: skip
_THINGS = (
    "three wooden chairs", "an open book", "a row of lamps", "two green bottles", "a folded map", "small stones",
    "a clock without hands", "letters and ribbons", "the tall grass", "a box of pencils", "white cups",
    "a narrow bridge",
)  # fmt: skip
_ENDINGS = (
    "and nothing else.", "and then the water.", "as on any other day.", "beside the wall.", "in no special order.",
    "where the light is soft.", "until the evening.", "under a wide sky.", "and a little space between.",
    "one after another.",
)  # fmt: skip


def sentence(dice: Dice) -> str:
    """One plain sentence."""
    return f"{dice.pick(_OPENINGS)} {dice.pick(_THINGS)} {dice.pick(_ENDINGS)}"


def sentences(dice: Dice, count: int) -> str:
    return " ".join(sentence(dice) for _ in range(count))
