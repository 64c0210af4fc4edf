// What CSS moves stands at its end, or where it stood before it began when it has none.
() => {
  for (const animation of document.getAnimations()) {
    try {
      if (animation.effect?.getComputedTiming().endTime === Infinity) animation.cancel();
      else animation.finish();
    } catch {
      animation.cancel();
    }
  }
}
