"""All kinds of sources that read files."""

from trivium.pipelines.corpora.sources.arc import Arc
from trivium.pipelines.corpora.sources.folder import HtmlFolder
from trivium.pipelines.corpora.sources.jsonl import Jsonl
from trivium.pipelines.corpora.sources.latex import LatexFolder
from trivium.pipelines.corpora.sources.parquet import Parquet
from trivium.pipelines.corpora.sources.pdf import PdfFolder
from trivium.pipelines.corpora.sources.text import ManFolder, MarkdownFolder, TextFolder
from trivium.pipelines.corpora.sources.tree import SourceTree

FileSource = (
    HtmlFolder | Arc | TextFolder | MarkdownFolder | ManFolder | LatexFolder | PdfFolder | SourceTree | Jsonl | Parquet
)
