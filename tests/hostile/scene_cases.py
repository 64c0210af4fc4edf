"""Hostile POV-Ray and OpenSCAD scenes, each with the reason for which it must be refused."""

CAMERA = "camera { location <0, 0, -5> look_at 0 }\nlight_source { <5, 5, -5> rgb 1 }\n"
BALL = "sphere { 0, 1 pigment { rgb <1, 0, 0> } }\n"


def povray(web: str, canary: str) -> dict[str, tuple[str, str]]:
    """Name → (scene, reason)."""
    doubling = "".join("#declare S = concat(S, S);\n" for _ in range(40))
    return {
        "include_canary": (f'#include "{canary}"\n{CAMERA}{BALL}', "external_reference"),
        "include_passwd": (f'#include "/etc/passwd"\n{CAMERA}{BALL}', "external_reference"),
        "include_above": (f'#include "../../../../etc/passwd"\n{CAMERA}{BALL}', "external_reference"),
        "include_web": (f'#include "{web}/x.inc"\n{CAMERA}{BALL}', "external_reference"),
        "include_backslash": (f'#include "..\\\\..\\\\etc\\\\passwd"\n{CAMERA}{BALL}', "external_reference"),
        "include_made_of_parts": (
            f'#declare P = concat("/etc/", "passwd");\n#include P\n{CAMERA}{BALL}',
            "external_reference",
        ),
        "include_itself": (f'#include "scene.pov"\n{CAMERA}{BALL}', "parse_error"),
        "open_to_write": (f'#fopen F "out.txt" write\n#write (F, "x")\n{CAMERA}{BALL}', "file_output"),
        "open_to_append": (f'#fopen F "{canary}" append\n#write (F, "x")\n{CAMERA}{BALL}', "file_output"),
        "open_to_read": (f'#fopen F "{canary}" read\n#read (F, S)\n#debug S\n{CAMERA}{BALL}', "external_reference"),
        "picture_of_canary": (
            f'{CAMERA}plane {{ z, 0 pigment {{ image_map {{ png "{canary}" }} }} }}',
            "external_reference",
        ),
        "picture_of_a_device": (f'{CAMERA}height_field {{ png "/dev/zero" }}', "external_reference"),
        "picture_absent": (f'{CAMERA}plane {{ z, 0 pigment {{ image_map {{ png "nothing.png" }} }} }}', "absent_file"),
        "font_of_canary": (f'{CAMERA}text {{ ttf "{canary}" "x" 1, 0 }}', "external_reference"),
        "density_of_canary": (
            f'{CAMERA}box {{ -1, 1 pigment {{ density_file df3 "{canary}" }} }}',
            "external_reference",
        ),
        "endless_loop": ("#while (1)\n#end\n" + CAMERA + BALL, "timeout"),
        "endless_macro": ("#macro M() M() #end\nM()\n" + CAMERA + BALL, "parse_error"),
        "endless_words": (
            '#while (1)\n#debug "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\\n"\n#end\n',
            "output_too_large|timeout",  # whichever limit comes first
        ),
        "doubling_string": ('#declare S = "xxxxxxxxxxxxxxxx";\n' + doubling + CAMERA + BALL, "memory"),
        "huge_array": ("#declare A = array[2000000000];\n" + CAMERA + BALL, "memory"),
        "huge_list": (
            "union {\n#declare N = 0;\n#while (1)\nsphere { N, 1 }\n#declare N = N + 1;\n#end\n}\n",
            "timeout",
        ),
        "slow_mirrors": (
            "global_settings { max_trace_level 250 }\n"
            + CAMERA
            + "union {\n#for (N, 1, 40)\nsphere { <sin(N), cos(N), N / 9>, 0.5 }\n#end\n"
            "pigment { rgbt 0.99 } finish { reflection 0.99 } interior { ior 1.5 } }\n",
            "timeout",
        ),
        "slow_media": (
            CAMERA + "sphere { 0, 4 hollow pigment { rgbt 1 } interior { media { scattering { 1, 1 } "
            "intervals 500 samples 500, 500 method 1 density { wrinkles turbulence 1 octaves 10 } } } }\n",
            "failed",
        ),
        "syntax": (CAMERA + "sphere { 0 1", "parse_error"),
        "unknown_name": (CAMERA + "object { Nowhere }", "parse_error"),
        "nothing": ("", "one_colour"),
        "no_light": (
            "camera { location -5 * z look_at 0 }\nsphere { 0, 1 pigment { rgb 1 } finish { ambient 0 } }",
            "one_colour",
        ),
        "nothing_seen": (CAMERA + "sphere { <0, 0, -500>, 1 pigment { rgb 1 } }", "one_colour"),
        "chance": (
            "#declare R = seed(now * 86400 + 0.5);\n"
            + CAMERA
            + "#for (N, 1, 60)\nsphere { <4 * rand(R) - 2, 4 * rand(R) - 2, 0>, 0.2 "
            "pigment { rgb <1, rand(R), 0> } }\n#end\n",
            "not_deterministic",
        ),
        "binary": ("\x00\x01\x02\x7fELF" * 50, "parse_error"),
        "deep": (CAMERA + "union { " * 3000 + "sphere { 0, 1 } " + "}" * 3000, "too_deep"),
    }


