"""Hostile CAD scripts and STEP files, each with the reasons for which it may be refused.

`{canary}` is the path of a file that must not be read, `{web}` an address that must not be asked.
"""

HEAD = "from build123d import *\n"
END = "\nresult = Box(1, 1, 1)\n"


def scripts(web: str, canary: str) -> dict[str, tuple[str, str]]:
    """Name → (script, reason)."""
    host, _, port = web.rpartition("//")[2].partition(":")
    return {
        **_doors(canary, host, port),
        **_hidden_doors(canary),
        **_endless(),
        **_shapes(),
    }


def _doors(canary: str, host: str, port: str) -> dict[str, tuple[str, str]]:
    return {
        "import_os": (f"import os\nos.system('cat {canary}')" + END, "forbidden_import"),
        "import_sys": ("import sys\nsys.exit(0)", "forbidden_import"),
        "from_os": ("from os import environ" + END, "forbidden_import"),
        "import_socket": (f"import socket\nsocket.create_connection(('{host}', {port}))" + END, "forbidden_import"),
        "import_urllib": (
            f"import urllib.request\nurllib.request.urlopen('http://{host}:{port}')" + END,
            "forbidden_import",
        ),
        "import_subprocess": ("import subprocess\nsubprocess.run(['id'])" + END, "forbidden_import"),
        "import_ctypes": ("import ctypes\nctypes.CDLL(None).abort()" + END, "forbidden_import"),
        "import_pickle": ("import pickle\npickle.loads(b'')" + END, "forbidden_import"),
        "import_ocp": ("from OCP.OSD import OSD_File" + END, "forbidden_import"),
        "import_cadquery": ("import cadquery" + END, "forbidden_import"),
        "import_in_a_function": ("def f():\n    import os\n    return os\nf()" + END, "forbidden_import"),
        "import_relative": ("from . import secrets" + END, "forbidden_import"),
        "inner_package": ("from build123d.exporters import ExportSVG" + END, "forbidden_import"),
        "open_canary": (f"data = open('{canary}').read()" + END, "forbidden_name"),
        "open_passwd": ("data = open('/etc/passwd').read()" + END, "forbidden_name"),
        "environment": ("print(open('/proc/self/environ').read())" + END, "forbidden_name"),
        "eval": ("eval('1 + 1')" + END, "forbidden_name"),
        "exec": ("exec('import os')" + END, "forbidden_name"),
        "compile": ("compile('1', 'x', 'eval')" + END, "forbidden_name"),
        "input": ("input()" + END, "forbidden_name"),
        "breakpoint": ("breakpoint()" + END, "forbidden_name"),
        "import_step_of_canary": (f"{HEAD}result = import_step('{canary}')", "external_reference"),
        "import_svg_of_canary": (f"{HEAD}result = extrude(import_svg('{canary}'), 1)", "external_reference"),
        "export_step": (f"{HEAD}result = Box(1, 1, 1)\nexport_step(result, '/tmp/x.step')", "external_reference"),
        "export_stl": (f"{HEAD}result = Box(1, 1, 1)\nexport_stl(result, '{canary}')", "external_reference"),
        "mesher": (f"{HEAD}Mesher().read('{canary}')" + END, "external_reference"),
        "fonts": (f"{HEAD}result = extrude(Text('a', 10, font_path='{canary}'), 1)", "external_reference"),
    }


def _hidden_doors(canary: str) -> dict[str, tuple[str, str]]:
    return {
        "dunder_import": ("__import__('os').system('id')" + END, "forbidden_name"),
        "builtins_of_a_function": ("def f(): pass\nf.__globals__['__builtins__']" + END, "forbidden_name"),
        "subclasses": ("().__class__.__base__.__subclasses__()" + END, "forbidden_name"),
        "getattr": ("getattr(int, '__subclasses__')()" + END, "forbidden_name"),
        "module_of_a_module": ("import math\nmath.__loader__" + END, "forbidden_name"),
        "os_of_a_module": ("import collections\ncollections._sys.modules['os']" + END, "forbidden_name"),
        "os_of_build123d": ("import build123d\nbuild123d.topology.os" + END, "external_reference"),
        "os_as_a_name": ("from build123d import os" + END, "external_reference"),
        "star_then_sys": (HEAD + "print(sys.modules)" + END, "script_error"),
        "frame": ("def g():\n    yield\ng().gi_frame.f_builtins['open']" + END, "forbidden_name"),
        "traceback": (
            "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    e.__traceback__.tb_frame" + END,
            "forbidden_name",
        ),
        "format_string": (
            f"'{{0.__class__.__init__.__globals__}}'.format(print)\nopen('{canary}')" + END,
            "forbidden_name",
        ),
        "lambda_code": ("(lambda: 0).__code__" + END, "forbidden_name"),
        "decorator": ("@eval\ndef f(): pass" + END, "forbidden_name"),
        "async": ("async def f(): pass" + END, "forbidden_name"),
    }


