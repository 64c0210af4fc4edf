"""The guard under strace: of all that a hostile program asks the kernel for, no connection and no canary is given."""

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ATTACKS = ROOT / "tests" / "data" / "guard" / "attacks.py"
CALLS = "connect,openat,open,openat2,sendto,sendmsg,execve,ptrace,mount"
SCRIPT = """
import os, sys
from pathlib import Path
from trivium.data.guard import Profile, Sandbox, run
canary, port = sys.argv[1:3]
argv = [os.path.realpath(sys.executable), "-I", "-S", "-B", "attacks.py", "read", canary, "connect", port, "doors", ""]
argv += ["write", canary, "links_out", canary]
isolation = None if sys.argv[3] == "sandbox" else Sandbox(reason="chosen by the test")
outcome = run(argv, {"attacks.py": Path(sys.argv[4]).read_bytes()}, ["*.txt"], profile=Profile(), isolation=isolation)
print(outcome.reason or "ended", outcome.files)
"""


@pytest.mark.slow
@pytest.mark.parametrize("isolation", ["sandbox", "limits"])
def test_the_kernel_gives_no_connection_and_no_canary(isolation: str, tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("needs strace: apt-get install strace")
    canary, trace = tmp_path / "canary", tmp_path / "trace"
    canary.write_text("canary 7351")
    os.chmod(canary, 0o666)
    with socket.create_server(("127.0.0.1", 0)) as web:
        command = [strace, "-ff", "-qq", "-e", f"trace={CALLS}", "-o", str(trace), sys.executable, "-c", SCRIPT]
        arguments = [str(canary), str(web.getsockname()[1]), isolation, str(ATTACKS)]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120, check=False)
        web.settimeout(0.1)
        with pytest.raises(TimeoutError):
            web.accept()
    if "ptrace" in done.stderr and done.returncode:
        pytest.skip(f"strace may not trace here: {done.stderr.strip()[-200:]}")
    assert done.stdout == "ended {'good.txt': b'good'}\n", done.stderr
    calls = [
        call for one in tmp_path.glob("trace.*") for call in one.read_text(errors="replace").splitlines()
    ]  # one file a process: no call is cut in two by another's
    given = [call for call in calls if re.search(r"= \d+$", call)]
    assert len([call for call in given if call.startswith("openat")]) > 20
    assert any(str(canary) in call for call in calls), "the attack on the canary is not in the trace"
    assert not [call for call in given if str(canary) in call and not call.startswith("execve")]
    assert not [call for call in given if call.startswith("connect")]
    assert not [call for call in given if call.startswith("ptrace")]
    assert canary.read_text() == "canary 7351"
