"""Where a recipe's items come from: one kind of source a file.

`base` holds the contract, `files` opens what lies in folders or behind addresses, `archives` looks into tars and zips,
`lines` cuts large files into blocks; the kinds are made of these.
"""

from trivium.pipelines.corpora.sources.base import READ, AbsentError, Place, RefusedError, Source
from trivium.pipelines.corpora.sources.counted import Counted
from trivium.pipelines.corpora.sources.folder import Folder, HtmlFolder

__all__ = ["READ", "AbsentError", "Counted", "Folder", "HtmlFolder", "Place", "RefusedError", "Source"]
