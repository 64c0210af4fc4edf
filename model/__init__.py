"""The K3 backbone, its sizes and its optimizer."""

if __name__ != "trivium.model":
    raise ImportError("import this folder as trivium.model; under the bare name model its modules would exist twice")
