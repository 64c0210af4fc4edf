"""One self-contained HTML page to browse shard sets."""

from trivium.pipelines.gallery.page import GalleryFacts, write_gallery

__all__ = ["GalleryFacts", "write_gallery"]