def _endless() -> dict[str, tuple[str, str]]:
    return {
        "while_true": ("while True:\n    pass", "timeout"),
        "recursion": ("def f(n): return f(n + 1)\nf(0)" + END, "script_error"),
        "memory": ("held = []\nwhile True:\n    held.append('x' * 10_000_000)", "memory"),
        "one_large_string": ("held = 'x' * (1 << 40)" + END, "memory"),
        "power": ("n = 10 ** 10 ** 10" + END, "timeout"),
        "words": ("while True:\n    print('x' * 1_000_000)", "script_error"),
        "many_boxes": (
            HEAD + "result = Box(1, 1, 1)\nfor n in range(10 ** 6):\n    result += Pos(n * 0.5, 0, 0) * Sphere(1)",
            "timeout",
        ),
        "deep_brackets": ("x = " + "(" * 500 + ")" * 500 + END, "syntax"),
        "long_script": ("x = 1\n" * 30_000 + END, "too_complex"),
        "null_byte": ("x = 1\0" + END, "syntax"),
        "no_python": ("<svg/>", "syntax"),
        "exit": ("raise SystemExit(0)", "script_error"),
        "interrupt": ("raise KeyboardInterrupt", "script_error"),
        "no_such_name": (HEAD + "result = Bocks(1, 1, 1)", "script_error"),
        "surrogates": ("x = '\\ud800'\nraise ValueError(x)", "script_error"),
    }


def _shapes() -> dict[str, tuple[str, str]]:
    return {
        "nothing": ("x = 1", "no_solid"),
        "a_sketch": (HEAD + "result = Rectangle(3, 4)", "no_solid"),
        "a_wire": (HEAD + "result = Line((0, 0), (1, 1))", "no_solid"),
        "zero_size": (HEAD + "result = Box(0, 1, 1)", "script_error"),
        "negative_size": (HEAD + "result = Box(-1, 1, 1)", "script_error"),
        "not_a_number": (HEAD + "result = Box(float('nan'), 1, 1)", "bad_size"),
        "infinite": (HEAD + "result = Box(float('inf'), 1, 1)", "bad_size"),
        "all_cut_away": (HEAD + "result = Box(1, 1, 1) - Box(2, 2, 2)", "no_solid"),
        "impossible_fillet": (HEAD + "b = Box(1, 1, 1)\nresult = fillet(b.edges(), 5)", "script_error"),
        "enormous": (HEAD + "result = Box(1e30, 1e30, 1e30)", "bad_size"),
    }


STEP_HEAD = (
    "ISO-10303-21;\nHEADER;\nFILE_DESCRIPTION((''),'2;1');\nFILE_NAME('','',(''),(''),'','','');\n"
    "FILE_SCHEMA(('AUTOMOTIVE_DESIGN'));\nENDSEC;\nDATA;\n"
)
STEP_END = "ENDSEC;\nEND-ISO-10303-21;\n"


def step_files(web: str, canary: str) -> dict[str, tuple[bytes, str]]:
    """Name → (bytes, reason)."""

    def step(*lines: str) -> bytes:
        return (STEP_HEAD + "".join(f"{line}\n" for line in lines) + STEP_END).encode()

    points = [f"#{n}=CARTESIAN_POINT('',(0.,0.,{n}.));" for n in range(1, 20_001)]
    chain = [f"#{n}=PRODUCT_DEFINITION('','',#{n + 1},#{n + 1});" for n in range(1, 5001)]
    return {
        "empty": (b"", "broken"),
        "no_step": (b"\x7fELF" + b"\0" * 2000, "broken"),
        "text": (b"solid nothing\nendsolid nothing\n", "broken"),
        "head_only": (STEP_HEAD.encode(), "broken"),
        "no_entities": (step(), "broken"),
        "points_only": (step(*points), "broken"),
        "itself": (step("#1=SHAPE_REPRESENTATION('',(#1),#1);"), "broken"),
        "a_ring": (step("#1=MANIFOLD_SOLID_BREP('',#2);", "#2=CLOSED_SHELL('',(#1));"), "broken"),
        "a_long_chain": (step(*chain), "broken"),
        "absent_entities": (step("#1=MANIFOLD_SOLID_BREP('',#99);"), "broken"),
        "nested_lists": (step("#1=CARTESIAN_POINT(''," + "(" * 20_000 + ")" * 20_000 + ");"), "broken"),
        "a_long_string": (step("#1=PRODUCT('" + "x" * 4_000_000 + "','','',());"), "broken"),
        "large_numbers": (step("#1=CARTESIAN_POINT('',(1.E999,-1.E999,1.E-999));"), "broken"),
        "a_document_elsewhere": (
            step(
                f"#1=DOCUMENT_FILE('{canary}','','',#2,'',$);",
                f"#2=APPLIED_EXTERNAL_IDENTIFICATION_ASSIGNMENT('{web}',$,$,());",
            ),
            "broken",
        ),
        "open_end": (step("#1=CARTESIAN_POINT('',(0.,0.")[:-40], "broken"),
    }
