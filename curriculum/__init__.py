"""Pure functions from (schedule, corpora, seed, step) to rows and learning rate; imports no torch."""

if __name__ != "trivium.curriculum":
    raise ImportError(
        "import this folder as trivium.curriculum; under the bare name curriculum its modules would exist twice"
    )

from trivium.curriculum.catalogue import Catalogue
from trivium.curriculum.corpora import SetCatalogue, catalogue_of, catalogues_of, open_corpora
from trivium.curriculum.plan import Plan
from trivium.curriculum.ranks import Cost, assign, rank_rows
from trivium.curriculum.rows import Cursor, Piece, Row, State, StepRows
from trivium.curriculum.schedule import Schedule
from trivium.curriculum.stage import Stage

__all__ = [
    "Catalogue",
    "Cost",
    "Cursor",
    "Piece",
    "Plan",
    "Row",
    "Schedule",
    "SetCatalogue",
    "Stage",
    "State",
    "StepRows",
    "assign",
    "catalogue_of",
    "catalogues_of",
    "open_corpora",
    "rank_rows",
]
