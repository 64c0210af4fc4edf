"""Hostile pages with scripts, each with the reason for which it must be refused."""


def page(script: str, body: str = '<canvas id="c" width="200" height="150"></canvas>') -> str:
    return f"<!DOCTYPE html><html><body>{body}<script>\n{script}\n</script></body></html>"


FULL = "memory|timeout|crashed"  # a machine with others at work may be slow to fill the memory

MOVING = (
    "const c = document.getElementById('c').getContext('2d'); let x = 0;\n"
    "function step() { c.fillStyle = '#fff'; c.fillRect(0, 0, 200, 150); c.fillStyle = '#c00'; "
    "c.fillRect(x % 180, 40, 30, 30); x += 3; requestAnimationFrame(step); }\nstep();\n"
)


def cases(web: str, canary: str) -> dict[str, tuple[str, str]]:
    """Name → (page, reason). All but the last group also draw something that moves."""
    return {**_outside(web, canary), **_endless(), **_nothing()}


def _outside(web: str, canary: str) -> dict[str, tuple[str, str]]:
    socket = web.replace("http", "ws")
    new = "const e = document.createElement"
    scripts = {
        "fetch": f"fetch('{web}/x');",
        "fetch_file": f"fetch('file://{canary}').then(r => r.text()).then(t => document.title = t);",
        "xhr": f"const r = new XMLHttpRequest(); r.open('GET', '{web}/x'); r.send();",
        "socket": f"new WebSocket('{socket}/x');",
        "events": f"new EventSource('{web}/x');",
        "picture": f"new Image().src = '{web}/x.png';",
        "beacon": f"navigator.sendBeacon('{web}/x', 'secret');",
        "module": f"import('{web}/x.js');",
        "worker": f"new Worker('{web}/x.js');",
        "script_element": f"{new}('script'); e.src = '{web}/x.js'; document.body.append(e);",
        "style_element": f"{new}('link'); e.rel = 'stylesheet'; e.href = '{web}/x.css'; document.head.append(e);",
        "font": f"new FontFace('a', 'url({web}/x.woff)').load();",
        "frame": f"{new}('iframe'); e.src = '{web}/x'; document.body.append(e);",
        "frame_of_a_file": f"{new}('iframe'); e.src = 'file://{canary}'; document.body.append(e);",
        "navigation": f"location.href = '{web}/x';",
        "navigation_of_a_file": f"location.href = 'file://{canary}';",
        "navigation_to_nothing": "location.href = 'about:blank';",
        "navigation_to_words": "location.href = URL.createObjectURL(new Blob(['<p>x'], {type: 'text/html'}));",
        "navigation_later": f"requestAnimationFrame(() => {{ location.href = '{web}/x'; }});",
        "way_back": "history.back();",
        "window": f"window.open('{web}/x');",
        "form": f"{new}('form'); e.action = '{web}/x'; document.body.append(e); e.submit();",
        "ping": f"{new}('a'); e.ping = '{web}/x'; e.href = '#'; document.body.append(e); e.click();",
        "prefetch": f"{new}('link'); e.rel = 'prefetch'; e.href = '{web}/x'; document.head.append(e);",
        "audio": f"new Audio('{web}/x.mp3').play();",
    }
    # Some are refused inside the page already, which then raises an error.
    return {name: (page(MOVING + script), "external_reference|error_page") for name, script in scripts.items()}


def _endless() -> dict[str, tuple[str, str]]:
    scripts = {
        "while_true": ("while (true) {}", "timeout"),
        "waiting_for_the_clock": ("const t = Date.now(); while (Date.now() < t + 1e9) {}", "timeout"),
        "in_a_frame": ("requestAnimationFrame(() => { while (true) {} });", "timeout"),
        "promises": ("(function f() { Promise.resolve().then(f); })();", "timeout"),
        "timers": ("(function f() { setTimeout(f, 0); setTimeout(f, 0); })();", "timeout"),
        "expression": ("/^(a+)+$/.test('a'.repeat(60) + 'b');", "timeout"),
        "memory": ("const held = []; while (true) held.push(new Uint8Array(1 << 26).fill(1));", FULL),
        "strings": ("let s = 'x'; while (true) s += s;", f"{FULL}|error_page"),
        "elements": ("while (true) document.body.append(document.createElement('p'));", "timeout"),
        "canvases": (
            "for (let n = 0; n < 400; n++) { const c = document.createElement('canvas'); c.width = c.height = 4000; "
            "c.getContext('2d').fillRect(0, 0, 4000, 4000); document.body.append(c); }",
            FULL,
        ),
        "a_large_canvas": ("document.getElementById('c').width = 1e9;", "one_colour|blank|still|error_page"),
        "recursion": ("(function f() { f(); })();", "error_page"),
        "alerts": ("while (true) alert('x');", "timeout"),
        "workers": (
            "const b = URL.createObjectURL(new Blob(['while (true) {}'])); "
            "for (let n = 0; n < 500; n++) new Worker(b);",
            "error_page|timeout",
        ),
        "reloads": ("location.reload();", "error_page"),
        "a_debugger": ("while (true) { debugger; }", "timeout"),
    }
    return {name: (page(script + MOVING), reason) for name, (script, reason) in scripts.items()}


def _nothing() -> dict[str, tuple[str, str]]:
    return {
        "an_error": (page("throw new Error('x');"), "error_page"),
        "an_error_later": (page(MOVING + "setTimeout(() => nothing.here, 20);"), "error_page"),
        "a_rejection": (page(MOVING + "Promise.reject(new Error('x'));"), "error_page"),
        "syntax": (page("let let = 1;"), "error_page"),
        "empty": ("", "one_colour"),
        "no_page": ("\x00\x01\x02\x03", "one_colour|error_page|blank|still"),
        "nothing_drawn": (page("1 + 1;"), "one_colour"),
        # The name of what a page holds in memory comes from the browser's own chance.
        "chance": (
            page(MOVING.replace("'#c00'", "`#${URL.createObjectURL(new Blob()).slice(-6)}`")),
            "not_deterministic",
        ),
        "still": (page("document.getElementById('c').getContext('2d').fillRect(10, 10, 50, 50);"), "still"),
    }
