"""One process of a training run, one rank as torchrun would start it; run by path with ARGUMENTS = `main`'s.

`mischief` is what befalls it with a step: {"kill": 21} is SIGKILL before it, {"fail": 21} an error in its forward pass
(of a rank that has a row), {"stop": 21} a SIGTERM when its line is written.
"""

import os
import signal
import sys

from trivium import cli
from trivium.pipelines.train import loop


def befall(mischief):
    real, write = loop.train_step, loop._Writer.write

    def training(model, optimizer, prepared, batch, *, step, lr):
        def happens(*_):
            if step == mischief.get("fail"):
                raise ZeroDivisionError("planted")

        if step == mischief.get("kill"):
            os.kill(os.getpid(), signal.SIGKILL)
        hook = model.backbone.layers[1].register_forward_hook(happens)
        try:
            return real(model, optimizer, prepared, batch, step=step, lr=lr)
        finally:
            hook.remove()

    def writing(writer, line):
        write(writer, line)
        if line["kind"] == "step" and line["step"] == mischief.get("stop"):
            os.kill(os.getpid(), signal.SIGTERM)

    loop.train_step, loop._Writer.write = training, writing


def main(log, mischief, command, environment):
    os.environ.update(environment)
    said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    sys.argv = ["trivium", *command]
    befall(mischief)
    cli.main()


if "ARGUMENTS" in globals():
    main(*globals()["ARGUMENTS"])
