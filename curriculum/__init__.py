"""Pure functions from (schedule, corpora, seed, step) to rows and learning rate; imports no torch."""

if __name__ != "trivium.curriculum":
    raise ImportError(
        "import this folder as trivium.curriculum; under the bare name curriculum its modules would exist twice"
    )
