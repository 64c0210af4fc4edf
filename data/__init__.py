"""Records, shards, tokenizers and the arithmetic of sizes; imports no torch."""

if __name__ != "trivium.data":
    raise ImportError("import this folder as trivium.data; under the bare name data its modules would exist twice")
