"""Clips: frames with their times, decoded inside a guard."""

from trivium.data.video.frames import Frame, Strip, strip

__all__ = ["Frame", "Strip", "strip"]
