"""What a run leaves for people: `report.json` (facts) and `report.html` (one page, nothing fetched)."""

from trivium.pipelines.train.report.page import write_report

__all__ = ["write_report"]
