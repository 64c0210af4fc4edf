"""What is wrong with long natural documents, measured: cut ends, blobs, logs, near-copies inside (K3 report, 3.4)."""
