"""Exact and near-duplicate removal: keys, signatures, clusters, survivors. No Beam here; pipelines do the shuffles."""
