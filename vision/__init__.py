"""Pixels to patches to embeddings: preprocessing, MoonViT-V2, the projector."""

if __name__ != "trivium.vision":
    raise ImportError("import this folder as trivium.vision; under the bare name vision its modules would exist twice")
