// What a page sees of time and chance, driven from outside: evaluated before any of the page's scripts.
//
// Time stands still until `advance(ms)` is called; then timers, animation frames (60 a second), CSS and SVG animations
// and given input happen in one fixed order, each at its own virtual time. Chance comes from one seeded stream.
// The page is a stranger's: what it does to these tools can spoil its own pictures and nothing else.
(function (settings) {
  "use strict";
  const NAME = "__trivium";
  if (Object.prototype.hasOwnProperty.call(window, NAME)) return;
  const FRAME = 1000 / 60;
  const NativeDate = Date;
  const { port1, port2 } = new MessageChannel();
  const waiting = [];
  port1.onmessage = () => waiting.shift()();
  // Lets what is due in the browser's own queues (promises, messages) happen before time goes on.
  const breath = () => new Promise((resolve) => { waiting.push(resolve); port2.postMessage(0); });

  let now = 0;
  let ticks = 0; // animation frames so far
  let numbers = 0;
  let timers = [];
  let frames = [];
  let nesting = 0;
  const inputs = settings.inputs.slice();
  const errors = [];
  const started = new Map(); // CSS animations that were seen, held at our time

  const note = (what) => { if (errors.length < 20) errors.push(String(what).slice(0, 300)); };
  window.addEventListener("error", (event) => {
    if (event.target === window || !event.target) { note(event.message); return; }
    if (event.target.tagName === "SCRIPT") note(`could not load ${event.target.src}`);
  }, true);
  window.addEventListener("unhandledrejection", (event) => note(`unhandled rejection: ${event.reason}`));

  const run = (call, args) => {
    try { call.apply(window, args); } catch (error) { reportError(error); }
  };
  const callable = (code) => (typeof code === "function" ? code : () => (0, eval)(String(code)));
  const add = (code, delay, args, every) => {
    const least = every || nesting > 4 ? 4 : 1; // as browsers have it; and zero would stop the clock
    const wait = Math.max(least, Number(delay) || 0);
    numbers += 1;
    timers.push({ id: numbers, due: now + wait, wait: every ? wait : 0, call: callable(code), args, nesting: nesting + 1 });
    return numbers;
  };
  const drop = (id) => { timers = timers.filter((timer) => timer.id !== Number(id)); };
  const replace = (home, name, value) =>
    Object.defineProperty(home, name, { value, writable: true, configurable: true, enumerable: false });
  const read = (home, name, get) => Object.defineProperty(home, name, { get, configurable: true, enumerable: true });

  replace(window, "setTimeout", (code, delay, ...args) => add(code, delay, args, false));
  replace(window, "setInterval", (code, delay, ...args) => add(code, delay, args, true));
  replace(window, "clearTimeout", drop);
  replace(window, "clearInterval", drop);
  replace(window, "requestAnimationFrame", (call) => { numbers += 1; frames.push({ id: numbers, call }); return numbers; });
  replace(window, "cancelAnimationFrame", (id) => { frames = frames.filter((frame) => frame.id !== id); });
  replace(window, "requestIdleCallback", (call) => add(() => call({ didTimeout: false, timeRemaining: () => 10 }), 1, [], false));
  replace(window, "cancelIdleCallback", drop);

  // Date: as it was, but for what asks for the present.
  const VirtualDate = new Proxy(NativeDate, {
    construct: (target, args, made) => Reflect.construct(target, args.length ? args : [settings.epoch + Math.floor(now)], made),
    apply: (target) => new target(settings.epoch + Math.floor(now)).toString(),
  });
  replace(NativeDate, "now", () => settings.epoch + Math.floor(now));
  NativeDate.prototype.constructor = VirtualDate;
  replace(window, "Date", VirtualDate);
  for (const name of ["format", "formatToParts"]) {
    const native = Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, name);
    const bound = (format, date) => (native.get ? native.get.call(format) : native.value.bind(format))(date);
    const value = function (date) { return bound(this, date === undefined ? settings.epoch + now : date); };
    if (native.get) read(Intl.DateTimeFormat.prototype, name, function () { return value.bind(this); });
    else replace(Intl.DateTimeFormat.prototype, name, value);
  }
  replace(Performance.prototype, "now", () => now);
  read(Performance.prototype, "timeOrigin", () => settings.epoch);
  read(Event.prototype, "timeStamp", () => now);
  read(AnimationTimeline.prototype, "currentTime", () => now);
  if (window.BaseAudioContext) read(BaseAudioContext.prototype, "currentTime", () => now / 1000);

  // Chance: sfc32, seeded by four words.
  let [a, b, c, d] = settings.seed;
  const word = () => {
    const sum = (a + b + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum | 0;
    return sum >>> 0;
  };
  for (let i = 0; i < 15; i += 1) word();
  replace(Math, "random", () => word() / 4294967296);
  replace(Crypto.prototype, "getRandomValues", (array) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let i = 0; i < bytes.length; i += 1) bytes[i] = word() & 255;
    return array;
  });
  replace(Crypto.prototype, "randomUUID", () => {
    const hex = [0, 1, 2, 3].map(() => word().toString(16).padStart(8, "0")).join("");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  });

  // What has a clock of its own that nobody drives, or waits for a person.
  for (const name of ["Worker", "SharedWorker"]) {
    replace(window, name, function () { throw new Error(`${name}: a clock of its own, which is not driven here`); });
  }
  for (const name of ["OffscreenCanvas", "scheduler"]) delete window[name];
  replace(window, "alert", () => undefined);
  replace(window, "confirm", () => true);
  replace(window, "prompt", () => null);
  replace(window, "print", () => undefined);
  replace(window, "open", () => null);
  replace(HTMLMediaElement.prototype, "play", () => Promise.resolve());
  replace(Document.prototype, "hasFocus", () => true);

  const CODES = { ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, " ": 32, Enter: 13, Escape: 27, Shift: 16, Tab: 9 };
  const keyboard = (type, key) => {
    const letter = key.length === 1 && key !== " ";
    const code = CODES[key] || key.toUpperCase().charCodeAt(0);
    const name = key === " " ? "Space" : letter ? (/[0-9]/.test(key) ? `Digit${key}` : `Key${key.toUpperCase()}`) : key;
    const event = new KeyboardEvent(type, { key, code: name, bubbles: true, cancelable: true, composed: true });
    for (const old of ["keyCode", "which", "charCode"]) {
      read(event, old, () => (old === "charCode" && type !== "keypress" ? 0 : code));
    }
    return (document.activeElement || document.body || document).dispatchEvent(event);
  };
  const mouse = (types, x, y, buttons) => {
    const target = document.elementFromPoint(x, y) || document.body || document;
    for (const type of types) {
      const Kind = type.startsWith("pointer") ? PointerEvent : MouseEvent;
      const more = Kind === PointerEvent ? { pointerId: 1, pointerType: "mouse", isPrimary: true } : {};
      const pressed = /down$|move$/.test(type) ? buttons : 0;
      target.dispatchEvent(new Kind(type, {
        clientX: x, clientY: y, screenX: x, screenY: y, button: 0, buttons: pressed, bubbles: true, cancelable: true,
        composed: true, view: window, detail: 1, ...more,
      }));
    }
  };
  let held = 0;
  const DO = {
    press: ({ key }) => { if (keyboard("keydown", key) && (key.length === 1 || key === "Enter")) keyboard("keypress", key); },
    release: ({ key }) => keyboard("keyup", key),
    move: ({ x, y }) => mouse(["pointermove", "mousemove"], x, y, held),
    down: ({ x, y }) => { held = 1; mouse(["pointerdown", "mousedown"], x, y, 1); },
    up: ({ x, y }) => { held = 0; mouse(["pointerup", "mouseup", "click"], x, y, 0); },
  };

  // CSS and SVG animations: held still at our time, from the frame on in which they are first seen.
  const animate = () => {
    for (const animation of document.getAnimations()) {
      if (!started.has(animation)) {
        animation.pause();
        started.set(animation, now);
      }
      const at = (now - started.get(animation)) * (animation.playbackRate || 1);
      const end = Number(animation.effect?.getComputedTiming().endTime ?? Infinity);
      if (at < end) animation.currentTime = at;
      else { animation.finish(); started.delete(animation); }
    }
    for (const picture of document.querySelectorAll("svg")) {
      if (picture.ownerSVGElement || !picture.pauseAnimations) continue;
      picture.pauseAnimations();
      picture.setCurrentTime(now / 1000);
    }
  };

  const advance = async (until) => {
    await breath();
    for (;;) {
      const timer = timers.reduce((first, one) => (first && (first.due < one.due || (first.due === one.due && first.id < one.id)) ? first : one), null);
      const tick = (ticks + 1) * FRAME;
      const input = inputs.length ? inputs[0].at : Infinity;
      const next = Math.min(timer ? timer.due : Infinity, tick, input);
      if (next > until) break;
      now = Math.max(now, next);
      if (input === next) {
        const one = inputs.shift();
        run(DO[one.act], [one]);
      } else if (timer && timer.due === next) {
        if (timer.wait) timer.due += timer.wait;
        else drop(timer.id);
        nesting = timer.nesting;
        run(timer.call, timer.args);
        nesting = 0;
      } else {
        ticks += 1;
        const due = frames;
        frames = [];
        for (const frame of due) run(frame.call, [now]);
        animate();
      }
      await breath();
    }
    now = until;
  };
  const canvas = () => {
    const found = document.querySelector("canvas");
    if (!found) throw new Error("the page has no canvas");
    return found.toDataURL("image/png").slice("data:image/png;base64,".length);
  };
  // All frames of a page that is one canvas, at the given times.
  const film = async (times) => {
    const pictures = [];
    for (const time of times) { await advance(time); pictures.push(canvas()); }
    return pictures;
  };
  Object.defineProperty(window, NAME, { value: Object.freeze({ advance, film, errors }) });
})
