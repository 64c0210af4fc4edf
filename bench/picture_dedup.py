"""What picture_dedup finds in the pictures of a set: copies made worse on purpose, and how often strangers look alike.

    python bench/picture_dedup.py SET [--pictures 300]

A copy is of half the size, or that saved as a JPEG of quality 40; or has a little square inverted, which must not count
as the same. Strangers are all pairs of different pictures; `--alike` writes those that are taken for the same.
"""

import argparse
import io
import json
import sys
from itertools import combinations
from pathlib import Path

import imagehash
import numpy as np
from PIL import Image

from trivium.data.dedup.buckets import band_keys
from trivium.data.dedup.pictures import PictureDedup, distance, sketch
from trivium.data.dedup.thumbs import thumb
from trivium.data.records import Image as Picture
from trivium.data.shards import ShardSet

Sketch = tuple[np.ndarray, np.ndarray]  # values, set


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=Path)
    parser.add_argument("--pictures", type=int, default=300)
    parser.add_argument("--alike", type=Path, help="a folder for pictures of strangers that look alike, side by side")
    wanted = parser.parse_args(given)
    pictures = of_set(wanted.set, wanted.pictures)
    print(json.dumps(measure(pictures, wanted.alike), indent=2))
    return 0


def of_set(path: Path, count: int) -> list[Image.Image]:
    """The first picture of so many items, one of each cluster."""
    shards, seen, found = ShardSet.open(path), set(), []
    for at in range(len(shards)):
        document, media = shards.read(at)
        if document.meta.drawn and document.meta.cluster not in seen and len(found) < count:
            first = next((part for part in document.segments if isinstance(part, Picture)), None)
            if first is not None:
                seen.add(document.meta.cluster)
                found.append(Image.open(io.BytesIO(media[first.media])).convert("RGB"))
    return found


def measure(pictures: list[Image.Image], alike: Path | None) -> dict[str, object]:
    """Shares of copies found and of strangers taken for copies, by the hash alone and by all."""
    config = PictureDedup()
    own = [sketched(picture) for picture in pictures]
    marked = [sketched(inverted(picture)) for picture in pictures]
    pairs = list(combinations(range(len(own)), 2))
    near = [(a, b) for a, b in pairs if distance(own[a][1], own[b][1]) <= config.distance]
    same = [(a, b) for a, b in near if config.alike(own[a][1], own[b][1]) >= config.threshold]
    if alike is not None:
        alike.mkdir(parents=True, exist_ok=True)
        for a, b in same:
            beside(pictures[a], pictures[b]).save(alike / f"{a}-{b}.png")
    return {
        "pictures": len(own),
        "half size": copies(config, own, [sketched(half(picture)) for picture in pictures]),
        "half size, JPEG 40": copies(config, own, [sketched(worse(picture)) for picture in pictures]),
        "a square inverted, taken for the same": share(
            config.alike(a[1], b[1]) >= config.threshold for a, b in zip(own, marked, strict=True)
        ),
        "strangers": {"pairs": len(pairs), "by the hash alone": len(near), "by pixels too": len(same)},
    }


def copies(config: PictureDedup, own: list[Sketch], copied: list[Sketch]) -> dict[str, float]:
    """How far copies come: by the hash, into a band, and all the way; the median of their likeness."""
    pairs = list(zip(own, copied, strict=True))
    loose = PictureDedup(distance=16, threshold=0.01)
    return {
        "hash within the distance": share(distance(a[1], b[1]) <= config.distance for a, b in pairs),
        "a band in common": share(banded(config, a, b) for a, b in pairs),
        "found": share(banded(config, a, b) and config.alike(a[1], b[1]) >= config.threshold for a, b in pairs),
        "median likeness": round(float(np.median([loose.alike(a[1], b[1]) for a, b in pairs])), 3),
    }


def sketched(picture: Image.Image) -> Sketch:
    pixels = np.asarray(picture)
    return sketch(str(imagehash.phash(picture)), np.array([picture.size]), thumb(pixels)[None])


def banded(config: PictureDedup, one: Sketch, other: Sketch) -> bool:
    keys = band_keys(np.stack([one[0], other[0]]), config.bands, config.rows)
    return bool((keys[0] == keys[1]).any())


def half(picture: Image.Image) -> Image.Image:
    return picture.resize((max(1, picture.width // 2), max(1, picture.height // 2)), Image.Resampling.LANCZOS)


def worse(picture: Image.Image) -> Image.Image:
    target = io.BytesIO()
    half(picture).save(target, "JPEG", quality=40)
    return Image.open(target).convert("RGB")


def inverted(picture: Image.Image) -> Image.Image:
    """A square of a twentieth of the shorter side, in the middle, inverted."""
    pixels = np.array(picture)
    side = max(4, min(picture.size) // 20)
    top, left = picture.height // 2, picture.width // 2
    pixels[top : top + side, left : left + side] = 255 - pixels[top : top + side, left : left + side]
    return Image.fromarray(pixels)


def beside(one: Image.Image, other: Image.Image) -> Image.Image:
    both = Image.new("RGB", (one.width + other.width, max(one.height, other.height)), "white")
    both.paste(one, (0, 0))
    both.paste(other, (one.width, 0))
    return both


def share(found: object) -> float:
    values = list(found)  # type: ignore[call-overload]
    return round(sum(values) / max(1, len(values)), 4)


if __name__ == "__main__":
    sys.exit(main())
