"""Where the parts meet: Beam corpora, the training loop, reports."""

if __name__ != "trivium.pipelines":
    raise ImportError(
        "import this folder as trivium.pipelines; under the bare name pipelines its modules would exist twice"
    )
