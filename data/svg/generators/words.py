"""Names and topics of generated drawings; figures under them are drawn by lot and mean nothing."""

from dataclasses import dataclass

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
CITIES = ("Lyon", "Porto", "Ghent", "Graz", "Turku", "Split", "Leeds", "Bergen", "Malmo", "Basel", "Lublin", "Seville")
FRUITS = ("Apples", "Pears", "Plums", "Grapes", "Lemons", "Cherries", "Melons", "Figs", "Kiwis", "Peaches")
TEAMS = ("Red", "Blue", "North", "South", "East", "West", "Harbour", "Valley", "Forest", "River")
SPORTS = ("Tennis", "Rowing", "Judo", "Chess", "Cycling", "Fencing", "Hockey", "Sailing", "Climbing", "Archery")
TOOLS = ("Hammer", "Saw", "Drill", "Plane", "Chisel", "Clamp", "Level", "File", "Wrench", "Pliers")
PLANTS = ("Fern", "Moss", "Oak", "Birch", "Heather", "Clover", "Reed", "Willow", "Ivy", "Thyme")
YEARS = tuple(str(year) for year in range(2008, 2026))
PEOPLE = ("Ada", "Bram", "Chloe", "Dario", "Elif", "Finn", "Greta", "Hugo", "Ines", "Jonas", "Kaja", "Liam")
STEPS = (
    "Read file",
    "Check input",
    "Load data",
    "Sort rows",
    "Merge lists",
    "Send mail",
    "Save result",
    "Ask user",
    "Write log",
    "Open door",
    "Start pump",
    "Close valve",
    "Print page",
    "Count items",
    "Wait 5 s",
    "Retry",
)
QUESTIONS = ("Valid?", "Empty?", "Done?", "Ready?", "Too hot?", "Found?", "New user?", "In stock?")


@dataclass(frozen=True, slots=True)
class Topic:
    """What a chart shows; `unit` is empty for plain counts."""

    title: str
    unit: str
    names: tuple[str, ...]
    most: int


TOPICS = (
    Topic("Harvest", "t", FRUITS, 90),
    Topic("Visitors", "", CITIES, 900),
    Topic("Points", "", TEAMS, 60),
    Topic("Members", "", SPORTS, 240),
    Topic("Stock", "", TOOLS, 120),
    Topic("Plants found", "", PLANTS, 80),
    Topic("Rainfall", "mm", MONTHS, 160),
    Topic("Hours of sun", "h", MONTHS, 300),
    Topic("Energy used", "kWh", WEEKDAYS, 40),
    Topic("Distance run", "km", PEOPLE, 60),
    Topic("Books read", "", PEOPLE, 30),
    Topic("Sales", "EUR", YEARS, 900),
)
SERIES = (("Plan", "Actual"), ("2023", "2024"), ("Morning", "Evening"), ("North", "South"), ("Old", "New"))
ORDERED = frozenset({MONTHS, WEEKDAYS, YEARS})  # lists whose order means something

PALETTES = (
    ("#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#9c755f"),
    ("#1b9e77", "#d95f02", "#7570b3", "#e7298a", "#66a61e", "#e6ab02", "#a6761d", "#666666"),
    ("#264653", "#2a9d8f", "#e9c46a", "#f4a261", "#e76f51", "#8ab17d", "#b5838d", "#6d6875"),
    ("#003f5c", "#58508d", "#bc5090", "#ff6361", "#ffa600", "#2f9e9e", "#7a9e2f", "#9e5b2f"),
)
FONTS = ("DejaVu Sans", "DejaVu Sans", "DejaVu Serif")
INK, FAINT = "#333333", "#d8d8d8"
