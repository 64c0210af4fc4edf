"""What a build did, as one page and the same facts as JSON: `report/index.html` and `report/report.json` of the set."""
