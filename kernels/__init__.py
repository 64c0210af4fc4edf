"""One folder an operator: reference.py is the definition; imports nothing of ours."""

if __name__ != "trivium.kernels":
    raise ImportError(
        "import this folder as trivium.kernels; under the bare name kernels its modules would exist twice"
    )
