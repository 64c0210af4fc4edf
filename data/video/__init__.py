"""Clips: which frames are looked at, by arithmetic; the frames themselves, decoded inside a guard."""

from trivium.data.video.decode import Measure, frames_at, measure
from trivium.data.video.frames import Frame, Strip, strip
from trivium.data.video.plan import ClipPlan, media_cost, plan

__all__ = ["ClipPlan", "Frame", "Measure", "Strip", "frames_at", "measure", "media_cost", "plan", "strip"]