def openscad(web: str, canary: str) -> dict[str, tuple[str, str]]:
    """Name → (scene, reason)."""
    doubling = "".join(f"s{n} = str(s{n - 1}, s{n - 1});\n" for n in range(1, 41))
    return {
        "import_canary": (f'import("{canary}");', "external_reference"),
        "import_passwd": ('import("/etc/passwd");', "external_reference"),
        "import_above": ('import("../../../etc/passwd");', "external_reference"),
        "include_passwd": ("include </etc/passwd>\ncube(1);", "external_reference"),
        "use_above": ("use <../../secret.scad>\ncube(1);", "external_reference"),
        "surface_of_canary": (f'surface(file = "{canary}");', "external_reference"),
        "import_web": (f'import("{web}/x.stl");', "external_reference"),
        "import_absent": ('import("nothing.stl");', "absent_file"),
        "import_made_of_parts": ('import(str("/etc", "/passwd"));', "external_reference"),
        "font": (f'use <{canary}>\nlinear_extrude(1) text("x");', "external_reference"),
        "include_itself": ("include <scene.scad>\ncube(1);", "absent_file"),
        "endless_recursion": ("module m() { m(); }\nm();", "failed"),
        "endless_function": ("function f(n) = f(n + 1);\necho(f(0));\ncube(1);", "failed"),
        "endless_loop": ("a = [for (i = 0; true; i = i + 1) i];\ncube(len(a));", "failed"),
        "endless_words": (
            's = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";\n'
            "for (i = [0:999]) for (j = [0:99]) echo(s, s, s, s);\ncube(1);",
            "output_too_large",
        ),
        "doubling_string": ('s0 = "xxxxxxxxxxxxxxxx";\n' + doubling + "echo(len(s40));\ncube(1);", "memory"),
        "huge_fn": ("sphere(1, $fn = 20000);", "memory"),
        "slow_minkowski": (
            "minkowski() { difference() { sphere(10, $fn = 60); sphere(9, $fn = 60); }\n"
            "difference() { sphere(10, $fn = 60); sphere(8, $fn = 60); } }",
            "timeout",
        ),
        "slow_differences": (
            "difference() { sphere(50, $fn = 200); "
            "for (i = [0:200]) rotate(i * 7) translate([40, 0, 0]) sphere(9, $fn = 90); }",
            "timeout",
        ),
        "nothing": ("", "empty"),
        "all_cut_away": ("difference() { cube(1); translate([-1, -1, -1]) cube(5); }", "empty"),
        "not_a_number": ("cube(0 / 0);", "empty"),
        "syntax": ("cube(1", "parse_error"),
        "no_such_module": ("kube(1);", "empty"),
        "chance": ("for (v = rands(0, 9, 30)) translate([v, 0, v]) cube(v / 3 + 0.1);", "not_deterministic"),
        "a_bad_polyhedron": ("polyhedron([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 9]]);", "empty"),
        "binary": ("\x7fELF\x01\x02" * 80, "parse_error"),
    }
