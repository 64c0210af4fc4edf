"""docs/corpora/peers.md from what bench/text_peers.py measured."""

from typing import Any

HEAD = """# Text stages beside others

Written by `make bench-peers` from peers.json; don't edit. One core each: seconds are processor time without imports and
loading (so a busy machine changes them less), memory is the peak of the whole process. Pages: real ones of the fetched
inputs, in one WARC. Documents of the signatures and of near-dedup: real paragraphs put together anew, with planted
copies (bench/_documents.py). datatrove as in its FineWeb example (Gopher repetition and quality, FineWeb quality;
5-grams, 14 x 8), with the compressed language model, since its own is a download; text-dedup's MinHash by its command,
14 x 8. Ours: the recipes' stages; near dedup is a whole build: reading, language, exact and near duplicates with
verified pairs, rejects, shards and report.
"""


def page(facts: dict[str, Any]) -> str:
    named = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    lines = [HEAD, f"Commit {facts['commit']}; {facts['machine']}; {named}.", "", *facts.get("notes", ()), ""]
    lines.append("| stage | tool | documents | CPU s | documents/s | MB/s | peak MB |")
    lines.append("|---|---|---:|---:|---:|---:|---:|")
    for row in facts["rows"]:
        head = f"| {row['stage']} | {row['tool']} |"
        if "error" in row:
            lines.append(f"{head} could not run: {row['error'].replace('|', '/')} | | | | |")
            continue
        rates = f"{row['documents_a_second']:,.1f} | {row['megabytes_a_second']:,.2f} | {row['peak_mb']:,} |"
        lines.append(f"{head} {row['documents']:,} | {row['seconds']:,.2f} | {rates}")
    lines += [
        "",
        "MB are of text: what came out for `extract`, what went in elsewhere. `alone` is the library fed by a plain",
        "Python loop, without our shingles.",
        "",
        "## Agreement with brute force",
        "",
        "All pairs by the true Jaccard similarity of their word 5-grams, counted in plain Python. Recall: pairs of 0.8",
        "and more of which at least one document is gone. Precision: documents that are gone and have another of 0.7",
        "or more.",
        "",
        "| tool | documents | pairs ≥ 0.8 | recall | documents gone | precision |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in facts["agreement"]:
        figures = f"{row['documents']:,} | {row['pairs']:,} | {row['recall']} | {row['gone']:,} | {row['precision']} |"
        lines.append(f"| {row['tool']} | {figures}")
    return "\n".join(lines) + "\n"
